package batch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/ratelimit"
	"payrollgateway/internal/retry"
	"payrollgateway/internal/store"
	"payrollgateway/internal/vendor"
)

// Lease is the right to work on a unit, as long as it can be sure of it.
type Lease interface {
	Tenure() store.Tenure
	// Deadline is until when the owner can be sure, on the gateway's clock.
	Deadline() time.Time
}

// Runner works off one unit until all its batches are at rest. One goroutine
// plans and commits attempts, one looks after what nobody tells it, and one per
// request in flight sends, judges and writes the results.
type Runner struct {
	*Engine
	link   *Link
	lease  Lease
	tenure store.Tenure
	flow   ratelimit.Flow
	policy retry.Policy
	wake   chan struct{}

	read    time.Time               // when the desks were read
	orphans map[attemptID]time.Time // attempts that nobody waits for, since when they were seen
	idle    atomic.Bool

	mu       sync.Mutex
	desks    []*desk // unfinished batches, most urgent first
	stale    bool    // desks must be read again
	waiting  map[attemptID]bool
	families map[attemptID]*family
	senders  errgroup.Group
}

type attemptID struct {
	batch int64
	no    int32
}

// desk is one batch on the runner's table.
type desk struct {
	store.Token
	cursor  *cursor
	ahead   []payroll.Line // read, not yet planned, in order
	drained bool           // ahead holds all that is left
	agenda  agenda
	end     func()              // tells the gate that the batch is at rest; nil = not begun
	held    *ratelimit.Snapshot // by a closed gate, when it was served last; nil = not
	shown   shown
}

// shown is what the batch's token says it waits for.
type shown struct {
	state store.BatchState
	hold  string
}

// NewRunner makes the runner of a unit.
func NewRunner(e *Engine, link *Link, lease Lease) *Runner {
	t := lease.Tenure()
	return &Runner{
		Engine: e, link: link, lease: lease, tenure: t, stale: true,
		flow:   ratelimit.Flow{Tenant: t.Unit.Tenant, Period: t.Unit.PayPeriod},
		policy: link.Profile.Policy(), wake: make(chan struct{}, 1),
		waiting: map[attemptID]bool{}, families: map[attemptID]*family{}, orphans: map[attemptID]time.Time{},
	}
}

// Wake tells the runner that something changed from outside: a new batch, a
// cancel, a replay.
func (r *Runner) Wake() {
	r.markStale()
	r.nudge()
}

// Idle reports whether the runner has nothing to do but wait: for a time, for a
// gate, for another line's fate.
func (r *Runner) Idle() bool { return r.idle.Load() }

func (r *Runner) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Runner) markStale() {
	r.mu.Lock()
	r.stale = true
	r.mu.Unlock()
}

// Run works until every batch of the unit is at rest (nil), the unit was taken
// over (store.ErrFenced), or it is told to stop: when soft ends no new work is
// begun and what is in flight is finished; when hard ends that is given up too.
func (r *Runner) Run(hard, soft context.Context) error {
	defer r.leaveDesks()
	tasks, ctx := errgroup.WithContext(soft)
	done := errors.New("at rest")
	tasks.Go(func() error {
		if err := r.dispatch(ctx, hard); err != nil {
			return err
		}
		return done
	})
	tasks.Go(func() error { return r.housekeep(ctx) })
	err := tasks.Wait()
	if sendErr := r.senders.Wait(); sendErr != nil {
		err = sendErr
	}
	if errors.Is(err, done) || soft.Err() != nil && ended(err) {
		return nil
	}
	return err
}

// ended reports whether an error only says that its context ended.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// dispatch is the planning loop.
func (r *Runner) dispatch(soft, hard context.Context) error {
	for {
		if err := r.refresh(soft); errors.Is(err, store.ErrUnavailable) {
			r.markStale()
			if err := r.sleep(soft, r.poll()); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		if len(r.desks) == 0 {
			return nil
		}
		began, wait, err := r.runOnce(soft, hard)
		switch {
		case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrUnavailable):
			r.markStale()
			wait = 50 * time.Millisecond
		case err != nil:
			return err
		case began:
			continue
		}
		if err := r.rest(soft, wait); err != nil {
			return err
		}
	}
}

// rest waits while nothing can be begun. What it does not hear of, a write by
// another process or by the intake of another unit, it finds when it reads its
// batches again.
func (r *Runner) rest(ctx context.Context, wait time.Duration) error {
	r.idle.Store(r.isQuiet())
	defer r.idle.Store(false)
	err := r.sleep(ctx, wait)
	if r.Now().Sub(r.read) >= r.poll() {
		r.markStale()
	}
	return err
}

// runOnce begins at most one request. It reports whether it did and, if not,
// how long nothing will be due. A batch that the gate holds up is in no other's
// way: what needs no vendor, a cut-off, is decided all the same, and what is
// under way goes on where backpressure keeps a new batch from beginning.
func (r *Runner) runOnce(soft, hard context.Context) (began bool, wait time.Duration, err error) {
	wait = r.poll()
	for _, d := range r.desks {
		d.held = nil
		if r.isComplete(d) {
			continue
		}
		began, again, err := r.serve(soft, hard, d)
		var closed *ratelimit.ClosedError
		switch {
		case errors.As(err, &closed):
			d.held = &closed.Gate
			wait = min(wait, r.gateWait(closed.Gate))
		case began || err != nil:
			return began, 0, err
		case !again.IsZero():
			wait = min(wait, max(again.Sub(r.Now()), time.Millisecond))
		}
	}
	return false, wait, r.showIdle(soft)
}

// serve begins the most urgent request of a batch: what is due before what is
// fresh. It says when something of the batch will be due.
func (r *Runner) serve(soft, hard context.Context, d *desk) (began bool, again time.Time, err error) {
	if r.lease.Deadline().Before(r.Now()) {
		return false, r.Now().Add(r.poll()), nil
	}
	if began, again, err = r.serveDue(soft, hard, d); began || err != nil {
		return began, again, err
	}
	began, err = r.serveFresh(soft, hard, d)
	return began, again, err
}

// refresh reads the unit's batches again when something changed from outside.
func (r *Runner) refresh(ctx context.Context) error {
	r.mu.Lock()
	stale := r.stale
	r.stale = false
	r.mu.Unlock()
	if !stale {
		return nil
	}
	r.read = r.Now()
	tokens, err := r.Store.Work(ctx, r.tenure)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.desks = r.layOut(tokens)
	return nil
}

// layOut puts the batches on the table. A batch that lay there already keeps
// its desk: senders of its requests hold on to it.
func (r *Runner) layOut(tokens []store.Token) []*desk {
	old := make(map[int64]*desk, len(r.desks))
	for _, d := range r.desks {
		old[d.Batch.ID] = d
	}
	desks := make([]*desk, 0, len(tokens))
	for _, t := range tokens {
		d := old[t.Batch.ID]
		if d == nil {
			d = &desk{Token: t, cursor: newCursor(), shown: shown{t.State, t.HoldReason}}
		}
		delete(old, t.Batch.ID)
		d.read(t)
		desks = append(desks, d)
	}
	for _, gone := range old {
		gone.leave()
	}
	sortByUrgency(desks)
	return desks
}

// read takes over what the store says of the batch and forgets what was read
// ahead. The envelope never changes: senders read it without a lock.
func (d *desk) read(t store.Token) {
	d.Counts, d.CompletedAt, d.Version, d.ChangeSeq = t.Counts, t.CompletedAt, t.Version, t.ChangeSeq
	d.NextOrdinal, d.NextAttempt, d.CancelledFrom = t.NextOrdinal, t.NextAttempt, t.CancelledFrom
	d.ahead, d.drained = nil, false
	d.cursor.next, d.cursor.floor = t.NextOrdinal, t.LowestPending
	d.agenda.at, d.agenda.seq = time.Time{}, d.agenda.seq+1
}

// isComplete reports whether a sender has seen the batch complete.
func (r *Runner) isComplete(d *desk) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !d.CompletedAt.IsZero()
}

func (d *desk) leave() {
	if d.end != nil {
		d.end()
		d.end = nil
	}
}

func (r *Runner) leaveDesks() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.desks {
		d.leave()
	}
}

// sleep waits until something happened, at most so long.
func (r *Runner) sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.wake:
	case <-r.link.Limits.Gate().Changed():
	case <-timer.C:
	}
	return nil
}

func (r *Runner) log(d *desk) *slog.Logger {
	return r.Log.With(slog.String("batch", d.Batch.Key()), slog.String("vendor", r.tenure.Unit.Vendor))
}

func (r *Runner) decider() retry.Decider {
	return retry.Decider{Policy: r.policy, Now: r.Now(), Rand: r.Rand}
}

// exchange is one request with what is needed to judge its answer.
type exchange struct {
	desk    *desk
	attempt store.Attempt
	chunk   vendor.Chunk
	sent    vendor.Rendered
	pass    *ratelimit.Pass
	probe   bool
	due     []store.Due     // its lines, where they were sent before or came back; nil = fresh
	family  map[int32]int32 // of its lines that belong to a halved request
}
