package httpapi

import (
	"context"
	"encoding/base64"
	"unicode/utf8"

	"github.com/google/uuid"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// ListDeadLetters implements apigen.StrictServerInterface.
func (s *server) ListDeadLetters(ctx context.Context, r apigen.ListDeadLettersRequestObject) (apigen.ListDeadLettersResponseObject, error) {
	p := r.Params
	filter := letterFilter(caller(ctx).Tenant, apigen.DeadLetterFilter{
		BatchKey: p.BatchKey, FailureClass: p.FailureClass, ReasonCode: p.ReasonCode, SourceStage: p.SourceStage, Vendor: p.Vendor,
	})
	filter.Status, _ = store.ParseLetterStatus(string(p.Status))
	letters, next, err := s.Reader.Letters(ctx, filter, page(p.Limit, p.Cursor))
	if err != nil {
		return nil, err
	}
	items := make([]apigen.DeadLetter, 0, len(letters))
	for _, l := range letters {
		items = append(items, viewLetter(l))
	}
	return apigen.ListDeadLetters200JSONResponse{Items: items, NextCursor: next}, nil
}

// letterFilter reads a filter whose words were checked against the document.
func letterFilter(tenant string, f apigen.DeadLetterFilter) store.LetterFilter {
	filter := store.LetterFilter{Tenant: tenant, Vendor: f.Vendor, BatchKey: f.BatchKey}
	filter.Reason, _ = payroll.ParseReason(string(f.ReasonCode))
	filter.Class, _ = payroll.ParseFailureClass(string(f.FailureClass))
	filter.Stage, _ = payroll.ParseStage(string(f.SourceStage))
	return filter
}

// GetDeadLetter implements apigen.StrictServerInterface.
func (s *server) GetDeadLetter(ctx context.Context, r apigen.GetDeadLetterRequestObject) (apigen.GetDeadLetterResponseObject, error) {
	l, err := s.wholeLetter(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return apigen.GetDeadLetter200JSONResponse{OneDeadLetterJSONResponse: l}, nil
}

func (s *server) wholeLetter(ctx context.Context, id uuid.UUID) (apigen.OneDeadLetterJSONResponse, error) {
	l, err := s.Reader.Letter(ctx, caller(ctx).Tenant, id)
	if err != nil {
		return apigen.OneDeadLetterJSONResponse{}, err
	}
	v := viewLetter(l)
	v.History = viewHistory(l.History)
	v.Payload, v.PayloadEncoding = viewPayload(l.Payload)
	v.PayloadTruncated = l.PayloadCut
	actions := allowedActions(l, s.terms(l.Vendor), s.Now())
	v.AllowedActions = &actions
	return apigen.OneDeadLetterJSONResponse(v), nil
}

// viewPayload is a row as text where it is text, else in Base64, which it says.
func viewPayload(row []byte) (string, apigen.DeadLetterPayloadEncoding) {
	if utf8.Valid(row) {
		return string(row), ""
	}
	return base64.StdEncoding.EncodeToString(row), apigen.DeadLetterPayloadEncodingBase64
}

// viewLetter renders what lists show of a dead letter.
func viewLetter(l store.Letter) apigen.DeadLetter {
	v := apigen.DeadLetter{
		ID: l.ID, LineKey: l.LineKey, BatchKey: l.BatchKey, Ordinal: int(l.Ordinal), Vendor: l.Vendor, PayPeriodID: l.PayPeriod,
		EmployeeID: validEmployee(l.EmployeeID), Currency: l.Currency, CutoffAt: utc(l.CutoffAt), Status: apigen.DeadLetterStatus(l.Status.String()),
		ReasonCode: apigen.ReasonCode(l.Reason.String()), FailureClass: apigen.FailureClass(l.Reason.Class().String()),
		SourceStage: apigen.SourceStage(l.Stage.String()), LastStatus: l.LastStatus, LastError: l.LastError, Attempts: l.Attempts, Note: l.Note,
		FirstSeenAt: l.FirstSeenAt.UTC(), DeadLetteredAt: l.DeadLetteredAt.UTC(), RootCause: l.RootCause,
	}
	if l.Currency != "" {
		v.GrossPay = l.Amount.Format(l.Currency)
	}
	if l.Status == store.LetterClosed {
		v.ClosedAt, v.ClosedAs, v.ClosedBy = utc(l.ClosedAt), apigen.ClosedAs(l.ClosedAs), l.Actor
	}
	return v
}

// ReplayDeadLetter implements apigen.StrictServerInterface.
func (s *server) ReplayDeadLetter(ctx context.Context, r apigen.ReplayDeadLetterRequestObject) (apigen.ReplayDeadLetterResponseObject, error) {
	key, o := caller(ctx), r.Body
	if err := s.mustLieAhead(o.CutoffAt); err != nil {
		return nil, err
	}
	l, err := s.Reader.Letter(ctx, key.Tenant, r.ID)
	if err != nil {
		return nil, err
	}
	done, err := s.Letters.Replay(ctx, key.Tenant, r.ID, ReplayOrder{
		Actor: key.ID, AttestNotPaid: o.AttestNotPaid.Evidence, CutoffAt: o.CutoffAt, RootCause: o.RootCause,
	})
	if err != nil {
		return nil, err
	}
	outcome := apigen.ReplayOutcome{Outcome: replayedAs[done], BatchKey: l.BatchKey, LineKey: l.LineKey}
	if done == ReplaySettled || done == ReplayResolved {
		return apigen.ReplayDeadLetter200JSONResponse(outcome), nil
	}
	return apigen.ReplayDeadLetter202JSONResponse{
		Body: outcome, Headers: apigen.ReplayDeadLetter202ResponseHeaders{Location: batchPath(l.BatchKey)},
	}, nil
}

var replayedAs = map[Replayed]apigen.ReplayedAs{
	ReplayTaken: apigen.ReplayedAsReplaying, ReplayLookUp: apigen.ReplayedAsLookingUp,
	ReplayResolved: apigen.ReplayedAsResolved, ReplaySettled: apigen.ReplayedAsAlreadySettled,
}

// CloseDeadLetter implements apigen.StrictServerInterface.
func (s *server) CloseDeadLetter(ctx context.Context, r apigen.CloseDeadLetterRequestObject) (apigen.CloseDeadLetterResponseObject, error) {
	key, o := caller(ctx), r.Body
	if (o.Reason == "") == (o.AttestPaid.Evidence == "") {
		return nil, RefuseFaults(apigen.ProblemCodeInvalidRequest, apigen.Fault{Detail: "must have exactly one of reason and attest_paid"})
	}
	err := s.Letters.Close(ctx, key.Tenant, r.ID, CloseOrder{
		Actor: key.ID, As: payroll.CloseReason(o.Reason), AttestPaid: o.AttestPaid.Evidence, Note: o.Note, RootCause: o.RootCause,
	})
	if err != nil {
		return nil, err
	}
	l, err := s.wholeLetter(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return apigen.CloseDeadLetter200JSONResponse{OneDeadLetterJSONResponse: l}, nil
}
