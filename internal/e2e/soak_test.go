package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/batch"
	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/sandbox"
	"payrollgateway/internal/store"
)

// The soak draws everything from a seed: people's acts, deaths, the vendor's
// faults, the ledger's. A failing seed is in the name of its test; with
// -soak.seed=N it runs alone, -soak.seeds=N runs more of them.
var (
	soakSeed  = flag.Uint64("soak.seed", 0, "the one seed to run")
	soakSeeds = flag.Uint64("soak.seeds", 3, "how many seeds to run")
)

func TestSoak(t *testing.T) {
	t.Parallel()
	first, n := uint64(1), *soakSeeds
	if *soakSeed > 0 {
		first, n = *soakSeed, 1
	}
	for seed := first; seed < first+n; seed++ {
		for i, b := range backends {
			k := kinds[(int(seed)+i*len(kinds)/2)%len(kinds)]
			t.Run(fmt.Sprintf("%s/%s/seed=%d", b.name, k.name, seed), func(t *testing.T) {
				t.Parallel()
				soak(t, k, b, seed)
			})
		}
	}
}

// drama is one soak.
type drama struct {
	*world
	mu     sync.Mutex
	dice   *rand.Rand
	crowd  []string // employees who were ever submitted
	runner atomic.Pointer[batch.Runner]
}

func soak(t *testing.T, k kind, b backend, seed uint64) {
	t.Helper()
	k.sandbox.Seed = seed
	k.sandbox.Latency, k.sandbox.Jitter = 5*time.Millisecond, 30*time.Millisecond
	k.sandbox.Faults = faults("reset=0.04,503-no-hint=0.03,truncate=0.03,500-after-commit=0.03,reset-before-commit=0.03,timeout=0.01,timeout-before-commit=0.01")
	if len(k.sandbox.ItemFaults) == 0 {
		k.sandbox.ItemFaults = itemFaults("503=0.05,422=0.02,missing=0.02,doubled=0.01")
	}
	k.sandbox.MaxFaultsPerLine = 3
	if seed%2 == 0 {
		k.profile += "corrections: replace\n"
	}
	d := &drama{world: newWorld(t, k, b), dice: rand.New(rand.NewPCG(seed, 1))}
	d.submitSome()
	d.submitSome()
	for range 6 {
		l := &life{w: d.world, point: pick(d, points), nth: int64(2 + d.n(12))}
		l.wrap = func(s batch.Store) batch.Store { return flakyStore(s, rand.New(rand.NewPCG(seed, d.fresh())), 0.04) }
		l.ready = func(r *batch.Runner, _ *batch.Link) { d.runner.Store(r) }
		if d.n(3) == 0 {
			l.do = d.act // a person acts at the very point
		}
		d.season(l)
	}
	d.finale()
}

func (d *drama) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dice.IntN(n)
}

func (d *drama) fresh() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dice.Uint64()
}

func pick[T any](d *drama, from []T) T { return from[d.n(len(from))] }

// season is one life, with people acting while it lasts.
func (d *drama) season(l *life) {
	d.Helper()
	soft, stop := context.WithTimeout(d.Context(), time.Duration(500+d.n(1000))*time.Millisecond)
	defer stop()
	var acting sync.WaitGroup
	acting.Go(func() {
		for range 12 {
			select {
			case <-soft.Done():
				return
			case <-time.After(time.Duration(10+d.n(80)) * time.Millisecond):
			}
			d.act()
			if r := d.runner.Load(); r != nil {
				r.Wake()
			}
		}
	})
	d.liveUntil(soft, l)
	stop()
	acting.Wait()
}

// act is something that a person does. A refusal is as good as a success; what
// must not happen is judged at the end.
func (d *drama) act() {
	switch d.n(6) {
	case 0, 1:
		d.submitSome()
	case 2:
		tokens, _, err := d.store.Batches(d.Context(), tenant, store.Page{Limit: 100})
		d.expect(err)
		if len(tokens) > 0 && d.n(3) == 0 {
			_, err = d.store.Cancel(d.Context(), tenant, pick(d, tokens).Batch.Key(), "soak", d.now())
			d.expect(err)
		}
	default:
		d.letter()
	}
}

// submitSome stores a pay run of new and known people, some as a new version.
func (d *drama) submitSome() {
	d.mu.Lock()
	d.groups++
	group, version := d.groups, int32(1+d.dice.IntN(5)/4)
	var employees []string
	seen := map[string]bool{}
	for i := range 20 + d.dice.IntN(40) {
		e := fmt.Sprintf("E-%d-%d", group, i)
		if len(d.crowd) > 0 && d.dice.IntN(2) == 0 {
			e = d.crowd[d.dice.IntN(len(d.crowd))]
		}
		if !seen[e] {
			seen[e] = true
			employees = append(employees, e)
		}
	}
	d.crowd = append(d.crowd, employees...)
	s := d.submission(employees, version)
	s.Rows, s.Corrections = samePay(s.Rows), d.profile.Corrections
	cutoff := d.dice.IntN(4)
	d.mu.Unlock()
	if cutoff == 0 {
		s.Batch.CutoffAt = d.now().Add(time.Duration(1+cutoff) * time.Second)
	}
	_, err := d.store.Accept(d.Context(), s)
	d.expect(err)
}

// letter does something about a dead letter.
func (d *drama) letter() {
	letters, _, err := d.store.Letters(d.Context(), store.LetterFilter{Tenant: tenant, Status: store.LetterOpen}, store.Page{Limit: 200})
	d.expect(err)
	if len(letters) == 0 {
		return
	}
	id := pick(d, letters).ID
	switch d.n(4) {
	case 0:
		_, err = d.desk().Replay(d.Context(), tenant, id, batch.ReplayOrder{Actor: "soak"})
	case 1:
		_, err = d.desk().Replay(d.Context(), tenant, id, batch.ReplayOrder{Actor: "soak", CutoffAt: d.now().Add(time.Hour)})
	case 2:
		err = d.writeOff(id)
	default:
		err = d.attest(id)
	}
	d.expect(err)
}

// truth is what the vendor's own journal says about a letter's line, once
// nothing of it can arrive any more.
func (d *drama) truth(id uuid.UUID) (l store.Letter, paid, quiet bool) {
	l, err := d.store.Letter(d.Context(), tenant, id)
	if err != nil || l.Standing == nil {
		return l, false, false
	}
	if t := l.Standing.Trouble; t != nil && d.now().Before(t.QuietAt) {
		return l, false, false
	}
	journal, err := sandbox.ReadJournal(d.journal)
	d.expect(err)
	for _, e := range journal.Effects {
		if e.EmployeeID == l.EmployeeID && e.LineVersion == int64(l.Standing.Line.Version) {
			return l, true, true
		}
	}
	return l, false, true
}

// writeOff closes a letter of a line that was not paid.
func (d *drama) writeOff(id uuid.UUID) error {
	if _, paid, quiet := d.truth(id); paid || !quiet {
		return nil
	}
	return d.desk().Close(d.Context(), tenant, id, batch.CloseOrder{Actor: "soak", As: payroll.WrittenOff})
}

// attest says the truth about a line that may have been paid.
func (d *drama) attest(id uuid.UUID) error {
	l, paid, quiet := d.truth(id)
	switch {
	case !quiet || l.Reason != payroll.OutcomeUnknown:
		return nil
	case paid:
		return d.desk().Close(d.Context(), tenant, id, batch.CloseOrder{Actor: "soak", AttestPaid: "the journal"})
	}
	_, err := d.desk().Replay(d.Context(), tenant, id, batch.ReplayOrder{Actor: "soak", AttestNotPaid: "the journal", CutoffAt: d.now().Add(time.Hour)})
	return err
}

// expect lets refusals pass, which are answers, and nothing else.
func (d *drama) expect(err error) {
	if err == nil || batch.Refused(err) || errors.Is(err, batch.ErrVersionOpen) || d.Context().Err() != nil {
		return
	}
	d.Errorf("a person was answered: %v", err)
}

// finale: the ledger works, people say what they know, gates are released, and
// everything comes to rest; then the vendor's journal judges.
func (d *drama) finale() {
	d.Helper()
	soft, stop := context.WithTimeout(d.Context(), 100*time.Second)
	defer stop()
	var gate atomic.Pointer[ratelimit.Gate]
	last := &life{w: d.world, ready: func(r *batch.Runner, l *batch.Link) {
		gate.Store(l.Limits.Gate())
		d.runner.Store(r)
	}}
	var people sync.WaitGroup
	people.Go(func() {
		defer stop()
		for soft.Err() == nil && !d.resting() {
			<-time.After(100 * time.Millisecond)
			d.tidy(gate.Load())
		}
	})
	for soft.Err() == nil {
		d.liveUntil(soft, last)
		d.tidy(gate.Load())
		if d.resting() {
			break
		}
	}
	stop()
	people.Wait()
	d.verdict()
}

// tidy does what is left for people to do.
func (d *drama) tidy(gate *ratelimit.Gate) {
	if gate != nil {
		gate.Report(ratelimit.Release())
	}
	letters, _, err := d.store.Letters(d.Context(), store.LetterFilter{Tenant: tenant, Status: store.LetterOpen, Reason: payroll.OutcomeUnknown}, store.Page{Limit: 1000})
	d.expect(err)
	for _, l := range letters {
		d.expect(d.attest(l.ID))
	}
	d.runner.Load().Wake()
}

// resting: every batch is complete, and no letter asks whether a line was paid.
func (d *drama) resting() bool {
	tokens, _, err := d.store.Batches(d.Context(), tenant, store.Page{Limit: 1000})
	d.expect(err)
	for _, t := range tokens {
		if !t.Complete() {
			return false
		}
	}
	asked, err := d.store.CountLetters(d.Context(), store.LetterFilter{Tenant: tenant, Status: store.LetterOpen, Reason: payroll.OutcomeUnknown})
	d.expect(err)
	return asked == 0
}

// verdict compares the vendor's journal with the ledger, payment by payment:
// the items of one payment in several batches are one line of it.
func (d *drama) verdict() {
	d.Helper()
	lines := map[string]sandbox.LedgerLine{}
	earlier := map[string]bool{}
	tokens, _, err := d.store.Batches(d.Context(), tenant, store.Page{Limit: 1000})
	d.must(err)
	var sum payroll.Counts
	for _, t := range tokens {
		for s, n := range t.Counts {
			sum[s] += n
		}
		if !t.Complete() {
			d.Errorf("batch %d is not at rest: %v, %v", t.Batch.ID, t.State, t.Counts)
		}
		d.addUp(t, lines, earlier)
	}
	if d.Failed() {
		d.describe()
	}
	for key := range earlier {
		if lines[key].State != payroll.Settled.String() {
			d.Errorf("paid by an earlier batch, and no batch has paid it: %s", lines[key].State)
		}
	}
	journal, err := sandbox.ReadJournal(d.journal)
	d.must(err)
	d.checkRequests(journal.Requests)
	d.Logf("%d batches, %d requests, %d effects, items %v", len(tokens), len(journal.Requests), len(journal.Effects), sum)
	for _, f := range sandbox.Reconcile(journal.Effects, maps.Values(lines)).Findings {
		d.Errorf("%s: %s %+v %s", f.Invariant, f.Kind, f.Payment, f.Detail)
	}
}

// addUp checks a batch's counts and amounts against its lines, and collects these.
func (d *drama) addUp(t store.Token, lines map[string]sandbox.LedgerLine, earlier map[string]bool) {
	d.Helper()
	var counts payroll.Counts
	var paid payroll.Minor
	items, next, err := d.store.Lines(d.Context(), t.Batch.ID, 0, store.Page{Limit: 1000})
	d.must(err)
	if next != "" {
		d.Fatal("a batch of the soak has more than a page of lines")
	}
	for _, v := range items {
		counts[v.State]++
		l := ledgerLine(v)
		if v.State == payroll.Settled {
			paid += v.Line.Amount
		}
		if v.SettledAs == payroll.EarlierBatch {
			earlier[l.Key] = true
		} else if old, known := lines[l.Key]; !known || weight(l) > weight(old) {
			lines[l.Key] = l
		}
	}
	counts[payroll.DeadLettered] += int64(t.Batch.Total) - int64(len(items)) // refused rows have no line
	if counts != t.Counts {
		d.Errorf("batch %d counts %v, its lines %v", t.Batch.ID, t.Counts, counts)
	}
	full, err := d.store.Batch(d.Context(), tenant, t.Batch.Key())
	d.must(err)
	if a := full.Amounts["USD"]; a.Settled != paid || a.Open() != 0 {
		d.Errorf("batch %d says that %d were settled and %d are open, its lines that %d were", t.Batch.ID, a.Settled, a.Open(), paid)
	}
}

// weight orders the items of one payment by what they say of it.
func weight(l sandbox.LedgerLine) int {
	switch {
	case l.State == payroll.Settled.String():
		return 2
	case l.ReasonCode == payroll.OutcomeUnknown.String():
		return 1
	default:
		return 0
	}
}

// samePay gives an employee the same pay in every batch, and another in every version.
func samePay(rows func() iter.Seq2[store.Row, error]) func() iter.Seq2[store.Row, error] {
	return func() iter.Seq2[store.Row, error] {
		return func(yield func(store.Row, error) bool) {
			for r, err := range rows() {
				sum := payroll.HashBytes([]byte(r.Line.EmployeeID))
				r.Line.Amount = payroll.Minor(100_00 + int(sum[0]) + 1000*int(r.Line.Version))
				r.Line.Hash = payroll.RequestHash(r.Line.Currency, r.Line.Amount, nil)
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// describe shows what is not at rest.
func (d *drama) describe() {
	d.Helper()
	for _, t := range d.batches() {
		if t.Complete() {
			continue
		}
		lines, _, err := d.store.Lines(d.Context(), t.Batch.ID, 0, store.Page{Limit: 1000})
		d.must(err)
		for _, v := range lines {
			if !v.State.AtRest() {
				d.Logf("batch %d from %d, cancelled from %d: line %d version %d %v %+v", t.Batch.ID, t.NextOrdinal, t.CancelledFrom, v.Line.Ordinal, v.Line.Version, v.State, v.Trouble)
			}
		}
	}
}
