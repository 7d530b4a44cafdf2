package httpapi

import (
	"context"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// ListBatchLines implements apigen.StrictServerInterface.
func (s *server) ListBatchLines(ctx context.Context, r apigen.ListBatchLinesRequestObject) (apigen.ListBatchLinesResponseObject, error) {
	t, err := s.Reader.Batch(ctx, caller(ctx).Tenant, r.BatchKey)
	if err != nil {
		return nil, err
	}
	state, _ := payroll.ParseState(string(r.Params.State)) // "" = all; others were refused
	lines, next, err := s.Reader.Lines(ctx, t.Batch.ID, state, page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	return apigen.ListBatchLines200JSONResponse{PageOfLinesJSONResponse: pageOfLines(lines, next)}, nil
}

// FindLines implements apigen.StrictServerInterface.
func (s *server) FindLines(ctx context.Context, r apigen.FindLinesRequestObject) (apigen.FindLinesResponseObject, error) {
	p := r.Params
	lines, next, err := s.Reader.EmployeeLines(ctx, caller(ctx).Tenant, p.PayPeriodID, p.EmployeeID, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	return apigen.FindLines200JSONResponse{PageOfLinesJSONResponse: pageOfLines(lines, next)}, nil
}

// GetLine implements apigen.StrictServerInterface.
func (s *server) GetLine(ctx context.Context, r apigen.GetLineRequestObject) (apigen.GetLineResponseObject, error) {
	l, err := s.Reader.Line(ctx, caller(ctx).Tenant, r.LineKey)
	if err != nil {
		return nil, err
	}
	v := viewLine(l)
	v.Attempts = viewHistory(l.Attempts)
	v.Retries = retriesOf(l.Attempts)
	return apigen.GetLine200JSONResponse(v), nil
}

func pageOfLines(lines []store.LineView, next string) apigen.PageOfLinesJSONResponse {
	items := make([]apigen.Line, 0, len(lines))
	for _, l := range lines {
		items = append(items, viewLine(l))
	}
	return apigen.PageOfLinesJSONResponse{Items: items, NextCursor: next}
}

func viewLine(l store.LineView) apigen.Line {
	v := apigen.Line{
		LineKey: payroll.LineKey(l.Tenant, l.PayPeriod, l.Line.Key), BatchKey: l.BatchKey, Ordinal: int(l.Line.Ordinal),
		EmployeeID: l.Line.EmployeeID, LineVersion: l.Line.Version, LineRef: l.Line.Ref,
		GrossPay: l.Line.Amount.Format(l.Line.Currency), Currency: l.Line.Currency, State: apigen.LineState(l.State.String()), Reference: l.Reference, BlockedBy: l.BlockedBy,
	}
	if l.SettledAs != 0 {
		v.SettledAs = apigen.SettledAs(l.SettledAs.String())
	}
	if l.Reason != 0 {
		v.ReasonCode = apigen.ReasonCode(l.Reason.String())
	}
	if t := l.Trouble; t != nil {
		v.Ambiguous, v.Retries = t.Ambiguous, max(t.Sends-1, 0)
		if waits := t.AttemptNo == 0 && t.BlockedBy.IsZero() && !l.State.AtRest(); waits {
			v.NextAttemptAt = utc(t.DueAt)
		}
	}
	return v
}

// retriesOf counts the submits beyond the first that left for the vendor.
func retriesOf(attempts []store.HistoryEntry) int {
	sent := 0
	for _, a := range attempts {
		if a.Kind == payroll.Submit && a.Verdict != payroll.VerdictNotSent {
			sent++
		}
	}
	return max(sent-1, 0)
}

// viewHistory is never nil: a list without entries is an answer too.
func viewHistory(entries []store.HistoryEntry) *[]apigen.Attempt {
	attempts := make([]apigen.Attempt, 0, len(entries))
	for _, e := range entries {
		attempts = append(attempts, apigen.Attempt{
			AttemptID: e.AttemptID, Kind: apigen.AttemptKind(e.Kind.String()), SentAt: e.SentAt.UTC(),
			HTTPStatus: e.HTTPStatus, Verdict: viewVerdict(e.Verdict), Detail: e.Detail,
		})
	}
	return &attempts
}

func viewVerdict(v payroll.Verdict) apigen.Verdict {
	if v == 0 {
		return apigen.VerdictOpen
	}
	return apigen.Verdict(v.String())
}
