package storetest

import (
	"context"
	"fmt"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// batch is an accepted submission and what can be asked about it.
type batch struct {
	f       *fixture
	draft   draft
	receipt store.Receipt
	id      int64
	seen    store.Token // as the accountant last saw it
}

// submit has rows accepted in a run of their own.
func (f *fixture) submit(rows ...row) *batch {
	f.Helper()
	return f.accept(f.draft(rows...))
}

func (f *fixture) accept(d draft) *batch {
	f.Helper()
	b, err := f.tryAccept(d)
	f.must(err)
	return b
}

// tryAccept submits and, where something new was stored, keeps an eye on it.
func (f *fixture) tryAccept(d draft) (*batch, error) {
	f.Helper()
	r, err := f.store.Accept(f.Context(), d.submission(f.now))
	if err != nil {
		f.mustAddUp()
		return nil, err
	}
	b := &batch{f: f, draft: d, receipt: r, id: r.BatchID}
	if !r.Replayed {
		f.batches = append(f.batches, b)
	}
	f.mustAddUp()
	return b, nil
}

func (b *batch) key() string { return b.draft.batch.Key() }

func (b *batch) tenant() string { return b.draft.batch.Tenant }

// item is a row of the draft as it was submitted.
func (b *batch) item(ordinal int32) store.Row {
	return b.draft.rows[ordinal-1].item(b.draft.batch, ordinal)
}

// lineKey is the key of the line at an ordinal, spelled out.
func (b *batch) lineKey(ordinal int32) string {
	return payroll.LineKey(b.tenant(), b.draft.batch.PayPeriod, b.item(ordinal).Line.Key)
}

// keyOf is the line key of an item.
func (f *fixture) keyOf(r payroll.LineRef) string {
	f.Helper()
	for _, b := range f.batches {
		if b.id == r.Batch {
			return b.lineKey(r.Ordinal)
		}
	}
	f.Fatalf("no batch %d was submitted", r.Batch)
	return ""
}

func (b *batch) ref(ordinal int32) payroll.LineRef {
	return payroll.LineRef{Batch: b.id, Ordinal: ordinal}
}

func (b *batch) token() store.Token {
	b.f.Helper()
	return read[store.Token](b.f)(b.f.store.Batch(b.f.Context(), b.tenant(), b.key()))
}

// lines are the batch's lines in a state, all pages; 0 = every state.
func (b *batch) lines(s payroll.State) []store.LineView {
	b.f.Helper()
	return pages(b.f, 1000, func(ctx context.Context, p store.Page) ([]store.LineView, string, error) {
		return b.f.store.Lines(ctx, b.id, s, p)
	})
}

func (b *batch) line(ordinal int32) store.LineView {
	b.f.Helper()
	for _, v := range b.lines(0) {
		if v.Line.Ordinal == ordinal {
			return v
		}
	}
	b.f.Fatalf("the batch has no line %d", ordinal)
	return store.LineView{}
}

// trouble is what is remembered of a line, which must be something.
func (b *batch) trouble(ordinal int32) payroll.Trouble {
	b.f.Helper()
	v := b.line(ordinal)
	if v.Trouble == nil {
		b.f.Fatalf("nothing is remembered of line %d, which is %v", ordinal, v.State)
	}
	return *v.Trouble
}

// stands fails unless the lines, in order, are in these states; the last one
// named holds for the rest.
func (b *batch) stands(want ...payroll.State) {
	b.f.Helper()
	for i, v := range b.lines(0) {
		w := want[min(i, len(want)-1)]
		if v.State != w {
			b.f.Fatalf("line %d is %v, want %v", v.Line.Ordinal, v.State, w)
		}
	}
}

func (b *batch) openAttempts() []store.Attempt {
	b.f.Helper()
	return read[[]store.Attempt](b.f)(b.f.store.OpenAttempts(b.f.Context(), b.id))
}

// due are the lines whose next step may be taken now.
func (b *batch) due() []store.Due {
	b.f.Helper()
	return read[[]store.Due](b.f)(b.f.store.Due(b.f.Context(), b.id, b.f.now, 100_000))
}

// fresh are the lines that nothing happened to, up to n, as a request needs them.
func (b *batch) fresh(n int) []payroll.Line {
	b.f.Helper()
	lines := read[[]payroll.Line](b.f)(b.f.store.ReadAhead(b.f.Context(), b.id, b.token().NextOrdinal, n))
	for i := range lines {
		lines[i] = asRequested(lines[i])
	}
	return lines
}

// asRequested is a line without what no request needs: a read-ahead may leave it out.
func asRequested(l payroll.Line) payroll.Line {
	l.Hash, l.AnyVersion, l.Metadata = payroll.Hash{}, payroll.Digest{}, nil
	return l
}

// sendable is how many lines may be sent now, fresh ones and others.
func (b *batch) sendable() int {
	b.f.Helper()
	return len(b.fresh(100_000)) + len(b.due())
}

func (b *batch) blocked() []store.Blocked {
	b.f.Helper()
	return read[[]store.Blocked](b.f)(b.f.store.Blocked(b.f.Context(), b.id, 0, 100_000))
}

// letters are the batch's dead letters as a list shows them.
func (b *batch) letters() []store.Letter {
	b.f.Helper()
	return b.f.letters(store.LetterFilter{Tenant: b.tenant(), BatchKey: b.key()}, 1000)
}

// letter is the newest dead letter of an item, read whole.
func (b *batch) letter(ordinal int32) store.Letter {
	b.f.Helper()
	var newest store.Letter
	for _, l := range b.fullLetters() {
		if l.Ordinal == ordinal && !l.DeadLetteredAt.Before(newest.DeadLetteredAt) {
			newest = l
		}
	}
	if newest.Ordinal == 0 {
		b.f.Fatalf("item %d has no dead letter", ordinal)
	}
	return newest
}

func (b *batch) fullLetters() []store.Letter {
	b.f.Helper()
	all := b.letters()
	for i, l := range all {
		all[i] = read[store.Letter](b.f)(b.f.store.Letter(b.f.Context(), b.tenant(), l.ID))
	}
	return all
}

func (f *fixture) letters(filter store.LetterFilter, limit int) []store.Letter {
	f.Helper()
	return pages(f, limit, func(ctx context.Context, p store.Page) ([]store.Letter, string, error) {
		return f.store.Letters(ctx, filter, p)
	})
}

// cancel cancels the batch.
func (b *batch) cancel() store.Token {
	b.f.Helper()
	t := read[store.Token](b.f)(b.f.store.Cancel(b.f.Context(), b.tenant(), b.key(), "hr-key", b.f.now))
	b.f.mustAddUp()
	return t
}

// amendment prepares a person's decision about lines, one change for each.
func (b *batch) amendment(action string, decide func(payroll.Standing) payroll.Change, ordinals ...int32) store.Amendment {
	return store.Amendment{
		BatchID: b.id, Ordinals: ordinals, Actor: "operator-key", Action: action, Detail: "ticket 7", Now: b.f.now,
		Decide: func(standings []payroll.Standing) ([]payroll.Change, error) {
			if len(standings) != len(ordinals) {
				return nil, fmt.Errorf("asked about %d lines, want %d", len(standings), len(ordinals))
			}
			changes := make([]payroll.Change, len(standings))
			for i, s := range standings {
				changes[i] = decide(s)
			}
			return changes, nil
		},
	}
}

func (b *batch) amend(action string, decide func(payroll.Standing) payroll.Change, ordinals ...int32) store.Applied {
	b.f.Helper()
	applied := read[store.Applied](b.f)(b.f.store.Amend(b.f.Context(), b.amendment(action, decide, ordinals...)))
	b.f.mustAddUp()
	return applied
}

// replay puts dead letters back to work.
func (b *batch) replay(ordinals ...int32) store.Applied {
	b.f.Helper()
	return b.amend("replay", backToWork(b.f.now), ordinals...)
}

// backToWork is the change that a replay makes: the same key, fresh budgets.
func backToWork(now time.Time) func(payroll.Standing) payroll.Change {
	return func(s payroll.Standing) payroll.Change {
		t := payroll.Trouble{Generation: 1}
		if s.Trouble != nil {
			t = *s.Trouble
		}
		t.Used, t.DueAt, t.AttemptNo = [payroll.RetryClasses]int{}, now, 0
		return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Replayed, Trouble: &t}
	}
}

// attestPaid is the change of an operator who found the payment at the vendor.
func attestPaid(s payroll.Standing) payroll.Change {
	return payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Paid, Settled: payroll.Settlement{As: payroll.Attested, Reference: "bank statement 12"}}
}

// closing is the change that closes a dead letter and leaves the line dead.
func closing(as payroll.CloseReason) func(payroll.Standing) payroll.Change {
	return func(s payroll.Standing) payroll.Change {
		return payroll.Change{Ordinal: s.Line.Ordinal, Trouble: s.Trouble, Close: as}
	}
}
