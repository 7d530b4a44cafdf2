package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

const (
	tenant = "acme-us"
	period = "2026-W28"
)

// world is a ledger and a vendor, and engines that come and go.
type world struct {
	*testing.T
	kind    kind
	backend backend
	store   store.Store
	profile *vendor.Profile
	journal string
	groups  int
	shift   atomic.Int64 // how far the gateway's clock was moved, in nanoseconds
}

// now is the gateway's clock.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.shift.Load())) }

func newWorld(t *testing.T, k kind, b backend) *world {
	t.Helper()
	w := &world{T: t, kind: k, backend: b, journal: filepath.Join(t.TempDir(), "journal.jsonl")}
	w.store = b.open(t)
	journal, err := sandbox.OpenJournal(w.journal)
	w.must(err)
	server, err := sandbox.New(k.sandbox, journal)
	w.must(err)
	web := httptest.NewServer(k.before(server))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		server.Close()
	})
	w.profile, err = vendor.Parse("acme.yaml", []byte(k.yaml(web.URL)), nil)
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// submit stores a pay run of so many employees, beside those named.
func (w *world) submit(n int, named ...string) store.Receipt {
	w.Helper()
	w.groups++
	employees := make([]string, 0, n+len(named))
	for i := range n {
		employees = append(employees, fmt.Sprintf("E-%d-%04d", w.groups, i))
	}
	employees = append(employees, named...)
	r, err := w.store.Accept(w.Context(), w.submission(employees, 1))
	w.must(err)
	return r
}

func (w *world) submission(employees []string, version int32) store.Submission {
	b := payroll.Batch{
		Tenant: tenant, Vendor: "acme", PayPeriod: period, Group: fmt.Sprint(w.groups), Currency: "USD",
		Total: int32(len(employees)), CreatedBy: "test", CreatedAt: w.now(),
		ContentHash: payroll.HashBytes(fmt.Append(nil, employees, version)),
	}
	return store.Submission{Batch: b, Now: w.now(), Corrections: payroll.CorrectionsRefuse, Rows: func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for i, e := range employees {
				l := payroll.Line{
					Ordinal: int32(i + 1), EmployeeID: e, Version: version, Amount: payroll.Minor(100_00 + i), Currency: "USD",
				}
				n := l.Natural(tenant, period)
				l.Key, l.AnyVersion, l.Hash = n.Digest(), n.AnyVersion(), payroll.RequestHash(l.Currency, l.Amount, nil)
				if !yield(store.Row{Line: &l}, nil) {
					return
				}
			}
		}
	}}
}

// lease is a hold on the unit that lasts.
type lease struct {
	tenure store.Tenure
	now    func() time.Time
}

func (l lease) Tenure() store.Tenure { return l.tenure }
func (l lease) Deadline() time.Time  { return l.now().Add(time.Hour) }

// life is one life of an engine: what it may do ends when it dies.
type life struct {
	w     *world
	point string // where it dies; "" = it does not
	hits  atomic.Int64
	nth   int64
	do    func() // instead of dying
	lose  int64  // the answer to the COMMIT of this Open gets lost; 0 = none
	opens atomic.Int64
	// ready is called before it begins, wrap puts something between it and its
	// ledger, waited is called when a request has passed the limits; nil = not.
	ready  func(*batch.Runner, *batch.Link)
	wrap   func(batch.Store) batch.Store
	waited func()
	dead   atomic.Bool
	kill   context.CancelFunc
}

var errDead = errors.New("the process is dead")

// at kills the life when its point is reached for the nth time, or does what
// was asked for there.
func (l *life) at(point string) {
	if point != l.point || l.hits.Add(1) != l.nth {
		return
	}
	if l.do != nil {
		l.do()
	} else {
		l.dead.Store(true)
		l.kill()
	}
}

// work takes the unit over and works on it until it is at rest or the life ends.
func (w *world) work(point string, nth int64) (died bool) {
	w.Helper()
	return w.live(&life{w: w, point: point, nth: nth})
}

// live is one life of an engine that nobody tells to stop.
func (w *world) live(l *life) (died bool) {
	w.Helper()
	return w.liveUntil(context.Background(), l)
}

// liveUntil is one life of an engine that is told to stop when until ends.
func (w *world) liveUntil(until context.Context, l *life) (died bool) {
	w.Helper()
	ctx, kill := context.WithTimeout(w.Context(), 2*time.Minute)
	defer kill()
	l.kill = kill
	soft, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(until, stop)()
	unit := payroll.Unit{Tenant: tenant, PayPeriod: period, Vendor: "acme"}
	t, err := w.store.Claim(ctx, store.Claim{
		Unit: unit, Owner: fmt.Sprint("owner-", rand.Uint64()), Now: w.now(), TTL: time.Minute, Force: true, Settle: w.profile.Policy().Settle,
	})
	w.must(err)
	link := w.link(l)
	runner := batch.NewRunner(w.engine(l), link, lease{t, w.now})
	if l.ready != nil {
		l.ready(runner, link)
	}
	err = runner.Run(ctx, soft)
	if l.dead.Load() || errors.Is(err, store.ErrFenced) {
		return true
	}
	if err != nil {
		w.Fatalf("the engine gave up: %v", err)
	}
	return false
}

func (w *world) engine(l *life) *batch.Engine {
	var ledger batch.Store = mortalStore{w.store, l}
	if l.wrap != nil {
		ledger = l.wrap(ledger)
	}
	return &batch.Engine{
		Store: ledger, Now: w.now, Rand: rand.Float64, Observer: silent{l.waited},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Poll: 20 * time.Millisecond, Failpoint: l.at,
	}
}

func (w *world) link(l *life) *batch.Link {
	w.Helper()
	r := w.profile.Rate[0]
	pacer, err := ratelimit.NewLocal(ratelimit.Limit{Requests: r.Requests, Per: r.Per, Headroom: r.Headroom})
	w.must(err)
	gate, err := ratelimit.NewGate(ratelimit.GateConfig{
		Now: w.now, Random: rand.Float64, Backoff: func(n int, random float64) time.Duration { return 20 * time.Millisecond },
	})
	w.must(err)
	turns, err := ratelimit.NewTurns(w.profile.Submit.Concurrency, 0)
	w.must(err)
	client, err := vendor.NewClient(w.profile, vendor.ClientOptions{Now: w.now})
	w.must(err)
	w.Cleanup(client.Close)
	return &batch.Link{Profile: w.profile, Sender: mortalSender{client, l}, Limits: ratelimit.NewConnection(gate, turns, pacer)}
}

// judge compares the vendor's journal with the ledger at rest.
func (w *world) judge() sandbox.Report {
	w.Helper()
	journal, err := sandbox.ReadJournal(w.journal)
	w.must(err)
	w.checkRequests(journal.Requests)
	report := sandbox.Reconcile(journal.Effects, w.ledger())
	for _, f := range report.Findings {
		w.Errorf("%s: %s %+v %s", f.Invariant, f.Kind, f.Payment, f.Detail)
	}
	return report
}

// ledger lists every line of every batch as its owner would report it.
func (w *world) ledger() iter.Seq[sandbox.LedgerLine] {
	return func(yield func(sandbox.LedgerLine) bool) {
		for _, t := range w.batches() {
			if !t.Complete() {
				w.Errorf("batch %s is not complete: %v", t.Batch.Key(), t.Counts)
			}
			for page := (store.Page{Limit: 1000}); ; {
				lines, next, err := w.store.Lines(w.Context(), t.Batch.ID, 0, page)
				w.must(err)
				for _, v := range lines {
					if v.SettledAs == payroll.EarlierBatch {
						continue // counted where it was paid
					}
					if !yield(ledgerLine(v)) {
						return
					}
				}
				if next == "" {
					break
				}
				page.After = next
			}
		}
	}
}

func (w *world) batches() []store.Token {
	w.Helper()
	tokens, _, err := w.store.Batches(w.Context(), tenant, store.Page{Limit: 100})
	w.must(err)
	return tokens
}

// token is the newest batch as it is now.
func (w *world) token() store.Token {
	w.Helper()
	t, err := w.store.Batch(w.Context(), tenant, payroll.BatchKey(tenant, period, fmt.Sprint(w.groups)))
	w.must(err)
	return t
}

// counts checks where the lines of the newest batch stand.
func (w *world) counts(want map[payroll.State]int64) {
	w.Helper()
	t := w.token()
	for _, s := range payroll.States {
		if t.Counts.Of(s) != want[s] {
			w.Errorf("%d lines are %v, want %d", t.Counts.Of(s), s, want[s])
		}
	}
}

// reasons counts the open dead letters by reason.
func (w *world) reasons() map[payroll.Reason]int {
	w.Helper()
	letters, _, err := w.store.Letters(w.Context(), store.LetterFilter{Tenant: tenant, Status: store.LetterOpen}, store.Page{Limit: 1000})
	w.must(err)
	out := map[payroll.Reason]int{}
	for _, l := range letters {
		out[l.Reason]++
	}
	return out
}

func ledgerLine(v store.LineView) sandbox.LedgerLine {
	l := sandbox.LedgerLine{
		Key: payroll.LineKey(v.Tenant, v.PayPeriod, v.Line.Key), Tenant: v.Tenant, PayPeriod: v.PayPeriod,
		EmployeeID: v.Line.EmployeeID, LineRef: v.Line.Ref, LineVersion: int64(v.Line.Version),
		Amount: v.Line.Amount.Format(v.Line.Currency), Currency: v.Line.Currency, State: v.State.String(),
	}
	if v.Reason != 0 {
		l.ReasonCode = v.Reason.String()
	}
	return l
}

// silent tells nobody, but that a request has passed the limits.
type silent struct{ waited func() }

func (silent) Answered(string, payroll.AttemptKind, int) {}

func (s silent) Waited(string, time.Duration) {
	if s.waited != nil {
		s.waited()
	}
}

func (silent) Died(store.Dead)                        {}
func (silent) GateChanged(string, ratelimit.Snapshot) {}
func (silent) Alert(string, ...slog.Attr)             {}
