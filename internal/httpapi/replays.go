package httpapi

import (
	"context"
	"net/url"
	"time"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/store"
)

// previewPage is how many records a preview reads at a time.
const previewPage = 1000

// StartReplay implements apigen.StrictServerInterface.
func (s *server) StartReplay(ctx context.Context, r apigen.StartReplayRequestObject) (apigen.StartReplayResponseObject, error) {
	o, key := r.Body, caller(ctx)
	if err := s.mustLieAhead(o.CutoffAt); err != nil {
		return nil, err
	}
	filter := letterFilter(key.Tenant, o.Filter)
	filter.Status = store.LetterOpen
	if o.Preview {
		preview, err := s.preview(ctx, filter, o.CutoffAt)
		return apigen.StartReplay200JSONResponse(preview), err
	}
	matched, err := s.Reader.CountLetters(ctx, filter)
	if err != nil {
		return nil, err
	}
	id, err := s.NewID()
	if err != nil {
		return nil, err
	}
	replay := store.Replay{
		ID: id, Tenant: key.Tenant, Filter: filter, RatePerSec: float64(o.MaxPerSecond), RootCause: o.RootCause, CutoffAt: o.CutoffAt,
		Actor: key.ID, Matched: matched, State: store.ReplayRunning, CreatedAt: s.Now(),
	}
	if err := s.Operations.CreateReplay(ctx, replay); err != nil {
		return nil, err
	}
	return apigen.StartReplay202JSONResponse{
		Body: viewReplay(replay), Headers: apigen.StartReplay202ResponseHeaders{Location: replayPath(replay)},
	}, nil
}

// preview counts what a replay by filter would do, page by page.
func (s *server) preview(ctx context.Context, filter store.LetterFilter, newCutoff time.Time) (apigen.ReplayPreview, error) {
	p := apigen.ReplayPreview{Refused: apigen.RefusedReplays{}}
	now, at := s.Now(), store.Page{Limit: previewPage}
	for {
		letters, next, err := s.Reader.Letters(ctx, filter, at)
		if err != nil {
			return p, err
		}
		for _, l := range letters {
			p.Matched++
			if code := foreseen(l, s.terms(l.Vendor), newCutoff, now); code != "" {
				p.Refused[string(code)]++
			} else {
				p.Replayable++
			}
		}
		if next == "" {
			return p, nil
		}
		at.After = next
	}
}

// GetReplay implements apigen.StrictServerInterface.
func (s *server) GetReplay(ctx context.Context, r apigen.GetReplayRequestObject) (apigen.GetReplayResponseObject, error) {
	replay, err := s.Operations.Replay(ctx, caller(ctx).Tenant, r.ID)
	if err != nil {
		return nil, err
	}
	return apigen.GetReplay200JSONResponse(viewReplay(replay)), nil
}

// CancelReplay implements apigen.StrictServerInterface.
func (s *server) CancelReplay(ctx context.Context, r apigen.CancelReplayRequestObject) (apigen.CancelReplayResponseObject, error) {
	replay, err := s.Operations.CancelReplay(ctx, caller(ctx).Tenant, r.ID, s.Now())
	if err != nil {
		return nil, err
	}
	return apigen.CancelReplay202JSONResponse{
		Body: viewReplay(replay), Headers: apigen.CancelReplay202ResponseHeaders{Location: replayPath(replay)},
	}, nil
}

func replayPath(r store.Replay) string { return "/v1/replays/" + url.PathEscape(r.ID.String()) }

func viewReplay(r store.Replay) apigen.Replay {
	return apigen.Replay{
		ID: r.ID, State: apigen.ReplayState(r.State.String()), Filter: viewFilter(r.Filter), MaxPerSecond: int(r.RatePerSec),
		CutoffAt: utc(r.CutoffAt), RootCause: r.RootCause, Matched: r.Matched, Replayed: r.Replayed, Refused: r.Refused,
		StartedBy: r.Actor, CreatedAt: r.CreatedAt.UTC(), EndedAt: utc(r.FinishedAt),
	}
}

func viewFilter(f store.LetterFilter) apigen.DeadLetterFilter {
	v := apigen.DeadLetterFilter{Vendor: f.Vendor, BatchKey: f.BatchKey}
	if f.Reason != 0 {
		v.ReasonCode = apigen.ReasonCode(f.Reason.String())
	}
	if f.Class != 0 {
		v.FailureClass = apigen.FailureClass(f.Class.String())
	}
	if f.Stage != 0 {
		v.SourceStage = apigen.SourceStage(f.Stage.String())
	}
	return v
}

// mustLieAhead refuses a new cut-off that has passed already; zero is none.
func (s *server) mustLieAhead(cutoff time.Time) error {
	if cutoff.IsZero() || s.Now().Before(cutoff) {
		return nil
	}
	return RefuseFaults(apigen.ProblemCodeInvalidRequest, apigen.Fault{Pointer: "/cutoff_at", Detail: "must lie in the future"})
}
