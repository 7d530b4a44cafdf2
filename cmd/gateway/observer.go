package main

import (
	"context"
	"log/slog"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/telemetry"
)

// observer turns what the engine reports into metrics and alerts.
type observer struct {
	metrics *telemetry.Metrics
	log     *slog.Logger
}

func (o observer) Answered(vendor string, kind payroll.AttemptKind, status int) {
	o.metrics.VendorRequest(vendor, kind.String(), status)
}

func (o observer) Waited(vendor string, d time.Duration) { o.metrics.RateWait(vendor, d) }

func (o observer) Died(d store.Dead) {
	o.metrics.DeadLetter(d.Reason.Class().String(), d.Stage.String(), d.Reason.String())
}

func (o observer) GateChanged(vendor string, s ratelimit.Snapshot) {
	o.metrics.Gate(vendor, s.State.String())
	o.log.Warn("gate changed", "vendor", vendor, "state", s.State.String(), "until", s.Until, "reason", s.Reason)
	if s.State == ratelimit.Suspended {
		o.Alert("gate_suspended", slog.String("vendor", vendor), slog.String("reason", s.Reason))
	}
}

// Alert is one ERROR event and one count.
func (o observer) Alert(name string, attrs ...slog.Attr) {
	o.metrics.Alert(name)
	o.log.LogAttrs(context.Background(), slog.LevelError, "alert", append(attrs, slog.String("alert", name))...)
}

// ledger reads the store for the metrics.
func ledger(s store.Reader, now func() time.Time) func(context.Context) (telemetry.Ledger, error) {
	return func(ctx context.Context) (telemetry.Ledger, error) {
		st, err := s.Statistics(ctx)
		if err != nil {
			return telemetry.Ledger{}, err
		}
		l := telemetry.Ledger{Lines: map[string]int64{}, RetryDepth: st.RetryDepth}
		for _, state := range payroll.States {
			l.Lines[state.String()] = st.Lines.Of(state)
		}
		for labels, n := range st.OpenLetters {
			l.OpenLetters = append(l.OpenLetters, telemetry.LetterCount{
				Class: labels.Reason.Class().String(), Stage: labels.Stage.String(), Reason: labels.Reason.String(), N: n,
			})
		}
		if !st.OldestUnsettled.IsZero() {
			l.OldestUnsettled = now().Sub(st.OldestUnsettled)
		}
		return l, nil
	}
}
