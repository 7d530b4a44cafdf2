package benchmark

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// engine is our side of the dispatch in this process, put together as the
// gateway does it, so that it can be profiled and its statements counted.
type engine struct {
	store  store.Store
	link   *batch.Link
	client *vendor.Client
}

// newEngine takes the store over: close closes it.
func newEngine(s store.Store, vendorURL string) (e *engine, err error) {
	e = &engine{store: s}
	if e.link, err = e.connect(vendorURL); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *engine) connect(vendorURL string) (*batch.Link, error) {
	p, err := vendor.Parse("benchmark", open.profile(vendorURL), nil)
	if err != nil {
		return nil, err
	}
	r := p.Rate[0]
	pacer, err := ratelimit.NewLocal(ratelimit.Limit{Requests: r.Requests, Per: r.Per, Headroom: r.Headroom})
	if err != nil {
		return nil, err
	}
	gate, err := ratelimit.NewGate(ratelimit.GateConfig{
		Now: time.Now, Random: rand.Float64, Backoff: func(int, float64) time.Duration { return time.Second },
	})
	if err != nil {
		return nil, err
	}
	turns, err := ratelimit.NewTurns(p.Submit.Concurrency, 0)
	if err != nil {
		return nil, err
	}
	if e.client, err = vendor.NewClient(p, vendor.ClientOptions{Now: time.Now}); err != nil {
		return nil, err
	}
	return &batch.Link{Profile: p, Sender: e.client, Limits: ratelimit.NewConnection(gate, turns, pacer)}, nil
}

// load stores a pay run and takes it.
func (e *engine) load(ctx context.Context, period string, lines int) (store.Tenure, error) {
	if _, err := e.store.Accept(ctx, submission(period, open.name, lines, time.Now())); err != nil {
		return store.Tenure{}, err
	}
	return e.store.Claim(ctx, store.Claim{
		Unit: payroll.Unit{Tenant: tenant, PayPeriod: period, Vendor: open.name}, Owner: "benchmark",
		Now: time.Now(), TTL: time.Minute, Force: true, Settle: time.Minute,
	})
}

// send works the pay run off.
func (e *engine) send(ctx context.Context, t store.Tenure) error {
	shared := &batch.Engine{Store: e.store, Now: time.Now, Rand: rand.Float64, Observer: nobody{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	return batch.NewRunner(shared, e.link, lease{t}).Run(ctx, ctx)
}

func (e *engine) close() error {
	if e.client != nil {
		e.client.Close()
	}
	return e.store.Close()
}

// lease is a hold on a unit that outlasts every experiment.
type lease struct{ tenure store.Tenure }

func (l lease) Tenure() store.Tenure { return l.tenure }
func (lease) Deadline() time.Time    { return time.Now().Add(time.Hour) }

// nobody watches.
type nobody struct{}

func (nobody) Answered(string, payroll.AttemptKind, int) {}
func (nobody) Waited(string, time.Duration)              {}
func (nobody) Died(store.Dead)                           {}
func (nobody) GateChanged(string, ratelimit.Snapshot)    {}
func (nobody) Alert(string, ...slog.Attr)                {}
