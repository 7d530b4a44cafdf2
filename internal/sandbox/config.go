package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// KeyMode says whether the vendor honours idempotency keys.
type KeyMode string

// KeyScope says what an idempotency key covers.
type KeyScope string

// Stores says which outcomes the vendor remembers under a key.
type Stores string

// Corrections says what a newer version of a paid line does.
type Corrections string

// The modes of a vendor; the first of each group is what "" means.
const (
	KeysHonoured KeyMode = "honour"
	KeysIgnored  KeyMode = "ignore"

	ScopeLine    KeyScope = "line"
	ScopeRequest KeyScope = "request"

	StoresSuccess Stores = "success"
	StoresAll     Stores = "all"

	// CorrectionsReplace holds the newest version's absolute amount.
	CorrectionsReplace Corrections = "replace"
	// CorrectionsAppend pays every version in full, on top of the older ones.
	CorrectionsAppend Corrections = "append"
)

// Config is the whole behaviour of a sandbox. The zero value, with a Journal,
// is a vendor without faults that never forgets a key.
type Config struct {
	// Listen is a loopback address, host:port. "": 127.0.0.1:0, any free port.
	Listen string
	// Journal is the file of everything read and paid. Run refuses "".
	Journal string
	// Path is where lines are posted; {Path}/{key} is the look-up.
	// "": /v1/payroll/lines.
	Path string
	// Token, if set, is demanded as "Authorization: Bearer <Token>"; else 401.
	Token string

	// Keys: honour or ignore. "": honour.
	Keys KeyMode
	// KeyScope: line or request. "": line.
	KeyScope KeyScope
	// KeyHeader carries the key of the request scope. "": Idempotency-Key.
	KeyHeader string
	// KeyRetention is how long a key is remembered. 0: for ever.
	KeyRetention time.Duration
	// Stores: success remembers what was paid, all remembers refusals too and
	// repeats them for ever. "": success.
	Stores Stores
	// RememberMixed makes the request scope remember answers in which some
	// lines failed; without it a resend of such a request is carried out again.
	RememberMixed bool
	// DuplicateStatus is the item status of a key seen before: 200, 208 or 409.
	// 0: 200.
	DuplicateStatus int
	// Corrections: replace or append. "": replace.
	Corrections Corrections

	// NoLookUp removes the look-up: its route answers a plain 404.
	NoLookUp bool
	// LookUpLag is how long a new payment stays invisible to look-ups.
	LookUpLag time.Duration

	// Atomic refuses the whole request with 400 when one line is refused.
	Atomic bool
	// ShuffleItems answers the items in another order than asked.
	ShuffleItems bool
	// MaxLines is the most lines of a request; more are answered 413. 0: 1000.
	MaxLines int
	// MinAmount and MaxAmount bound gross_pay; outside, item 422. "": no bound.
	MinAmount, MaxAmount string
	// RateLimit is enforced over every window of its length; beyond, 429.
	// Zero: no limit.
	RateLimit RateLimit

	// Seed decides, with the name of a fault, what was sent and how often it
	// was seen, whether the fault strikes.
	Seed uint64
	// Faults strike whole requests, ItemFaults single lines, LookUpFaults
	// look-ups. They are tried in order; the first that strikes is the one.
	Faults       FaultRates
	ItemFaults   FaultRates
	LookUpFaults FaultRates
	// MaxFaultsPerLine is how many drawn faults one line or one looked-up key
	// suffers before it is treated well. 0: no bound. Magic ids are not bound.
	MaxFaultsPerLine int
	// RetryAfter is the hint of 429 and 503, in whole seconds. 0: 1 s.
	RetryAfter time.Duration
	// TruncateAt is the byte at which a truncated body ends. 0: drawn.
	TruncateAt int
	// Latency, plus a drawn part of Jitter, passes before the vendor's commit.
	Latency, Jitter time.Duration
	// SlowFor is the pause of the fault slow. 0: 5 s.
	SlowFor time.Duration
	// DripEvery is the pause between two bytes of the fault drip. 0: 1 s.
	DripEvery time.Duration
	// MaxHold bounds how long an answer is withheld or dripped. 0: 2 min.
	MaxHold time.Duration

	// Clock gives time and pauses. nil: the machine's.
	Clock Clock
}

// RateLimit is a number of requests in any window of the length Per.
type RateLimit struct {
	Requests int
	Per      time.Duration
}

// withDefaults fills what the zero value leaves open.
func (c Config) withDefaults() Config {
	fill(&c.Listen, "127.0.0.1:0")
	fill(&c.Path, "/v1/payroll/lines")
	fill(&c.Keys, KeysHonoured)
	fill(&c.KeyScope, ScopeLine)
	fill(&c.KeyHeader, "Idempotency-Key")
	fill(&c.Stores, StoresSuccess)
	fill(&c.DuplicateStatus, 200)
	fill(&c.Corrections, CorrectionsReplace)
	fill(&c.MaxLines, 1000)
	fill(&c.RetryAfter, time.Second)
	fill(&c.SlowFor, 5*time.Second)
	fill(&c.DripEvery, time.Second)
	fill(&c.MaxHold, 2*time.Minute)
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	return c
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate lists every fault of the configuration at once; nil means usable.
// The zero values are understood as their defaults.
func (c Config) Validate() error {
	c = c.withDefaults()
	return errors.Join(
		c.checkNetwork(),
		oneOf("keys", c.Keys, KeysHonoured, KeysIgnored),
		oneOf("key_scope", c.KeyScope, ScopeLine, ScopeRequest),
		oneOf("stores", c.Stores, StoresSuccess, StoresAll),
		oneOf("corrections", c.Corrections, CorrectionsReplace, CorrectionsAppend),
		oneOf("duplicate_status", c.DuplicateStatus, 200, 208, 409),
		c.checkAmounts(),
		c.checkNumbers(),
		c.Faults.check("fault", requestFault),
		c.ItemFaults.check("item_fault", itemFault),
		c.LookUpFaults.check("look_up_fault", requestFault),
	)
}

func (c Config) checkNetwork() error {
	var faults []error
	if err := checkLoopback(c.Listen); err != nil {
		faults = append(faults, err)
	}
	if !strings.HasPrefix(c.Path, "/") || strings.HasSuffix(c.Path, "/") {
		faults = append(faults, errors.New("path: must begin with a slash and not end with one"))
	}
	if c.Path == summaryPath {
		faults = append(faults, fmt.Errorf("path: %s is the summary's", summaryPath))
	}
	return errors.Join(faults...)
}

// checkLoopback refuses an address that other machines could reach: the sandbox
// has no other defence than that.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("listen: must be host:port")
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return errors.New("listen: must be a loopback address, such as 127.0.0.1:8090")
	}
	return nil
}

func (c Config) checkAmounts() error {
	var faults []error
	for name, text := range map[string]string{"min_amount": c.MinAmount, "max_amount": c.MaxAmount} {
		if _, err := parseAmount(text); text != "" && err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

func (c Config) checkNumbers() error {
	var faults []error
	for name, n := range map[string]int64{
		"max_lines": int64(c.MaxLines), "max_faults_per_line": int64(c.MaxFaultsPerLine),
		"truncate_at": int64(c.TruncateAt), "key_retention": int64(c.KeyRetention),
		"look_up_lag": int64(c.LookUpLag), "retry_after": int64(c.RetryAfter),
		"latency": int64(c.Latency), "jitter": int64(c.Jitter), "slow_for": int64(c.SlowFor),
		"drip_every": int64(c.DripEvery), "max_hold": int64(c.MaxHold),
		"rate_limit": int64(c.RateLimit.Requests),
	} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("%s: must not be negative", name))
		}
	}
	if (c.RateLimit.Requests > 0) != (c.RateLimit.Per > 0) {
		faults = append(faults, errors.New("rate_limit: needs requests and a window, or neither"))
	}
	return errors.Join(faults...)
}

func oneOf[T comparable](name string, value T, allowed ...T) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("%s: must be one of %v", name, allowed)
}
