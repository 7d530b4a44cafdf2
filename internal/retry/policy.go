package retry

import (
	"time"

	"payrollgateway/internal/payroll"
)

// MaxSends bounds the submit requests of a line under one key generation,
// independently of every budget: a backstop against a classifier gap.
const MaxSends = 50

// Fence is how long after its commit an attempt may be written: the distance
// of send_before.
const Fence = 2 * time.Second

// Budget is how often and how patiently one class of failure is retried.
type Budget struct {
	MaxRetries int           // retries granted; 0 = none
	Base       time.Duration // ceiling of the first wait
	Cap        time.Duration // no ceiling is above this
}

// KeyScope is what a vendor's idempotency key stands for.
type KeyScope string

// The scopes.
const (
	KeyNone    KeyScope = "none"
	KeyLine    KeyScope = "line"
	KeyRequest KeyScope = "request"
)

// Conflict is what an item's 409 means at a vendor.
type Conflict string

// The meanings.
const (
	ConflictDone       Conflict = "done"
	ConflictInProgress Conflict = "in_progress"
	ConflictUnknown    Conflict = "unknown"
)

// Policy is what a vendor's profile says that decides about lines.
type Policy struct {
	Budgets   [payroll.RetryClasses]Budget
	Timeout   time.Duration // of a submit request
	Settle    time.Duration // after send_before + Settle no request can still arrive
	Keys      KeyScope
	Retention time.Duration // how long the vendor remembers a key, from its first send; 0 = unknown
	StoresAll bool          // failures are stored under the key too
	Partial   bool          // mixed answers of a request key are remembered
	Atomic    bool          // a 4xx for a request means that no line of it was applied
	Conflict  Conflict
	LookUp    bool
	LookUpLag time.Duration // how long after a payment a look-up may still miss it
}

// DefaultBudgets are those of DESIGN section 5.
func DefaultBudgets() [payroll.RetryClasses]Budget {
	return [payroll.RetryClasses]Budget{
		payroll.ClassNetwork:     {MaxRetries: 6, Base: 2 * time.Second, Cap: 2 * time.Minute},
		payroll.ClassVendorError: {MaxRetries: 6, Base: 2 * time.Second, Cap: 2 * time.Minute},
		payroll.ClassRateLimited: {MaxRetries: 20, Base: 2 * time.Second, Cap: 5 * time.Minute},
		payroll.ClassNotYet:      {MaxRetries: 4, Base: 15 * time.Minute, Cap: 6 * time.Hour},
		payroll.ClassLookUp:      {MaxRetries: 20, Base: 2 * time.Second, Cap: 5 * time.Minute},
	}
}

// HonoursKeys reports whether a repeated request under the same key is safe
// while the vendor remembers it. A request key that forgets mixed answers, at
// a vendor that applies half of a request, protects nothing.
func (p Policy) HonoursKeys() bool {
	return p.Keys == KeyLine || p.Keys == KeyRequest && (p.Atomic || p.Partial)
}

// Resolves reports whether the fate of a request whose answer is lost can be
// learned without a person.
func (p Policy) Resolves() bool { return p.HonoursKeys() && p.Retention > 0 || p.LookUp }

// QuietAt is when nothing of an attempt can arrive any more, for a successor of
// its worker that first saw it at the given time.
func (p Policy) QuietAt(sendBefore, seen time.Time) time.Time {
	return later(seen, sendBefore).Add(p.Settle)
}

// margin is kept from the end of the vendor's memory: its clock and ours are
// not known better, and a request may be on its way for Settle.
func (p Policy) margin() time.Duration { return max(2*p.Timeout, p.Settle, p.Retention/20) }

// Remembers reports whether the vendor surely still knows the line's key when
// a request of it that is decided on at the given time arrives.
func (p Policy) Remembers(t payroll.Trouble, at time.Time) bool {
	if !p.HonoursKeys() || p.Retention <= 0 || t.FirstSentAt.IsZero() {
		return false
	}
	return !at.Add(max(p.Timeout, Fence)).After(t.FirstSentAt.Add(p.Retention - p.margin()))
}

// MayResend reports whether an ambiguous line may go out again at the given
// time under the same key: only while the vendor surely remembers it.
func (p Policy) MayResend(t payroll.Trouble, at time.Time) bool {
	return t.Sends < MaxSends && p.Remembers(t, at)
}

// Renew starts the next key generation of a line that the vendor refused and
// whose old key it would answer with that stored failure for ever. Only for a
// line without an open attempt; elsewhere the key stays what it is.
func (p Policy) Renew(t payroll.Trouble) payroll.Trouble {
	stored := p.StoresAll || p.Keys == KeyRequest
	if stored && p.Keys != KeyNone && t.Sends > 0 && !t.Ambiguous {
		t.Generation++
		t.Sends, t.FirstSentAt = 0, time.Time{}
	}
	return t
}
