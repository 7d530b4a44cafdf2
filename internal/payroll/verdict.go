package payroll

import "time"

// Verdict is what an answer means for one line. The numbers are stored.
type Verdict int16

// The verdicts, with what each says about whether the line was applied.
const (
	VerdictSettled  Verdict = 1 // yes
	VerdictRetry    Verdict = 2 // no; same key, later, within its class's budget
	VerdictRejected Verdict = 3 // no, for good
	VerdictUnknown  Verdict = 4 // nobody knows
	VerdictReturned Verdict = 5 // certainly not, and not the line's fault
	VerdictAbsent   Verdict = 6 // look-up only: the vendor's own "no such payment"
	VerdictNotSent  Verdict = 7 // our own: no byte of the request left
	VerdictMismatch Verdict = 8 // look-up only: found, but with another amount or version
)

// Verdicts lists every verdict.
var Verdicts = []Verdict{
	VerdictSettled, VerdictRetry, VerdictRejected, VerdictUnknown, VerdictReturned,
	VerdictAbsent, VerdictNotSent, VerdictMismatch,
}

var verdictNames = map[Verdict]string{
	VerdictSettled: "settled", VerdictRetry: "retry", VerdictRejected: "rejected", VerdictUnknown: "unknown",
	VerdictReturned: "returned", VerdictAbsent: "absent", VerdictNotSent: "not_sent", VerdictMismatch: "mismatch",
}

func (v Verdict) String() string { return nameOf(verdictNames, v) }

// RetryClass names a retry budget. The numbers index Budgets.
type RetryClass int16

// The retry classes of DESIGN section 5. ClassNone spends no budget.
const (
	ClassNone        RetryClass = -1
	ClassNetwork     RetryClass = 0 // no byte reached the vendor
	ClassVendorError RetryClass = 1 // 5xx, 408, unknown outcomes
	ClassRateLimited RetryClass = 2 // per item
	ClassNotYet      RetryClass = 3 // the vendor is not ready for this line
	ClassLookUp      RetryClass = 4 // look-ups that gave no answer; never mixed with send budgets
)

// RetryClasses is how many classes there are.
const RetryClasses = 5

var retryClassNames = map[RetryClass]string{
	ClassNone: "none", ClassNetwork: "network", ClassVendorError: "vendor_error",
	ClassRateLimited: "rate_limited", ClassNotYet: "not_yet", ClassLookUp: "look_up",
}

func (c RetryClass) String() string { return nameOf(retryClassNames, c) }

// Reading is what one answer says about one line: the first of the two results
// of judging an answer (the other is the effect on the gate).
type Reading struct {
	Verdict   Verdict
	Class     RetryClass    // budget that a retry, an unknown or a refused connection spends
	As        SettledAs     // with VerdictSettled: Created or Duplicate
	Status    int           // the item's status, else the request's; 0 = none
	Detail    string        // short, ours or the vendor's own words; never a key, id or amount
	Reference string        // the vendor's id of the payment
	Hint      time.Duration // the item's own Retry-After: a floor; 0 = none
	// Decisive: the vendor itself read this line's key and says no, so that
	// quiet older attempts of the line were not applied either.
	Decisive bool
	// Conflict: an item's 409. Duplicate where nothing else is under way,
	// possibly "in progress" while another attempt is not quiet.
	Conflict bool
	// Finished: the vendor itself has done with the request, so that nothing of
	// it can arrive later although its effect is unknown (a 400 for a chunk).
	Finished bool
	// MaxChunk bounds the size of the next request that may carry this line
	// (halving); 0 = no bound.
	MaxChunk int
}

// AttemptKind is what a request was for. The numbers are stored.
type AttemptKind int16

// The kinds of attempts.
const (
	Submit AttemptKind = 1
	LookUp AttemptKind = 2
	Poll   AttemptKind = 3
)

var attemptKindNames = map[AttemptKind]string{Submit: "submit", LookUp: "look_up", Poll: "poll"}

func (k AttemptKind) String() string { return nameOf(attemptKindNames, k) }
