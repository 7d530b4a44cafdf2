package e2e

import (
	"sync/atomic"
	"testing"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// rotating is a secret that is changed while the gateway runs.
type rotating struct{ text atomic.Value }

func (r *rotating) Resolve(string) (vendor.Secret, error) {
	return vendor.NewSecret(r.text.Load().(string)), nil
}

// guarded is a world whose vendor demands "good", and the secret that is sent.
func (w *world) guarded(secret string) *rotating {
	w.Helper()
	r := &rotating{}
	r.text.Store(secret)
	k := w.kind
	k.profile += "auth: [{type: bearer, token: \"${env:TOKEN}\"}]\n"
	var err error
	w.profile, err = vendor.Parse("acme.yaml", []byte(k.yaml(w.profile.BaseURL)), r)
	w.must(err)
	return r
}

// A release after the secret was put right is enough: nothing is restarted. A
// refused refresh used to be the last one of a process.
func TestAReleasedGateTakesTheNewCredential(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{Token: "good"}), func(w *world) {
		secret := w.guarded("bad")
		w.submit(40)
		var link atomic.Pointer[batch.Link]
		released := false
		soft, stop := w.until(func() bool {
			t := w.token()
			if t.State == store.Suspended && !released {
				released = true
				secret.text.Store("good")
				link.Load().Limits.Gate().Report(ratelimit.Release())
			}
			return t.Complete()
		})
		defer stop()
		w.liveUntil(soft, &life{w: w, ready: func(_ *batch.Runner, l *batch.Link) { link.Store(l) }})
		if !released {
			w.Error("the refused credential did not suspend the gate")
		}
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 40})
	})
}

// Several requests are under way when a secret is rotated: all are refused, the
// first reads the new one, and the others do not take it for refused as well.
func TestARotatedCredentialSuspendsNothing(t *testing.T) {
	onBoth(t, keyed(sandbox.Config{Token: "good"}), func(w *world) {
		secret := w.guarded("bad")
		w.submit(40)
		w.live(&life{w: w, ready: func(*batch.Runner, *batch.Link) { secret.text.Store("good") }})
		gates, err := w.store.Gates(w.Context())
		w.must(err)
		if len(gates) != 0 {
			w.Errorf("the gate was kept as %+v", gates)
		}
		w.judge()
		w.counts(map[payroll.State]int64{payroll.Settled: 40})
	})
}
