package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// submitBatch takes a pay run in. It is written by hand because its body comes
// in three media types and is streamed.
func (s *server) submitBatch(w http.ResponseWriter, r *http.Request) {
	upload, err := s.upload(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	select {
	case s.uploads <- struct{}{}:
	default:
		s.fail(w, r, Refuse(apigen.ProblemCodeBusy))
		return
	}
	submitted, err := func() (Submitted, error) {
		defer func() { <-s.uploads }()
		return s.Submitter.Submit(r.Context(), upload)
	}()
	if err != nil {
		s.failSubmit(w, r, submitted, err)
		return
	}
	if !submitted.Replayed {
		s.Resumer.Wake(submitted.Unit)
	}
	s.answerSubmit(w, r, submitted)
}

// upload is the request as the intake wants it, or a refusal before a byte of
// the body is read.
func (s *server) upload(r *http.Request) (Upload, error) {
	if s.Draining() {
		return Upload{}, Refuse(apigen.ProblemCodeDraining)
	}
	format, coding := media(r.Header.Get("Content-Type")), encoding(r.Header)
	o := s.document.find(r)
	if o.spec.RequestBody.Value.Content[format] == nil || coding != "" && coding != "gzip" {
		return Upload{}, Refuse(apigen.ProblemCodeUnsupportedMediaType)
	}
	key := caller(r.Context())
	return Upload{
		Tenant: key.Tenant, Actor: key.ID, ContentType: r.Header.Get("Content-Type"), ContentEncoding: coding, Query: r.URL.Query(),
		Strict: handlingPreferred(r.Header.Get("Prefer")) == "strict", Body: r.Body, Now: s.Now(),
	}, nil
}

// failSubmit answers a refusal; that of another content names the batch.
func (s *server) failSubmit(w http.ResponseWriter, r *http.Request, done Submitted, err error) {
	if refusal, ok := refusalOf(err); ok && refusal.Code == apigen.ProblemCodeBatchContentDiffers {
		refusal.BatchKey = done.BatchKey
		err = refusal
	}
	s.fail(w, r, err)
}

func (s *server) answerSubmit(w http.ResponseWriter, r *http.Request, done Submitted) {
	t, body, err := s.readWhole(r.Context(), caller(r.Context()).Tenant, done.BatchKey)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	h, status := w.Header(), http.StatusAccepted
	h.Set("Content-Type", mediaJSON)
	h.Set("Location", batchPath(done.BatchKey))
	h.Set("ETag", etag(t.Version))
	if handling := handlingPreferred(r.Header.Get("Prefer")); handling != "" {
		h.Set("Preference-Applied", "handling="+handling)
	}
	if done.Replayed {
		h.Set("Idempotent-Replayed", "true")
		status = http.StatusOK
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (s *server) readWhole(ctx context.Context, tenant, batchKey string) (store.Token, apigen.Batch, error) {
	t, err := s.Reader.Batch(ctx, tenant, batchKey)
	if err != nil {
		return t, apigen.Batch{}, err
	}
	body, err := s.wholeBatch(ctx, t)
	return t, body, err
}

func unitOf(t store.Token) payroll.Unit {
	return payroll.Unit{Tenant: t.Batch.Tenant, PayPeriod: t.Batch.PayPeriod, Vendor: t.Batch.Vendor}
}
