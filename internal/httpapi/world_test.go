package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/httpapi/apigen"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/store"
	"payrollgateway/internal/telemetry"
	"payrollgateway/internal/vendor"
)

// The objects that a world begins with all belong to this tenant.
const (
	tenant      = "staffco"
	otherTenant = "rival"
	period      = "2026-W28"
)

// The keys of a world by name; the text of a key is "key-" and its name.
var worldKeys = map[string]Key{
	"all":     {Tenant: tenant, Scopes: []apigen.Scope{apigen.ScopeSubmit, apigen.ScopeRead, apigen.ScopeOperate}},
	"submit":  {Tenant: tenant, Scopes: []apigen.Scope{apigen.ScopeSubmit}},
	"read":    {Tenant: tenant, Scopes: []apigen.Scope{apigen.ScopeRead}},
	"operate": {Tenant: tenant, Scopes: []apigen.Scope{apigen.ScopeOperate}},
	"none":    {Tenant: tenant},
	"admin":   {Scopes: []apigen.Scope{apigen.ScopeAdmin}},
	"rival":   {Tenant: otherTenant, Scopes: []apigen.Scope{apigen.ScopeSubmit, apigen.ScopeRead, apigen.ScopeOperate}},
	// Faults of whoever writes the key file, which must not open anything.
	"tenantAdmin": {Tenant: tenant, Scopes: []apigen.Scope{apigen.ScopeAdmin}},
	"adminReader": {Scopes: []apigen.Scope{apigen.ScopeRead}},
}

// world is a handler with everything around it made by hand.
type world struct {
	http.Handler
	ledger   *ledger
	intake   *intake
	letters  *letterDesk
	resumer  *resumer
	gate     *ratelimit.Gate
	draining atomic.Bool
	unready  []string
	log      bytes.Buffer
	now      time.Time
	config   Config
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{ledger: newLedger(), intake: &intake{}, resumer: &resumer{}, now: time.Date(2026, 7, 13, 10, 0, 0, 0, time.UTC)}
	w.letters = &letterDesk{ledger: w.ledger, result: ReplayTaken}
	w.intake.batchKey = w.ledger.token.Batch.Key()
	gate, err := ratelimit.NewGate(ratelimit.GateConfig{
		Backoff: func(int, float64) time.Duration { return time.Second }, Now: func() time.Time { return w.now }, Random: func() float64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = gate
	ring := &KeyRing{}
	ring.Replace(ringKeys())
	w.config = Config{
		Reader: w.ledger, Operations: w.ledger, Gates: w.ledger, Submitter: w.intake, Letters: w.letters, Resumer: w.resumer,
		Vendors: fakeVendors{"sandbox": {Profile: vendor.BuiltinSandbox("http://127.0.0.1:1"), Gate: gate}}, Keys: ring,
		Ready:    func(context.Context) (bool, []string) { return len(w.unready) == 0, w.unready },
		Draining: w.draining.Load, Metrics: telemetry.NewMetrics(nil).Handler(), Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewJSONHandler(&w.log, nil)),
	}
	for _, c := range change {
		c(&w.config)
	}
	if w.Handler, err = New(w.config); err != nil {
		t.Fatal(err)
	}
	return w
}

func ringKeys() []Key {
	var keys []Key
	for name, k := range worldKeys {
		k.ID, k.SHA256 = "id-"+name, sha256.Sum256([]byte("key-"+name))
		keys = append(keys, k)
	}
	return keys
}

// request makes a request with the key of that name; "" = without one.
func request(method, target, key, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer key-"+key)
	}
	return r
}

func (w *world) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

// ledger is a store that holds one of everything, and fails when told to.
type ledger struct {
	err     error
	saveErr error
	token   store.Token
	line    store.LineView
	letter  store.Letter
	replay  store.Replay
	gates   []store.Gate
	asked   atomic.Int64                  // reads of a batch
	change  func(n int64, t *store.Token) // before the n-th read
	filter  store.LetterFilter            // of the newest list
	page    store.Page
	created store.Replay
	more    []store.Letter // further records of the letter's list
}

func newLedger() *ledger {
	at := time.Date(2026, 7, 13, 9, 30, 0, 0, time.UTC)
	b := payroll.Batch{ID: 7, Tenant: tenant, Vendor: "sandbox", PayPeriod: period, Group: "run-1", Currency: "USD", Total: 3, CreatedAt: at}
	line := payroll.Line{Ordinal: 1, EmployeeID: "0100001", Version: 1, Amount: 4722331, Currency: "USD"}
	line.Key = line.Natural(tenant, period).Digest()
	id := func(s string) uuid.UUID { return uuid.MustParse(s) }
	l := &ledger{
		token: store.Token{
			Batch: b, Token: id("018f4e1c-6b1f-7c3a-9d52-0b8e6f1a2c3d"), State: store.InProgress, Owner: "gateway-1", HeartbeatAt: at.Add(time.Minute),
			Epoch: 2, Version: 417, NextOrdinal: 4, LastCursor: 1, Rejected: 1,
			Amounts: map[string]payroll.Amounts{"USD": {Total: 300, Settled: 100}, "JPY": {Total: 5}},
		},
		line: store.LineView{
			Tenant: tenant, PayPeriod: period, BatchKey: b.Key(), Line: line, State: payroll.Retrying,
			Trouble: &payroll.Trouble{Generation: 1, Sends: 2, DueAt: at.Add(time.Hour)},
			Attempts: []store.HistoryEntry{
				{AttemptID: b.Key() + "/1", Kind: payroll.Submit, SentAt: at, HTTPStatus: 503, Verdict: payroll.VerdictRetry, Detail: "busy"},
				{AttemptID: b.Key() + "/2", Kind: payroll.Submit, SentAt: at.Add(time.Second)},
			},
		},
		letter: store.Letter{
			ID: id("018f4e1d-22bb-7c3a-9d52-0b8e6f1a2c3d"), Tenant: tenant, Vendor: "sandbox", BatchID: 7, BatchKey: b.Key(), PayPeriod: period, Ordinal: 1,
			LineKey: payroll.LineKey(tenant, period, line.Key), EmployeeID: line.EmployeeID, Amount: line.Amount, Currency: "USD", Status: store.LetterOpen,
			Reason: payroll.VendorRejected, Stage: payroll.StageResponse, LastStatus: 422, LastError: "the vendor refused it", Attempts: 1,
			Payload: []byte("\xff row"), FirstSeenAt: at, DeadLetteredAt: at,
			Standing: &payroll.Standing{Line: line, Live: true, State: payroll.DeadLettered, Reason: payroll.VendorRejected},
		},
		replay: store.Replay{
			ID: id("018f4e1e-33cc-7c3a-9d52-0b8e6f1a2c3d"), Tenant: tenant, Filter: store.LetterFilter{Reason: payroll.VendorRejected}, Actor: "id-all",
			Matched: 2, Replayed: 1, Refused: 1, State: store.ReplayRunning, CreatedAt: at,
		},
	}
	l.token.Counts[payroll.Settled], l.token.Counts[payroll.DeadLettered], l.token.Counts[payroll.InFlight] = 1, 1, 1
	return l
}

// own answers for the tenant's own objects only.
func (l *ledger) own(tenantOf string, matches bool) error {
	switch {
	case l.err != nil:
		return l.err
	case tenantOf != tenant || !matches:
		return store.ErrNotFound
	}
	return nil
}

func (l *ledger) Batch(_ context.Context, tn, key string) (store.Token, error) {
	n := l.asked.Add(1)
	if l.change != nil {
		l.change(n, &l.token)
	}
	return l.token, l.own(tn, key == l.token.Batch.Key())
}

func (l *ledger) Token(_ context.Context, tn string, id uuid.UUID) (store.Token, error) {
	return l.token, l.own(tn, id == l.token.Token)
}

func (l *ledger) Batches(_ context.Context, tn string, p store.Page) ([]store.Token, string, error) {
	if err := l.list(p); err != nil || tn != tenant {
		return nil, "", err
	}
	bare := l.token
	bare.Amounts = nil
	return []store.Token{bare}, "next", nil
}

// list notes a page, and refuses a cursor that no list gave.
func (l *ledger) list(p store.Page) error {
	l.page = p
	if l.err == nil && p.After == "foreign" {
		return store.ErrBadCursor
	}
	return l.err
}

func (l *ledger) Rejected(context.Context, int64, int) ([]store.Letter, error) {
	return []store.Letter{{Ordinal: 3, EmployeeID: " not an id ", Reason: payroll.SchemaValidationFailed, LastError: "gross_pay is missing"}}, l.err
}

func (l *ledger) Corrections(_ context.Context, _ int64, limit int) ([]store.CorrectionView, error) {
	all := make([]store.CorrectionView, limit)
	for i := range all {
		all[i] = store.CorrectionView{LineKey: l.letter.LineKey, Corrects: []string{l.letter.LineKey}}
	}
	return all, l.err
}

func (l *ledger) Lines(_ context.Context, _ int64, _ payroll.State, p store.Page) ([]store.LineView, string, error) {
	return []store.LineView{l.line}, "", l.list(p)
}

func (l *ledger) EmployeeLines(_ context.Context, tn, _, _ string, p store.Page) ([]store.LineView, string, error) {
	if err := l.list(p); err != nil || tn != tenant {
		return nil, "", err
	}
	return []store.LineView{l.line}, "", nil
}

func (l *ledger) Line(_ context.Context, tn, key string) (store.LineView, error) {
	return l.line, l.own(tn, key == l.letter.LineKey)
}

func (l *ledger) Letters(_ context.Context, f store.LetterFilter, p store.Page) ([]store.Letter, string, error) {
	l.filter = f
	if err := l.list(p); err != nil || f.Tenant != tenant {
		return nil, "", err
	}
	if p.After == "" && len(l.more) > 0 {
		return []store.Letter{l.letter}, "more", nil
	}
	if p.After == "more" {
		return l.more, "", nil
	}
	return []store.Letter{l.letter}, "", nil
}

func (l *ledger) CountLetters(context.Context, store.LetterFilter) (int, error) { return 11, l.err }

func (l *ledger) Letter(_ context.Context, tn string, id uuid.UUID) (store.Letter, error) {
	return l.letter, l.own(tn, id == l.letter.ID)
}

func (l *ledger) Cancel(_ context.Context, tn, key, _ string, _ time.Time) (store.Token, error) {
	return l.token, l.own(tn, key == l.token.Batch.Key())
}

func (l *ledger) CreateReplay(_ context.Context, r store.Replay) error {
	l.created = r
	return l.err
}

func (l *ledger) CancelReplay(_ context.Context, tn string, id uuid.UUID, now time.Time) (store.Replay, error) {
	r := l.replay
	r.State, r.FinishedAt = store.ReplayCancelled, now
	return r, l.own(tn, id == l.replay.ID)
}

func (l *ledger) Replay(_ context.Context, tn string, id uuid.UUID) (store.Replay, error) {
	return l.replay, l.own(tn, id == l.replay.ID)
}

func (l *ledger) SaveGate(_ context.Context, g store.Gate) error {
	if err := errors.Join(l.err, l.saveErr); err != nil {
		return err
	}
	l.gates = append(l.gates, g)
	return nil
}

func (l *ledger) Gates(context.Context) ([]store.Gate, error) { return l.gates, l.err }

// intake is a Submitter that reads the body and answers as it is told.
type intake struct {
	mu       sync.Mutex
	batchKey string
	replayed bool
	err      error
	got      Upload
	body     []byte
	begun    chan struct{} // closed at the first body, where it is set
	hold     chan struct{} // waited for, where it is set
	after    time.Duration // goes on for so long after the body, if its request lives so long
}

func (i *intake) Submit(ctx context.Context, u Upload) (Submitted, error) {
	if i.hold != nil {
		close(i.begun)
		<-i.hold
	}
	body, err := io.ReadAll(u.Body)
	if i.after > 0 {
		_, _ = u.Body.Read(make([]byte, 1)) // past its end, as decoders do
		select {
		case <-time.After(i.after):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got, i.body = u, body
	if i.err != nil {
		err = i.err
	}
	return Submitted{BatchKey: i.batchKey, Unit: payroll.Unit{Tenant: u.Tenant, PayPeriod: period, Vendor: "sandbox"}, Replayed: i.replayed}, err
}

// letterDesk is a Letters that answers as it is told.
type letterDesk struct {
	ledger *ledger
	result Replayed
	err    error
	replay ReplayOrder
	close  CloseOrder
	hold   time.Duration // a close takes so long, if its request lives so long
}

func (d *letterDesk) Replay(ctx context.Context, tn string, id uuid.UUID, o ReplayOrder) (Replayed, error) {
	d.replay = o
	_, err := d.ledger.Letter(ctx, tn, id)
	return d.result, errors.Join(err, d.err)
}

func (d *letterDesk) Close(ctx context.Context, tn string, id uuid.UUID, o CloseOrder) error {
	d.close = o
	select {
	case <-time.After(d.hold):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := d.ledger.Letter(ctx, tn, id)
	return errors.Join(err, d.err)
}

type resumer struct {
	mu    sync.Mutex
	err   error
	woken []payroll.Unit
}

func (r *resumer) Resume(context.Context, payroll.Unit) error { return r.err }

func (r *resumer) Wake(u payroll.Unit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.woken = append(r.woken, u)
}

type fakeVendors map[string]Vendor

func (v fakeVendors) Names() []string { return []string{"sandbox"} }

func (v fakeVendors) Vendor(name string) (Vendor, bool) {
	found, ok := v[name]
	return found, ok
}
