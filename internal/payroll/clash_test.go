package payroll_test

import (
	"strings"
	"testing"
	"time"

	"payrollgateway/internal/payroll"
)

var (
	closings = []payroll.CloseReason{"", payroll.WrittenOff, payroll.PaidOutside, payroll.Corrected, payroll.Resubmitted}
	bools    = []bool{false, true}
)

// fates yields every state, with every reason of the dead-lettered one.
func fates(yield func(payroll.State, payroll.Reason) bool) {
	for _, s := range payroll.States {
		if s != payroll.DeadLettered && !yield(s, 0) {
			return
		}
	}
	for _, r := range payroll.Reasons {
		if !yield(payroll.DeadLettered, r) {
			return
		}
	}
}

// wantClaim follows the sentences of the overlap rules one by one.
func wantClaim(sameHash, sameVendor bool, e payroll.Existing) payroll.Claim {
	mayBePaid := e.Ambiguous || e.Reason == payroll.OutcomeUnknown
	backToHR := map[payroll.State]bool{payroll.Cancelled: true, payroll.DeadLettered: true}[e.State] && !mayBePaid
	if !sameHash { // same key, other hash: a bug at the caller
		return payroll.ClaimDuplicate
	}
	if !sameVendor && !backToHR { // another vendor: likewise, unless cancelled or dead-lettered
		return payroll.ClaimDuplicate
	}
	if e.State == payroll.Settled {
		return payroll.ClaimEarlier
	}
	if e.State == payroll.Superseded {
		return payroll.ClaimSuperseded
	}
	if !backToHR { // it is still under way, or parked: take its end state
		return payroll.ClaimFollow
	}
	if e.Superseded { // once a higher version exists, a lower one is never pending again
		return payroll.ClaimSuperseded
	}
	if e.LetterClosed != "" { // closed is closed
		return payroll.ClaimFollow
	}
	return payroll.ClaimRetake
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	held := payroll.Existing{Hash: payroll.Hash{1}}
	if other, same := held.Refusal(payroll.Hash{2}), held.Refusal(held.Hash); !strings.Contains(other, "line_version") || !strings.Contains(same, "vendor") {
		t.Errorf("%q, %q", other, same)
	}
}

func TestContestDecidesEveryCombination(t *testing.T) {
	t.Parallel()
	n := 0
	for state, reason := range fates {
		for _, closed := range closings {
			for bits := range 16 {
				sameHash, sameVendor, ambiguous, superseded := bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0
				e := payroll.Existing{
					Hash: payroll.Hash{1}, Vendor: "acme", State: state, Reason: reason,
					Ambiguous: ambiguous, LetterClosed: closed, Superseded: superseded,
				}
				hash, vendor := e.Hash, e.Vendor
				if !sameHash {
					hash = payroll.Hash{2}
				}
				if !sameVendor {
					vendor = "other"
				}
				n++
				got := payroll.Contest(hash, vendor, e)
				if want := wantClaim(sameHash, sameVendor, e); got != want {
					t.Errorf("same hash %v, same vendor %v, %+v: %d, want %d", sameHash, sameVendor, e, got, want)
				}
				if got == payroll.ClaimRetake && (ambiguous || reason == payroll.OutcomeUnknown || closed != "" || superseded) {
					t.Errorf("taken up again: %+v", e)
				}
			}
		}
	}
	if n != 18*5*16 {
		t.Errorf("%d combinations", n)
	}
}

// TestReopenedRunAfterCheque guards a double payment: the line was closed as
// paid outside, and posting the whole file again paid it a second time.
func TestReopenedRunAfterCheque(t *testing.T) {
	t.Parallel()
	e := payroll.Existing{State: payroll.DeadLettered, Reason: payroll.VendorRejected, LetterClosed: payroll.PaidOutside, Vendor: "acme"}
	for _, vendor := range []string{"acme", "other"} {
		if got := payroll.Contest(e.Hash, vendor, e); got != payroll.ClaimFollow {
			t.Errorf("at %s: %d", vendor, got)
		}
	}
}

// TestLateRequestBehindAnOrdinaryDeadLetter guards the re-submission of a dead
// letter whose code hides that an attempt is still open.
func TestLateRequestBehindAnOrdinaryDeadLetter(t *testing.T) {
	t.Parallel()
	for _, r := range payroll.Reasons {
		e := payroll.Existing{State: payroll.DeadLettered, Reason: r, Ambiguous: true}
		if got := payroll.Contest(e.Hash, "", e); got != payroll.ClaimFollow {
			t.Errorf("%s with an open attempt: %d", r, got)
		}
	}
}

// TestOtherVendorNeverPaysWhatMayBePaid guards the payment that X made and Y
// would make again: keys mean nothing across vendors.
func TestOtherVendorNeverPaysWhatMayBePaid(t *testing.T) {
	t.Parallel()
	for state, reason := range fates {
		for _, ambiguous := range bools {
			e := payroll.Existing{State: state, Reason: reason, Ambiguous: ambiguous, Vendor: "x"}
			certain := (state == payroll.Cancelled || state == payroll.DeadLettered && reason != payroll.OutcomeUnknown) && !ambiguous
			if got := payroll.Contest(e.Hash, "y", e); (got == payroll.ClaimRetake) != certain {
				t.Errorf("%s %s, ambiguous %v: %d", state, reason, ambiguous, got)
			}
		}
	}
}

// wantPrecedence follows the sentences of the version rules one by one.
func wantPrecedence(o payroll.Older) payroll.Precedence {
	switch o.State {
	case payroll.Settled:
		return payroll.PrecedesCorrects
	case payroll.Cancelled, payroll.Superseded:
		if o.Ambiguous {
			return payroll.PrecedesWaits // does not happen; waiting is the safe side
		}
		return payroll.PrecedesNothing
	case payroll.DeadLettered:
		if o.LetterClosed == payroll.PaidOutside {
			return payroll.PrecedesCorrects // paid, though not by us
		}
		if o.LetterClosed != "" {
			return payroll.PrecedesNothing // its fate is known by close
		}
		if o.Ambiguous || o.Reason == payroll.OutcomeUnknown {
			return payroll.PrecedesWaits
		}
		return payroll.PrecedesCloses
	case payroll.InFlight, payroll.Unknown:
		return payroll.PrecedesWaits
	default:
		if o.Ambiguous {
			return payroll.PrecedesWaits
		}
		return payroll.PrecedesReplaces
	}
}

func TestSucceedDecidesEveryCombination(t *testing.T) {
	t.Parallel()
	for state, reason := range fates {
		for _, closed := range closings {
			for _, ambiguous := range bools {
				o := payroll.Older{State: state, Reason: reason, LetterClosed: closed, Ambiguous: ambiguous}
				got := payroll.Succeed(o)
				if want := wantPrecedence(o); got != want {
					t.Errorf("%+v: %d, want %d", o, got, want)
				}
				open := ambiguous || state == payroll.InFlight || state == payroll.Unknown || reason == payroll.OutcomeUnknown
				passes := got == payroll.PrecedesNothing || got == payroll.PrecedesReplaces || got == payroll.PrecedesCloses
				if open && passes && closed == "" {
					t.Errorf("%+v may have been paid, and the newer version overtakes it", o)
				}
			}
		}
	}
}

func TestCorrectionsAreSentOnlyWhereThePaymentIsReplaced(t *testing.T) {
	t.Parallel()
	for _, mode := range []payroll.Corrections{payroll.CorrectionsRefuse, payroll.CorrectionsReplace, ""} {
		for _, state := range payroll.States {
			for _, vendor := range []string{"x", "y"} {
				o := payroll.Older{Vendor: "x", State: state}
				want := mode == payroll.CorrectionsReplace && vendor == "x" && state == payroll.Settled
				if got := mode.Sendable(vendor, o); got != want {
					t.Errorf("%q at %s over %s at x: %v", mode, vendor, state, got)
				}
			}
		}
	}
}

func TestHandsOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 16, 12, 0, 0, 0, time.UTC)
	missed := payroll.Existing{State: payroll.DeadLettered, Reason: payroll.CutoffPassed}
	closed, open := missed, missed
	closed.LetterClosed, open.Ambiguous = payroll.WrittenOff, true
	for _, c := range []struct {
		name   string
		live   payroll.Existing
		cutoff time.Time
		want   bool
	}{
		{"cancelled", payroll.Existing{State: payroll.Cancelled}, time.Time{}, true},
		{"missed its cut-off, the follower has none", missed, time.Time{}, true},
		{"missed its cut-off, the follower's lies ahead", missed, now.Add(time.Minute), true},
		{"missed its cut-off, and so did the follower", missed, now, false},
		{"closed by a person", closed, time.Time{}, false},
		{"may have been paid", open, time.Time{}, false},
		{"rejected", payroll.Existing{State: payroll.DeadLettered, Reason: payroll.VendorRejected}, time.Time{}, false},
		{"paid", payroll.Existing{State: payroll.Settled}, time.Time{}, false},
		{"under way", payroll.Existing{State: payroll.InFlight}, time.Time{}, false},
	} {
		if got := payroll.HandsOver(c.live, c.cutoff, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
