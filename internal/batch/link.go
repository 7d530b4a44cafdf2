package batch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// Sender puts one request on the wire, once.
type Sender interface {
	Send(ctx context.Context, r vendor.Rendered, sendBefore time.Time) vendor.Exchange
	RefreshCredentials(ctx context.Context, refused int) (changed bool, err error)
}

// Store is what the engine needs of the ledger.
type Store interface {
	store.Dispatch
	Work(ctx context.Context, t store.Tenure) ([]store.Token, error)
	SetState(ctx context.Context, batchID, epoch int64, s store.BatchState, hold string, now time.Time) error
	SaveGate(ctx context.Context, g store.Gate) error
}

// Observer is told what happened, for metrics and alerts. It must not block.
type Observer interface {
	Answered(vendor string, kind payroll.AttemptKind, status int)
	Waited(vendor string, d time.Duration)
	Died(d store.Dead)
	GateChanged(vendor string, s ratelimit.Snapshot)
	Alert(name string, attrs ...slog.Attr)
}

// Link is one connection to a vendor as all its units share it.
type Link struct {
	Profile *vendor.Profile
	Sender  Sender
	Limits  *ratelimit.Connection

	largest atomic.Int32 // chunk size that the vendor found not too large; 0 = not known
}

// chunkMax is the largest chunk that may be sent now.
func (l *Link) chunkMax() int {
	bound := l.Profile.Submit.Chunk.Max
	if n := int(l.largest.Load()); n > 0 && n < bound {
		return n
	}
	return bound
}

// tooLarge remembers that a request of n lines was refused for its size.
func (l *Link) tooLarge(n int) {
	half := int32((n + 1) / 2)
	for {
		old := l.largest.Load()
		if old > 0 && old <= half || l.largest.CompareAndSwap(old, half) {
			return
		}
	}
}

// Engine is what all runners of a process share.
type Engine struct {
	Store    Store
	Now      func() time.Time // the gateway's one clock
	Rand     retry.Rand
	Observer Observer
	Log      *slog.Logger
	// Poll is how often a runner looks for what nobody tells it: orphans,
	// followers, lines that waited for an older version. Default 1 s.
	Poll time.Duration
	// Failpoint is called at the named points of a send; nil in production.
	Failpoint func(name string)
}

// fence is how long after its commit an attempt may still be written.
const fence = 2 * time.Second

func (e *Engine) at(point string) {
	if e.Failpoint != nil {
		e.Failpoint(point)
	}
}

func (e *Engine) poll() time.Duration {
	if e.Poll > 0 {
		return e.Poll
	}
	return time.Second
}
