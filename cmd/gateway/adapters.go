package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/google/uuid"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/httpapi"
	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/intake"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// submitter gives the API the intake.
type submitter struct {
	intake   *intake.Service
	reader   store.Reader
	observer observer
}

// Submit implements httpapi.Submitter.
func (s submitter) Submit(ctx context.Context, u httpapi.Upload) (httpapi.Submitted, error) {
	a, err := s.intake.Submit(ctx, intake.Request{
		Tenant: u.Tenant, Actor: u.Actor, ContentType: u.ContentType, ContentEncoding: u.ContentEncoding,
		Query: u.Query, Strict: u.Strict, Body: u.Body, Now: u.Now,
	})
	b := a.Batch
	done := httpapi.Submitted{BatchKey: b.Key(), Unit: payroll.Unit{Tenant: b.Tenant, PayPeriod: b.PayPeriod, Vendor: b.Vendor}, Replayed: a.Replayed}
	if err != nil {
		return done, intakeRefusal(err)
	}
	if a.Duplicates > 0 {
		s.observer.Alert("duplicate_natural_key", slog.String("batch", b.Key()), slog.Int("count", a.Duplicates))
	}
	if a.Blocked > 0 {
		s.observer.Alert("blocked_by_older_version", slog.String("batch", b.Key()), slog.Int("count", a.Blocked))
	}
	if !a.Replayed {
		s.announce(ctx, b)
	}
	return done, nil
}

// announce raises the alert of a batch that is complete as soon as it is stored,
// which no worker will. The batch stands, whatever becomes of the alert.
func (s submitter) announce(ctx context.Context, b payroll.Batch) {
	t, err := s.reader.Batch(ctx, b.Tenant, b.Key())
	if err != nil {
		s.observer.log.Warn("whether the batch is complete already could not be read", "batch", b.Key(), "error", err)
		return
	}
	if dead := t.Counts.Of(payroll.DeadLettered); t.Complete() && dead > 0 {
		s.observer.Alert("dead_letters", slog.String("batch", b.Key()), slog.Int64("count", dead))
	}
}

// intakeRefusal says what the intake refuses in the API's words, which are the
// same: the codes of the two are one list.
func intakeRefusal(err error) error {
	var e *intake.Error
	if !errors.As(err, &e) {
		return err
	}
	faults := make([]apigen.Fault, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = apigen.Fault{Pointer: f.Pointer, Parameter: f.Parameter, Ordinal: int(f.Ordinal), Detail: f.Detail}
	}
	r := httpapi.RefuseFaults(apigen.ProblemCode(e.Code), faults...)
	r.KnownVendors = e.Known
	if e.Counted != nil {
		r.Counted = apigen.Counted{Lines: e.Counted.Lines, GrossPay: e.Counted.GrossPay}
	}
	return r
}

// letters gives the API what people do to dead letters.
type letters struct{ *batch.Letters }

// Replay implements httpapi.Letters.
func (l letters) Replay(ctx context.Context, tenant string, id uuid.UUID, o httpapi.ReplayOrder) (httpapi.Replayed, error) {
	done, err := l.Letters.Replay(ctx, tenant, id, batch.ReplayOrder(o))
	if err != nil {
		return 0, letterRefusal(err)
	}
	switch done {
	case batch.ReplayLookUp:
		return httpapi.ReplayLookUp, nil
	case batch.ReplayResolved:
		return httpapi.ReplayResolved, nil
	case batch.ReplaySettled:
		return httpapi.ReplaySettled, nil
	default:
		return httpapi.ReplayTaken, nil
	}
}

// Close implements httpapi.Letters.
func (l letters) Close(ctx context.Context, tenant string, id uuid.UUID, o httpapi.CloseOrder) error {
	return letterRefusal(l.Letters.Close(ctx, tenant, id, batch.CloseOrder(o)))
}

// letterCodes are the guards' refusals as problems.
var letterCodes = []struct {
	refusal error
	code    apigen.ProblemCode
}{
	{batch.ErrNotReplayable, apigen.ProblemCodeNotReplayable},
	{batch.ErrAttestationRequired, apigen.ProblemCodeAttestationRequired},
	{batch.ErrSuperseded, apigen.ProblemCodeSuperseded},
	{batch.ErrCutoffPassed, apigen.ProblemCodeCutoffPassed},
	{batch.ErrAlreadyClosed, apigen.ProblemCodeAlreadyClosed},
	{batch.ErrVersionOpen, apigen.ProblemCodeVersionOpen},
}

func letterRefusal(err error) error {
	var early *batch.NotQuietYetError
	if errors.As(err, &early) {
		r := httpapi.Refuse(apigen.ProblemCodeNotQuietYet)
		r.NotQuietUntil = early.Until
		return r
	}
	for _, c := range letterCodes {
		if errors.Is(err, c.refusal) {
			return httpapi.Refuse(c.code)
		}
	}
	return err
}

// Names implements httpapi.Vendors.
func (v *vendors) Names() []string { return slices.Sorted(maps.Keys(v.links)) }

// Vendor implements httpapi.Vendors.
func (v *vendors) Vendor(name string) (httpapi.Vendor, bool) {
	l, ok := v.links[name]
	if !ok {
		return httpapi.Vendor{}, false
	}
	return httpapi.Vendor{Profile: l.Profile, Gate: l.Limits.Gate()}, true
}

// forIntake is what the intake needs to know of a vendor.
func (v *vendors) forIntake(name string) (intake.Vendor, bool) {
	l, ok := v.links[name]
	if !ok {
		return intake.Vendor{}, false
	}
	return intake.Vendor{Cap: l.Profile.Limits, Corrections: l.Profile.Corrections}, true
}
