package payroll

import "time"

// Existing is the live item that already holds a submitted row's key.
type Existing struct {
	Ref          LineRef
	Hash         Hash
	Vendor       string
	State        State
	Reason       Reason // with DeadLettered
	Ambiguous    bool   // a submit attempt of it has no known fate
	LetterClosed CloseReason
	Superseded   bool // a higher version of the payment exists
}

// Claim is what becomes of a row whose key another batch's item holds.
type Claim int

// The claims.
const (
	ClaimDuplicate  Claim = iota + 1 // a bug at the caller: refused as duplicate_natural_key
	ClaimEarlier                     // paid already: settled as earlier_batch
	ClaimRetake                      // submitted again: this item becomes the live one
	ClaimFollow                      // takes the live item's end state when it has one
	ClaimSuperseded                  // a newer version exists
)

// Contest decides between a submitted row and the live item of its key. The
// same key with another hash, or at another vendor, is a bug at the caller. A
// line that may have been paid is never taken up a second time, and a dead
// letter that a person closed stays closed: the way back is a new version.
func Contest(hash Hash, vendor string, e Existing) Claim {
	parked := e.Ambiguous || e.State == DeadLettered && e.Reason == OutcomeUnknown
	unpaid := (e.State == Cancelled || e.State == DeadLettered) && !parked
	switch {
	case hash != e.Hash:
		return ClaimDuplicate
	case vendor != e.Vendor && !unpaid:
		return ClaimDuplicate
	case e.State == Settled:
		return ClaimEarlier
	case e.State == Superseded || unpaid && e.Superseded:
		return ClaimSuperseded
	case unpaid && e.LetterClosed == "":
		return ClaimRetake
	default:
		return ClaimFollow
	}
}

// Refusal says to the caller why a row of this hash is a duplicate of e.
func (e Existing) Refusal(hash Hash) string {
	if hash == e.Hash {
		return "this payment was submitted for another vendor: cancel it there first"
	}
	return "this payment is known with another amount or other details: raise line_version to correct it"
}

// HandsOver reports whether a live item that has ended leaves its payment to an
// item of another batch that follows it: it was cancelled, or missed a cut-off
// of its own, certainly not paid, while the follower's still lies ahead (zero =
// it has none).
func HandsOver(live Existing, cutoffAt, now time.Time) bool {
	switch {
	case live.State == Cancelled:
		return true
	case live.State == DeadLettered && live.Reason == CutoffPassed:
		return !live.Ambiguous && live.LetterClosed == "" && (cutoffAt.IsZero() || now.Before(cutoffAt))
	default:
		return false
	}
}

// Older is a lower version of a payment, as a newer one finds it.
type Older struct {
	Ref          LineRef
	Vendor       string
	State        State
	Ambiguous    bool
	Reason       Reason // with DeadLettered
	LetterClosed CloseReason
}

// Precedence is what a newer version does about a lower one.
type Precedence int

// The precedences.
const (
	PrecedesNothing  Precedence = iota + 1 // the lower one is out of the way for good
	PrecedesReplaces                       // the lower one was never sent or certainly not applied: superseded
	PrecedesWaits                          // the lower one may have been paid: the newer one waits
	PrecedesCloses                         // the lower one is a dead letter: closed as corrected
	PrecedesCorrects                       // the lower one was paid: the newer one is a correction
)

// Succeed decides what a newer version does about a lower one. It is asked
// again when a line that waits finds the fate of what it waits for.
func Succeed(o Older) Precedence {
	switch {
	case o.State == Settled:
		return PrecedesCorrects
	case o.State == DeadLettered:
		return succeedDead(o)
	case o.State == InFlight || o.State == Unknown || o.Ambiguous:
		return PrecedesWaits
	case o.State == Pending || o.State == Retrying:
		return PrecedesReplaces
	default:
		return PrecedesNothing
	}
}

func succeedDead(o Older) Precedence {
	switch {
	case o.LetterClosed == PaidOutside:
		return PrecedesCorrects
	case o.LetterClosed == "" && (o.Ambiguous || o.Reason == OutcomeUnknown):
		return PrecedesWaits
	case o.LetterClosed == "":
		return PrecedesCloses
	default:
		return PrecedesNothing
	}
}

// Corrections is how a vendor takes a correction of a paid line.
type Corrections string

// The modes of a profile's corrections.
const (
	CorrectionsRefuse  Corrections = "refuse"  // not at all: dead letter correction_refused
	CorrectionsReplace Corrections = "replace" // it holds the newest version's absolute amount: sent
)

// Sendable reports whether a correction of the paid line o may be sent by the
// given vendor: only where the vendor itself holds that payment and replaces it.
func (c Corrections) Sendable(vendor string, o Older) bool {
	return c == CorrectionsReplace && o.Vendor == vendor && o.State == Settled
}
