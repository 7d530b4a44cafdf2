package storetest

import (
	"fmt"
	"slices"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// mustAddUp is the accountant: after every step it recounts every batch from
// its lines, and compares. Counts and amounts are kept, not counted, so nothing
// else would notice when they drift. Huge batches are left to mustAddUpAtLast.
func (f *fixture) mustAddUp() {
	f.Helper()
	f.recountThose(func(b *batch) bool { return len(b.draft.rows) < huge })
}

// mustAddUpAtLast recounts huge batches too: once, at the end of their case.
func (f *fixture) mustAddUpAtLast() {
	f.Helper()
	f.recountThose(func(*batch) bool { return true })
}

// huge is the number of items from which to recount after every step takes too long.
const huge = 10_000

func (f *fixture) recountThose(counted func(*batch) bool) {
	f.Helper()
	holders := map[string]string{}
	for _, b := range f.batches {
		if !counted(b) {
			continue
		}
		r := b.recount()
		moved := r.tok.Version != b.seen.Version
		r.token()
		if moved && len(b.draft.rows) < huge {
			r.lists()
		}
		r.attempts()
		r.letters()
		r.holders(holders)
	}
}

// recount is one batch as its lines show it.
type recount struct {
	b       *batch
	tok     store.Token
	lines   []store.LineView
	rejects []store.Letter // items without a line
}

func (b *batch) recount() recount {
	b.f.Helper()
	r := recount{b: b, tok: b.token(), lines: b.lines(0)}
	all := read[[]store.Letter](b.f)(b.f.store.Rejected(b.f.Context(), b.id, len(b.draft.rows)))
	if int(r.tok.Rejected) != len(all) {
		r.failf("%d rejected, %d are listed", r.tok.Rejected, len(all))
	}
	accepted := map[int32]bool{}
	for _, v := range r.lines {
		accepted[v.Line.Ordinal] = true
	}
	r.rejects = slices.DeleteFunc(all, func(l store.Letter) bool { return accepted[l.Ordinal] })
	return r
}

func (r recount) failf(format string, args ...any) {
	r.b.f.Helper()
	r.b.f.Fatalf("batch %s does not add up: %s", r.b.draft.batch.Group, fmt.Sprintf(format, args...))
}

// token compares what is kept with what the lines and rejected rows add up to.
func (r recount) token() {
	r.b.f.Helper()
	var counts payroll.Counts
	amounts := map[string]payroll.Amounts{}
	add := func(s payroll.State, as payroll.SettledAs, amount payroll.Minor, currency string) {
		counts[s]++
		if currency != "" {
			a := amounts[currency]
			a.Total += amount
			a.Move(s, as, amount)
			amounts[currency] = a
		}
	}
	for _, v := range r.lines {
		add(v.State, v.SettledAs, v.Line.Amount, v.Line.Currency)
	}
	for _, l := range r.rejects {
		add(payroll.DeadLettered, 0, l.Amount, l.Currency)
	}
	r.b.f.mustEqual("counts", r.tok.Counts, counts)
	r.b.f.mustEqual("amounts", r.tok.Amounts, amounts)
	if r.tok.Counts.Total() != int64(len(r.b.draft.rows)) || int(r.tok.Batch.Total) != len(r.b.draft.rows) {
		r.failf("%d counted of total %d; want %d", r.tok.Counts.Total(), r.tok.Batch.Total, len(r.b.draft.rows))
	}
	r.completion()
	r.progress()
}

// completion: complete, at rest and the end states of a batch are one thing.
func (r recount) completion() {
	r.b.f.Helper()
	ended := r.tok.State == store.Completed || r.tok.State == store.CancelledBatch
	if atRest := r.tok.Counts.AtRest(); r.tok.Complete() != atRest || ended != atRest {
		r.failf("state %v, completed at %v, counts %v", r.tok.State, r.tok.CompletedAt, r.tok.Counts)
	}
	if ended && (r.tok.State == store.CancelledBatch) != (r.tok.CancelledFrom > 0) {
		r.failf("state %v, cancelled from %d", r.tok.State, r.tok.CancelledFrom)
	}
}

// progress: fences never go back, and no change goes without a new version.
func (r recount) progress() {
	r.b.f.Helper()
	old, now := r.b.seen, r.tok
	if now.Epoch < old.Epoch || now.ChangeSeq < old.ChangeSeq || now.Version < old.Version || now.NextAttempt < old.NextAttempt {
		r.failf("a fence went back: epoch %d to %d, change_seq %d to %d, version %d to %d, next_attempt %d to %d",
			old.Epoch, now.Epoch, old.ChangeSeq, now.ChangeSeq, old.Version, now.Version, old.NextAttempt, now.NextAttempt)
	}
	changed := old.Counts != now.Counts || old.State != now.State || old.LastCursor != now.LastCursor || old.Epoch != now.Epoch
	if old.Batch.ID != 0 && changed && now.Version == old.Version {
		r.failf("it changed and its version did not: an ETag would lie")
	}
	r.b.seen = now
	for _, v := range r.lines {
		untouched := v.Trouble == nil && (v.State == payroll.Pending || v.State == payroll.InFlight)
		if untouched && v.Line.Ordinal <= now.LastCursor {
			r.failf("line %d is %v and untouched, last_cursor is %d", v.Line.Ordinal, v.State, now.LastCursor)
		}
		r.stateRule(v)
	}
}

// stateRule: where nothing is remembered and nothing ended, store.StateOf is all.
func (r recount) stateRule(v store.LineView) {
	r.b.f.Helper()
	if v.Trouble != nil || v.State.AtRest() && v.State != payroll.Cancelled {
		return
	}
	live := store.StateOf(r.tok, true, v.Line.Ordinal, 0, 0)
	follower := store.StateOf(r.tok, false, v.Line.Ordinal, 0, 0)
	if v.State != payroll.Cancelled && v.State != live && v.State != follower {
		r.failf("line %d is %v, the rule says %v, or %v for a follower", v.Line.Ordinal, v.State, live, follower)
	}
}

// lists: a list by state holds the lines of the whole list in that state.
func (r recount) lists() {
	r.b.f.Helper()
	want := map[payroll.State][]int32{}
	for _, v := range r.lines {
		want[v.State] = append(want[v.State], v.Line.Ordinal)
	}
	for _, s := range payroll.States {
		var got []int32
		for _, v := range r.b.lines(s) {
			got = append(got, v.Line.Ordinal)
		}
		if !slices.Equal(got, want[s]) {
			r.failf("lines listed as %v: %v, want %v", s, got, want[s])
		}
	}
}

// attempts: a line is in flight where, and only where, an open attempt took it.
func (r recount) attempts() {
	r.b.f.Helper()
	states, taken := r.states(), map[int32]int32{}
	for _, a := range r.b.openAttempts() {
		for _, o := range a.Ordinals {
			if taken[o] != 0 {
				r.failf("line %d is in the open attempts %d and %d", o, taken[o], a.No)
			}
			taken[o] = a.No
			if s := states[o]; a.Kind == payroll.Submit && s != payroll.InFlight && !s.AtRest() {
				r.failf("line %d is %v in the open attempt %d", o, s, a.No)
			}
		}
	}
	for _, v := range r.lines {
		if v.State == payroll.InFlight && taken[v.Line.Ordinal] == 0 {
			r.failf("line %d is in flight in no open attempt", v.Line.Ordinal)
		}
	}
}

func (r recount) states() map[int32]payroll.State {
	states := make(map[int32]payroll.State, len(r.lines))
	for _, v := range r.lines {
		states[v.Line.Ordinal] = v.State
	}
	return states
}

// letters: at most one is open for an item, and only while it is dead.
func (r recount) letters() {
	r.b.f.Helper()
	state, open, letters := r.states(), map[int32]int{}, map[int32]int{}
	listed := r.b.letters()
	for _, l := range listed {
		letters[l.Ordinal]++
		if l.Status != store.LetterOpen {
			continue
		}
		if open[l.Ordinal]++; open[l.Ordinal] > 1 {
			r.failf("item %d has two open dead letters", l.Ordinal)
		}
		if s := state[l.Ordinal]; s != 0 && s != payroll.DeadLettered {
			r.failf("line %d is %v and has an open dead letter", l.Ordinal, s)
		}
	}
	for _, l := range r.rejects {
		if letters[l.Ordinal] != 1 {
			r.failf("the refused item %d has %d dead letters", l.Ordinal, letters[l.Ordinal])
		}
	}
	n := read[int](r.b.f)(r.b.f.store.CountLetters(r.b.f.Context(), store.LetterFilter{Tenant: r.b.tenant(), BatchKey: r.b.key()}))
	same(r.b.f, "counted dead letters", n, len(listed))
}

// holders: of all items of a key one at most may be sent, or has been sent and
// is not at rest. Two would be two payments.
func (r recount) holders(holders map[string]string) {
	r.b.f.Helper()
	sendable := map[int32]bool{}
	if r.tok.CancelledFrom == 0 {
		for _, l := range r.b.fresh(len(r.b.draft.rows)) {
			sendable[l.Ordinal] = true
		}
	}
	for _, v := range r.lines {
		waits := v.Trouble != nil && v.Trouble.BlockedBy.IsZero() && !v.State.AtRest()
		if !sendable[v.Line.Ordinal] && !waits && v.State != payroll.InFlight {
			continue
		}
		key := payroll.LineKey(v.Tenant, v.PayPeriod, v.Line.Key)
		place := fmt.Sprintf("%s line %d", v.BatchKey, v.Line.Ordinal)
		if other, taken := holders[key]; taken {
			r.failf("two items of one key may be sent: %s and %s", other, place)
		}
		holders[key] = place
	}
}
