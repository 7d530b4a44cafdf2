package batch

import (
	"errors"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

var noon = time.Date(2026, 7, 16, 12, 0, 0, 0, time.UTC)

func dead(reason payroll.Reason, t payroll.Trouble) payroll.Standing {
	t.Generation = 1
	return payroll.Standing{
		Line: payroll.Line{Ordinal: 3, Amount: 100_00, Currency: "USD"}, Live: true,
		State: payroll.DeadLettered, Reason: reason, Trouble: &t,
	}
}

func open(quiet time.Time) payroll.Trouble {
	return payroll.Trouble{Ambiguous: true, QuietAt: quiet, Used: [payroll.RetryClasses]int{6, 6, 20, 4, 20}}
}

func with(s payroll.Standing, change func(*payroll.Standing)) payroll.Standing {
	change(&s)
	return s
}

func TestReplayGuard(t *testing.T) {
	t.Parallel()
	asked := Terms{Policy: retry.Policy{LookUp: true}, Cap: payroll.DefaultCap()}
	blind := Terms{Cap: payroll.DefaultCap()}
	attested := ReplayOrder{AttestNotPaid: "bank statement"}
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	for _, c := range []struct {
		name  string
		s     payroll.Standing
		terms Terms
		order ReplayOrder
		want  payroll.Event // 0: nothing changes
		done  Replayed
		err   error
	}{
		{"a rejected line goes again", dead(payroll.VendorRejected, payroll.Trouble{}), blind, ReplayOrder{}, payroll.Replayed, ReplayTaken, nil},
		{"a line that settled meanwhile", with(dead(0, payroll.Trouble{}), func(s *payroll.Standing) { s.State = payroll.Settled }), blind, ReplayOrder{}, 0, ReplaySettled, nil},
		{"a line already at work", with(dead(0, payroll.Trouble{}), func(s *payroll.Standing) { s.State = payroll.Pending }), blind, ReplayOrder{}, 0, ReplayTaken, nil},
		{"open, and the vendor can be asked", dead(payroll.OutcomeUnknown, open(past)), asked, ReplayOrder{}, payroll.Reopened, ReplayLookUp, nil},
		{"open, whatever its reason says", dead(payroll.VendorRejected, open(past)), asked, ReplayOrder{}, payroll.Reopened, ReplayLookUp, nil},
		{"open, and nobody knows", dead(payroll.OutcomeUnknown, open(past)), blind, ReplayOrder{}, 0, 0, ErrAttestationRequired},
		{"open and attested", dead(payroll.OutcomeUnknown, open(past)), blind, attested, payroll.Replayed, ReplayTaken, nil},
		{"attested while a request may arrive", dead(payroll.OutcomeUnknown, open(future)), blind, attested, 0, 0, &NotQuietYetError{Until: future}},
		{"attested, a newer version exists", with(dead(payroll.OutcomeUnknown, open(past)), func(s *payroll.Standing) { s.Superseded = true }), blind, attested, payroll.Replaced, ReplayResolved, nil},
		{"attested, its batch is cancelled", with(dead(payroll.OutcomeUnknown, open(past)), func(s *payroll.Standing) { s.Cancelled = true }), blind, attested, payroll.Withdrawn, ReplayResolved, nil},
		{"a newer version exists", with(dead(payroll.VendorRejected, payroll.Trouble{}), func(s *payroll.Standing) { s.Superseded = true }), blind, ReplayOrder{}, 0, 0, ErrSuperseded},
		{"its batch is cancelled", with(dead(payroll.VendorRejected, payroll.Trouble{}), func(s *payroll.Standing) { s.Cancelled = true }), blind, ReplayOrder{}, 0, 0, ErrNotReplayable},
		{"its letter is closed", with(dead(payroll.VendorRejected, payroll.Trouble{}), func(s *payroll.Standing) { s.LetterClosed = payroll.PaidOutside }), blind, ReplayOrder{}, 0, 0, ErrNotReplayable},
		{"a row that was refused", dead(payroll.DuplicateNaturalKey, payroll.Trouble{}), blind, ReplayOrder{}, 0, 0, ErrNotReplayable},
		{"the cut-off has passed", with(dead(payroll.CutoffPassed, payroll.Trouble{}), func(s *payroll.Standing) { s.CutoffAt = past }), blind, ReplayOrder{}, 0, 0, ErrCutoffPassed},
		{"a new cut-off", with(dead(payroll.CutoffPassed, payroll.Trouble{}), func(s *payroll.Standing) { s.CutoffAt = past }), blind, ReplayOrder{CutoffAt: future}, payroll.Replayed, ReplayTaken, nil},
		{"above the cap still", with(dead(payroll.StatutoryCapBreach, payroll.Trouble{}), func(s *payroll.Standing) { s.Line.Amount = 1_000_000_00 }), blind, ReplayOrder{}, 0, 0, ErrNotReplayable},
		{"within today's cap", dead(payroll.StatutoryCapBreach, payroll.Trouble{}), blind, ReplayOrder{}, payroll.Replayed, ReplayTaken, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			change, done, err := replay(c.s, c.terms, c.order, noon)
			if !sameError(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if done != c.done {
				t.Errorf("result %d, want %d", done, c.done)
			}
			switch {
			case c.want == 0 && change != nil:
				t.Errorf("it changed: %v", change.Event)
			case c.want != 0:
				checkReplay(t, c.s, *change, c.want)
			}
		})
	}
}

func checkReplay(t *testing.T, s payroll.Standing, c payroll.Change, want payroll.Event) {
	t.Helper()
	if c.Event != want || c.Ordinal != s.Line.Ordinal {
		t.Errorf("event %v of line %d, want %v", c.Event, c.Ordinal, want)
	}
	if c.Trouble.Used != [payroll.RetryClasses]int{} {
		t.Errorf("the budgets were not reset: %v", c.Trouble.Used)
	}
	if c.Trouble.Generation != s.Trouble.Generation {
		t.Errorf("a replay made a fresh key: generation %d", c.Trouble.Generation)
	}
	if _, legal := payroll.Transition(s.State, c.Event); !legal {
		t.Errorf("%v is no event of %v", c.Event, s.State)
	}
	if c.Event == payroll.Reopened != c.Trouble.Ambiguous {
		t.Errorf("ambiguous %v after %v", c.Trouble.Ambiguous, c.Event)
	}
}

func sameError(got, want error) bool {
	var a, b *NotQuietYetError
	if errors.As(want, &b) {
		return errors.As(got, &a) && a.Until.Equal(b.Until)
	}
	return errors.Is(got, want)
}

func TestCloseGuard(t *testing.T) {
	t.Parallel()
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	for _, c := range []struct {
		name  string
		s     payroll.Standing
		order CloseOrder
		want  payroll.Event
		close payroll.CloseReason
		err   error
	}{
		{"written off", dead(payroll.VendorRejected, payroll.Trouble{}), CloseOrder{As: payroll.WrittenOff}, 0, payroll.WrittenOff, nil},
		{"found at the vendor", dead(payroll.OutcomeUnknown, open(past)), CloseOrder{AttestPaid: "ref 1"}, payroll.Paid, "", nil},
		{"written off while a request may arrive", dead(payroll.OutcomeUnknown, open(future)), CloseOrder{As: payroll.WrittenOff}, 0, "", &NotQuietYetError{Until: future}},
		{"attested while a request may arrive", dead(payroll.OutcomeUnknown, open(future)), CloseOrder{AttestPaid: "ref 1"}, 0, "", &NotQuietYetError{Until: future}},
		{"closed already", with(dead(payroll.VendorRejected, payroll.Trouble{}), func(s *payroll.Standing) { s.LetterClosed = payroll.WrittenOff }), CloseOrder{As: payroll.WrittenOff}, 0, "", ErrAlreadyClosed},
		{"replayed meanwhile", with(dead(payroll.VendorRejected, payroll.Trouble{}), func(s *payroll.Standing) { s.State = payroll.InFlight }), CloseOrder{As: payroll.WrittenOff}, 0, "", ErrAlreadyClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			change, err := closeLetter(c.s, c.order, noon)
			if !sameError(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if change.Event != c.want || change.Close != c.close {
				t.Errorf("event %v, closed as %q", change.Event, change.Close)
			}
		})
	}
}

// What an operator writes and what proves it are both kept.
func TestAnAttestationKeepsNoteAndEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		order CloseOrder
		want  string
	}{
		{CloseOrder{Note: "by cheque"}, "by cheque"},
		{CloseOrder{Note: "in the portal", AttestPaid: "ref 1"}, "in the portal; evidence: ref 1"},
		{CloseOrder{AttestPaid: "ref 1"}, "evidence: ref 1"},
	} {
		if got := c.order.record().Note; got != c.want {
			t.Errorf("%+v keeps %q", c.order, got)
		}
	}
}
