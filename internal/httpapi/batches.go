package httpapi

import (
	"context"
	"net/url"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/store"
)

// defaultLimit is the document's default size of a page.
const defaultLimit = 100

func page(limit apigen.PageLimit, cursor apigen.PageCursor) store.Page {
	if limit == 0 {
		limit = defaultLimit
	}
	return store.Page{Limit: limit, After: cursor}
}

func batchPath(batchKey string) string { return "/v1/batches/" + url.PathEscape(batchKey) }

// ListBatches implements apigen.StrictServerInterface.
func (s *server) ListBatches(ctx context.Context, r apigen.ListBatchesRequestObject) (apigen.ListBatchesResponseObject, error) {
	tenant, now := caller(ctx).Tenant, s.Now()
	tokens, next, err := s.Reader.Batches(ctx, tenant, page(r.Params.Limit, r.Params.Cursor))
	if err != nil {
		return nil, err
	}
	items := make([]apigen.Batch, 0, len(tokens))
	for _, t := range tokens {
		if t.Amounts == nil { // a store may leave them to be read one by one
			if t, err = s.Reader.Batch(ctx, tenant, t.Batch.Key()); err != nil {
				return nil, err
			}
		}
		items = append(items, viewBatch(t, now))
	}
	return apigen.ListBatches200JSONResponse{Items: items, NextCursor: next}, nil
}

// GetBatch implements apigen.StrictServerInterface.
func (s *server) GetBatch(ctx context.Context, r apigen.GetBatchRequestObject) (apigen.GetBatchResponseObject, error) {
	seen, err := s.follow(ctx, caller(ctx).Tenant, r.BatchKey, r.Params.IfNoneMatch, waitPreferred(r.Params.Prefer))
	if err != nil {
		return nil, err
	}
	tag := etag(seen.token.Version)
	if seen.unchanged {
		return apigen.GetBatch304Response{Headers: apigen.GetBatch304ResponseHeaders{ETag: tag, PreferenceApplied: seen.applied}}, nil
	}
	body, err := s.wholeBatch(ctx, seen.token)
	if err != nil {
		return nil, err
	}
	return apigen.GetBatch200JSONResponse{Body: body, Headers: apigen.GetBatch200ResponseHeaders{ETag: tag, PreferenceApplied: seen.applied}}, nil
}

// wholeBatch is a batch with what lists leave out.
func (s *server) wholeBatch(ctx context.Context, t store.Token) (apigen.Batch, error) {
	b := viewBatch(t, s.Now())
	rejected, err := s.Reader.Rejected(ctx, t.Batch.ID, shownRows)
	if err != nil {
		return b, err
	}
	corrections, err := s.Reader.Corrections(ctx, t.Batch.ID, shownRows+1)
	if err != nil {
		return b, err
	}
	b.Rejected = viewRejected(rejected)
	viewCorrections(&b, corrections)
	return b, nil
}

// CancelBatch implements apigen.StrictServerInterface.
func (s *server) CancelBatch(ctx context.Context, r apigen.CancelBatchRequestObject) (apigen.CancelBatchResponseObject, error) {
	key := caller(ctx)
	t, err := s.Operations.Cancel(ctx, key.Tenant, r.BatchKey, key.ID, s.Now())
	if err != nil {
		return nil, err
	}
	s.Resumer.Wake(unitOf(t))
	t, body, err := s.readWhole(ctx, key.Tenant, r.BatchKey)
	if err != nil {
		return nil, err
	}
	return apigen.CancelBatch202JSONResponse{
		Body:    body,
		Headers: apigen.CancelBatch202ResponseHeaders{ETag: etag(t.Version), Location: batchPath(r.BatchKey)},
	}, nil
}
