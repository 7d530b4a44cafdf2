package vendor

import (
	"slices"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/retry"
)

// Profile is one vendor: where it is, what it promises, and how it is to be
// treated. A Profile that Parse returned is complete: defaults are filled in.
type Profile struct {
	Name        string
	Revision    int32 // stored with every outcome that it judged
	BaseURL     string
	Auth        []Auth // applied in order
	Submit      Submit
	Idempotency Idempotency
	Corrections payroll.Corrections
	Rate        []Rate // all of them must allow a request
	Limits      payroll.Cap
	Retry       Retry
	LookUp      bool          // GET {BaseURL}{Submit.Path}/{key} is answered
	LookUpLag   time.Duration // how long after a payment a look-up may still miss it
	// NotApplied lists statuses that certainly had no effect at this vendor.
	NotApplied []int

	Text   []byte // as it was read; references to secrets, never secrets
	SHA256 [32]byte

	// secrets is a function, so that no printer finds what it can reach.
	secrets func(ref string) (Secret, error)
}

// Submit is how lines are sent.
type Submit struct {
	Method      string
	Path        string
	Timeout     time.Duration // of the whole exchange, dialling and body included
	Settle      time.Duration // a request that was given up arrives within this or never
	Concurrency int           // requests in flight, over all replicas
	Chunk       Chunking
	Atomic      bool // a 4xx for the request means that no line of it was applied
}

// Chunking bounds the lines of one request. Max is hard; a batch of fewer lines
// than Min is one request.
type Chunking struct{ Min, Max int }

// Idempotency is what the vendor's keys are worth.
type Idempotency struct {
	Scope     retry.KeyScope
	Header    string        // request scope: where the key goes
	Retention time.Duration // how long the vendor remembers, from the first send; 0 = unknown
	Stores    Stores
	Partial   bool // request scope: mixed answers are remembered too
	Conflict  retry.Conflict
}

// Stores says which outcomes a vendor keeps under a key.
type Stores string

// What is stored.
const (
	StoresSuccess Stores = "success"
	StoresAll     Stores = "all" // a stored failure answers for ever
)

// Rate permits Requests in any window of length Per. Headroom, in [0, 1), is
// the share kept for everything but fresh lines.
type Rate struct {
	Requests int
	Per      time.Duration
	Headroom float64
}

// Retry is how patiently failures are treated.
type Retry struct {
	Budgets [payroll.RetryClasses]retry.Budget
	MaxWait time.Duration // a longer hint closes the gate and holds no worker
}

// AuthType names a way to authenticate.
type AuthType string

// The ways to authenticate.
const (
	AuthBearer AuthType = "bearer"
	AuthBasic  AuthType = "basic"
	AuthHeader AuthType = "header"
)

// Auth is one credential as the profile describes it: references, not secrets.
type Auth struct {
	Type     AuthType
	Token    string // bearer
	Username string // basic; a reference or a plain text
	Password string // basic; "" = a blank password beside a secret user name
	Name     string // header
	Value    string // header
}

// Policy is what the profile says that decides about lines.
func (p *Profile) Policy() retry.Policy {
	return retry.Policy{
		Budgets:   p.Retry.Budgets,
		Timeout:   p.Submit.Timeout,
		Settle:    p.Submit.Settle,
		Keys:      p.Idempotency.Scope,
		Retention: p.Idempotency.Retention,
		StoresAll: p.Idempotency.Stores == StoresAll,
		Partial:   p.Idempotency.Partial,
		Atomic:    p.Submit.Atomic,
		Conflict:  p.Idempotency.Conflict,
		LookUp:    p.LookUp,
		LookUpLag: p.LookUpLag,
	}
}

// ChunkBounds returns how few and how many lines a request carries. Max is
// hard; fewer than min travel when there are no more.
func (p *Profile) ChunkBounds() (least, most int) { return p.Submit.Chunk.Min, p.Submit.Chunk.Max }

// harmless reports whether the status certainly had no effect at this vendor.
func (p *Profile) harmless(status int) bool { return slices.Contains(p.NotApplied, status) }

// url is where lines are posted.
func (p *Profile) url() string { return p.BaseURL + p.Submit.Path }
