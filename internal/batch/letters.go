package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
)

// Refusals of what a person asks for a dead letter.
var (
	// ErrNotReplayable: the record cannot be put back to work as it is.
	ErrNotReplayable = errors.New("this dead letter cannot be replayed")
	// ErrAttestationRequired: the line may have been paid and the vendor
	// cannot be asked: a person must say that it was not.
	ErrAttestationRequired = errors.New("the line may have been paid: attest that it was not")
	// ErrSuperseded: a newer version of the payment exists.
	ErrSuperseded = errors.New("a newer version of this payment exists")
	// ErrCutoffPassed: the cut-off lies behind; give a new one.
	ErrCutoffPassed = errors.New("the cut-off has passed: give a new cutoff_at")
	// ErrAlreadyClosed: nothing of the record is open.
	ErrAlreadyClosed = errors.New("this dead letter is not open")
	// ErrVersionOpen: another version of the payment is on its way.
	ErrVersionOpen = errors.New("another version of this payment is open")
)

// NotQuietYetError: a request of the line may still arrive at the vendor.
type NotQuietYetError struct{ Until time.Time }

func (e *NotQuietYetError) Error() string {
	return "a request of this line may still arrive until " + e.Until.UTC().Format(time.RFC3339)
}

// LetterStore is what dead letters need of the ledger.
type LetterStore interface {
	Letter(ctx context.Context, tenant string, id uuid.UUID) (store.Letter, error)
	EmployeeLines(ctx context.Context, tenant, payPeriod, employee string, p store.Page) ([]store.LineView, string, error)
	Amend(ctx context.Context, a store.Amendment) (store.Applied, error)
	CloseReject(ctx context.Context, tenant string, id uuid.UUID, as payroll.CloseReason, note store.CloseNote, actor string, now time.Time) error
}

// Terms are what a vendor's profile says today about a line.
type Terms struct {
	Policy retry.Policy
	Cap    payroll.Cap
}

// Letters is what people do to dead letters: replay and close, under the guard
// that a line which may have been paid never goes out again unasked.
type Letters struct {
	Store LetterStore
	Terms func(vendor string) (Terms, bool) // false: the vendor has no profile any more
	Now   func() time.Time
	Wake  func(payroll.Unit)
}

// ReplayOrder is one replay.
type ReplayOrder struct {
	Actor         string
	AttestNotPaid string    // evidence; "" = no attestation
	CutoffAt      time.Time // new cut-off; zero = keeps its own
	RootCause     string
}

// Replayed says what a replay did.
type Replayed int

// The results of a replay.
const (
	ReplayTaken    Replayed = iota + 1 // the line is back at work, or was already
	ReplayLookUp                       // the vendor is asked first
	ReplayResolved                     // it ended without another send: its batch is cancelled, or a newer version exists
	ReplaySettled                      // the line settled meanwhile: nothing was done
)

// Replay puts a dead letter's line back to work, under the same key, with its
// budgets reset.
func (l *Letters) Replay(ctx context.Context, tenant string, id uuid.UUID, o ReplayOrder) (Replayed, error) {
	letter, err := l.Store.Letter(ctx, tenant, id)
	if err != nil {
		return 0, err
	}
	if letter.Standing == nil {
		return 0, fmt.Errorf("%w: the row was refused at intake; submit it corrected", ErrNotReplayable)
	}
	terms, ok := l.Terms(letter.Vendor)
	if !ok {
		return 0, fmt.Errorf("%w: its vendor is not configured", ErrNotReplayable)
	}
	var done Replayed
	_, err = l.Store.Amend(ctx, store.Amendment{
		BatchID: letter.BatchID, Ordinals: []int32{letter.Ordinal}, Actor: o.Actor, Action: "replay",
		Detail: o.AttestNotPaid, Close: &store.CloseNote{Note: o.AttestNotPaid, RootCause: o.RootCause}, Now: l.Now(),
		Decide: func(standings []payroll.Standing) ([]payroll.Change, error) {
			if len(standings) != 1 {
				return nil, ErrNotReplayable
			}
			c, result, err := replay(standings[0], terms, o, l.Now())
			done = result
			if err != nil || c == nil {
				return nil, err
			}
			return []payroll.Change{*c}, nil
		},
	})
	if err != nil {
		return 0, err
	}
	l.Wake(payroll.Unit{Tenant: letter.Tenant, PayPeriod: letter.PayPeriod, Vendor: letter.Vendor})
	return done, nil
}

// replay is the replay guard: pure. A nil change does nothing.
func replay(s payroll.Standing, terms Terms, o ReplayOrder, now time.Time) (*payroll.Change, Replayed, error) {
	switch {
	case s.State == payroll.Settled:
		return nil, ReplaySettled, nil
	case s.State == payroll.Superseded:
		return nil, 0, ErrSuperseded
	case !s.State.AtRest():
		return nil, ReplayTaken, nil
	case s.State != payroll.DeadLettered || s.LetterClosed != "" || !s.Reason.Replayable():
		return nil, 0, ErrNotReplayable
	}
	t := remembered(s)
	t.Used, t.AttemptNo, t.MaxChunk, t.Family, t.DueAt = [payroll.RetryClasses]int{}, 0, 0, 0, now
	if t.Ambiguous {
		return replayOpen(s, t, terms, o, now)
	}
	switch {
	case s.Superseded:
		return nil, 0, ErrSuperseded
	case s.Cancelled:
		return nil, 0, fmt.Errorf("%w: its batch was cancelled; submit the line again", ErrNotReplayable)
	case s.Reason == payroll.StatutoryCapBreach && !terms.Cap.Allows(s.Line.Amount, s.Line.Currency):
		return nil, 0, fmt.Errorf("%w: its amount is outside the vendor's limits", ErrNotReplayable)
	}
	if err := renewCutoff(s, &t, o, now); err != nil {
		return nil, 0, err
	}
	if s.Reason == payroll.VendorRejected && terms.Policy.StoresAll {
		t = terms.Policy.Renew(t)
	}
	return &payroll.Change{Ordinal: s.Line.Ordinal, Event: payroll.Replayed, Trouble: &t}, ReplayTaken, nil
}

// replayOpen is the replay of a line that may have been paid: the vendor is
// asked, or else a person's word closes its attempts once they are quiet.
func replayOpen(s payroll.Standing, t payroll.Trouble, terms Terms, o ReplayOrder, now time.Time) (*payroll.Change, Replayed, error) {
	c := &payroll.Change{Ordinal: s.Line.Ordinal, Trouble: &t}
	if o.AttestNotPaid == "" {
		if !terms.Policy.LookUp {
			return nil, 0, ErrAttestationRequired
		}
		if !o.CutoffAt.IsZero() {
			t.CutoffAt = o.CutoffAt
		}
		t.LookUpNext, t.LookedUp = true, 0
		c.Event = payroll.Reopened
		return c, ReplayLookUp, nil
	}
	if now.Before(t.QuietAt) {
		return nil, 0, &NotQuietYetError{Until: t.QuietAt}
	}
	t.Ambiguous, t.QuietAt, t.LookUpNext, t.Conflicted, t.FrozenWith, t.LookedUp = false, time.Time{}, false, false, 0, 0
	switch {
	case s.Superseded:
		c.Event = payroll.Replaced
		return c, ReplayResolved, nil
	case s.Cancelled:
		c.Event = payroll.Withdrawn
		return c, ReplayResolved, nil
	}
	if err := renewCutoff(s, &t, o, now); err != nil {
		return nil, 0, err
	}
	c.Event = payroll.Replayed
	return c, ReplayTaken, nil
}

func renewCutoff(s payroll.Standing, t *payroll.Trouble, o ReplayOrder, now time.Time) error {
	cutoff := s.CutoffAt
	if !o.CutoffAt.IsZero() {
		cutoff, t.CutoffAt = o.CutoffAt, o.CutoffAt
	}
	if !cutoff.IsZero() && !now.Before(cutoff) {
		return ErrCutoffPassed
	}
	return nil
}

func remembered(s payroll.Standing) payroll.Trouble {
	if s.Trouble != nil {
		return *s.Trouble
	}
	return payroll.Trouble{Generation: 1}
}

// CloseOrder closes a dead letter without a send: As, or AttestPaid.
type CloseOrder struct {
	Actor      string
	As         payroll.CloseReason
	AttestPaid string // evidence that the vendor paid it: the line is settled
	Note       string
	RootCause  string
}

// record is what is kept of the order: the person's words, and the evidence of
// an attestation behind them.
func (o CloseOrder) record() store.CloseNote {
	n := store.CloseNote{Note: o.Note, RootCause: o.RootCause}
	if o.AttestPaid != "" {
		n.Note = strings.TrimPrefix(o.Note+"; evidence: "+o.AttestPaid, "; ")
	}
	return n
}

// Close takes a dead letter off the people's table.
func (l *Letters) Close(ctx context.Context, tenant string, id uuid.UUID, o CloseOrder) error {
	letter, err := l.Store.Letter(ctx, tenant, id)
	if err != nil {
		return err
	}
	note := o.record()
	if letter.Standing == nil {
		if o.AttestPaid != "" {
			return fmt.Errorf("%w: no line of it was ever accepted, so none can have been paid by us", ErrNotReplayable)
		}
		if letter.Status != store.LetterOpen {
			return ErrAlreadyClosed
		}
		return l.Store.CloseReject(ctx, tenant, id, o.As, note, o.Actor, l.Now())
	}
	if o.As == payroll.PaidOutside {
		if err := l.refuseOtherVersion(ctx, letter); err != nil {
			return err
		}
	}
	action := "close"
	if o.AttestPaid != "" {
		action = "attest_paid"
	}
	_, err = l.Store.Amend(ctx, store.Amendment{
		BatchID: letter.BatchID, Ordinals: []int32{letter.Ordinal}, Actor: o.Actor, Action: action,
		Detail: note.Note, Close: &note, Now: l.Now(),
		Decide: func(standings []payroll.Standing) ([]payroll.Change, error) {
			if len(standings) != 1 {
				return nil, ErrAlreadyClosed
			}
			c, err := closeLetter(standings[0], o, l.Now())
			return []payroll.Change{c}, err
		},
	})
	if err == nil {
		l.Wake(payroll.Unit{Tenant: letter.Tenant, PayPeriod: letter.PayPeriod, Vendor: letter.Vendor})
	}
	return err
}

// closeLetter decides a close: pure. Attesting and closing wait until nothing
// of the line can still arrive.
func closeLetter(s payroll.Standing, o CloseOrder, now time.Time) (payroll.Change, error) {
	c := payroll.Change{Ordinal: s.Line.Ordinal, Trouble: s.Trouble, Close: o.As}
	switch {
	case s.State != payroll.DeadLettered || s.LetterClosed != "":
		return c, ErrAlreadyClosed
	case s.Trouble != nil && s.Trouble.Ambiguous && now.Before(s.Trouble.QuietAt):
		return c, &NotQuietYetError{Until: s.Trouble.QuietAt}
	case o.AttestPaid != "":
		c.Event, c.Trouble, c.Settled = payroll.Paid, nil, payroll.Settlement{As: payroll.Attested}
	}
	return c, nil
}

// refuseOtherVersion: a payment outside stands for the whole payment, so no
// other version of it may be on its way, nor one that may have been paid be
// parked.
func (l *Letters) refuseOtherVersion(ctx context.Context, letter store.Letter) error {
	page := store.Page{Limit: pageSize}
	for {
		lines, next, err := l.Store.EmployeeLines(ctx, letter.Tenant, letter.PayPeriod, letter.EmployeeID, page)
		if err != nil {
			return err
		}
		for _, v := range lines {
			other := v.Line.Ref == letter.Standing.Line.Ref && v.Line.Version != letter.Standing.Line.Version
			if other && (!v.State.AtRest() || v.Trouble != nil && v.Trouble.Ambiguous) {
				return ErrVersionOpen
			}
		}
		if next == "" {
			return nil
		}
		page.After = next
	}
}
