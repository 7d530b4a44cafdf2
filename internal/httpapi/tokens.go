package httpapi

import (
	"context"
	"errors"
	"time"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/resume"
)

// takeUpWithin bounds how long a resume waits for the supervisor to answer.
const takeUpWithin = 10 * time.Second

// GetResumeToken implements apigen.StrictServerInterface.
func (s *server) GetResumeToken(ctx context.Context, r apigen.GetResumeTokenRequestObject) (apigen.GetResumeTokenResponseObject, error) {
	t, err := s.Reader.Token(ctx, caller(ctx).Tenant, r.Token)
	if err != nil {
		return nil, err
	}
	return apigen.GetResumeToken200JSONResponse(viewToken(t, s.Now())), nil
}

// ResumeBatch implements apigen.StrictServerInterface. A batch whose owner is
// alive but holds it says what it is held for.
func (s *server) ResumeBatch(ctx context.Context, r apigen.ResumeBatchRequestObject) (apigen.ResumeBatchResponseObject, error) {
	tenant := caller(ctx).Tenant
	t, err := s.Reader.Token(ctx, tenant, r.Token)
	if err != nil {
		return nil, err
	}
	if t.Complete() {
		return apigen.ResumeBatch200JSONResponse(viewToken(t, s.Now())), nil
	}
	limited, cancel := context.WithTimeout(ctx, takeUpWithin)
	defer cancel()
	err = s.Resumer.Resume(limited, unitOf(t))
	var alive *resume.OwnerAliveError
	if errors.As(err, &alive) && t.HoldReason != "" {
		held := Refuse(apigen.ProblemCodeHeld)
		held.HoldReason = apigen.HoldReason(t.HoldReason)
		return nil, held
	}
	if err != nil {
		return nil, err
	}
	if t, err = s.Reader.Token(ctx, tenant, r.Token); err != nil {
		return nil, err
	}
	return apigen.ResumeBatch202JSONResponse{
		Body: viewToken(t, s.Now()), Headers: apigen.ResumeBatch202ResponseHeaders{Location: batchPath(t.Batch.Key())},
	}, nil
}
