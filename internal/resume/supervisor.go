package resume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// Task works on one unit until all its batches are at rest (nil).
type Task interface {
	// Run begins nothing new once soft ends, and gives up once hard ends.
	Run(hard, soft context.Context) error
	// Wake says that something about the unit changed from outside.
	Wake()
	// Idle reports whether the task has nothing to do but wait.
	Idle() bool
}

// Config is what a Supervisor needs to know.
type Config struct {
	Owner   string           // this process's incarnation, unique for ever
	TTL     time.Duration    // of a claim without a heartbeat
	Poll    time.Duration    // between looks for work; default 1 s
	Workers int              // units worked on at a time; those that only wait do not count, see heldPerWorker
	Drain   time.Duration    // how long a stop waits for requests in flight
	Hurry   <-chan struct{}  // closed: a stop waits no longer; nil = never
	Now     func() time.Time // the gateway's one clock
	Log     *slog.Logger
	// Settle is how long after now a vendor's open attempts may still arrive.
	Settle func(vendor string) time.Duration
	// Gone reports that an owner is known to be dead whatever its heartbeat.
	Gone func(owner string) bool
	// Task makes the work of a unit. An error leaves the unit alone for a TTL.
	Task func(l *Lease) (Task, error)
}

// Supervisor owns the tasks of a process.
type Supervisor struct {
	Config
	store  store.Tokens
	nudge  chan struct{}
	orders chan order

	mu      sync.Mutex
	running map[payroll.Unit]*job
	rest    map[payroll.Unit]time.Time // units that failed: not before
}

type job struct {
	lease *Lease
	task  Task
}

type order struct {
	unit payroll.Unit
	done chan error
}

// OwnerAliveError: the unit is being worked on.
type OwnerAliveError struct {
	Owner string
	Age   time.Duration // since its last heartbeat
}

func (e *OwnerAliveError) Error() string {
	return fmt.Sprintf("owner %s is alive: last heartbeat %s ago", e.Owner, e.Age.Round(time.Millisecond))
}

// ErrStopping: the process takes no new work.
var ErrStopping = errors.New("stopping: no new work is taken")

// New makes a supervisor.
func New(tokens store.Tokens, c Config) *Supervisor {
	if c.Poll <= 0 {
		c.Poll = time.Second
	}
	return &Supervisor{
		Config: c, store: tokens, nudge: make(chan struct{}, 1), orders: make(chan order),
		running: map[payroll.Unit]*job{}, rest: map[payroll.Unit]time.Time{},
	}
}

// Run claims and works until ctx ends, then drains: nothing new is begun, what
// is in flight is finished within the drain deadline, claims are given back.
func (s *Supervisor) Run(ctx context.Context) error {
	hard, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var tasks errgroup.Group
	beats, stopBeats := context.WithCancel(hard)
	var beating errgroup.Group
	beating.Go(func() error { return s.heartbeats(beats) })
	beating.Go(func() error {
		select {
		case <-s.Hurry:
			giveUp()
		case <-beats.Done():
		}
		return nil
	})
	s.claimLoop(ctx, hard, &tasks)
	late := time.AfterFunc(s.Drain, giveUp)
	err := tasks.Wait()
	late.Stop()
	stopBeats()
	return errors.Join(err, beating.Wait())
}

func (s *Supervisor) claimLoop(soft, hard context.Context, tasks *errgroup.Group) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-soft.Done():
			return
		case o := <-s.orders:
			o.done <- s.takeUp(soft, hard, tasks, o.unit)
			continue
		case <-s.nudge:
		case <-timer.C:
		}
		if err := s.runOnce(soft, hard, tasks); err != nil && soft.Err() == nil {
			s.Log.Warn("looking for work failed", "error", err)
		}
		timer.Reset(s.Poll)
	}
}

// runOnce claims what can be claimed.
func (s *Supervisor) runOnce(soft, hard context.Context, tasks *errgroup.Group) error {
	free := s.free()
	if free <= 0 {
		return nil
	}
	units, err := s.store.Claimable(soft, s.Now(), s.TTL, free+s.count()+len(s.rest))
	if err != nil {
		return err
	}
	for _, u := range units {
		if free == 0 {
			break
		}
		if s.skips(u.Unit) {
			continue
		}
		err := s.claim(soft, hard, tasks, u.Unit, false)
		var held *store.HeldError
		switch {
		case err == nil:
			free--
		case s.skips(u.Unit): // its own fault, which is in no other unit's way
			s.Log.Error("a pay period cannot be worked on", "vendor", u.Unit.Vendor, "error", err)
			s.Look()
		case !errors.As(err, &held):
			return err
		}
	}
	return nil
}

func (s *Supervisor) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

// heldPerWorker bounds how many units are held for each that is worked on. One
// that waits, for hours at a suspended gate or for a vendor that is not ready,
// keeps its place in the period but not the worker that others need.
const heldPerWorker = 16

// free is how many units more may be claimed.
func (s *Supervisor) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	busy := 0
	for _, j := range s.running {
		if !j.task.Idle() {
			busy++
		}
	}
	return min(s.Workers-busy, heldPerWorker*s.Workers-len(s.running))
}

func (s *Supervisor) skips(u payroll.Unit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, resting := s.rest[u]
	if resting && !s.Now().Before(until) {
		delete(s.rest, u)
		resting = false
	}
	return resting || s.running[u] != nil
}

// claim takes a unit and starts its task.
func (s *Supervisor) claim(soft, hard context.Context, tasks *errgroup.Group, u payroll.Unit, force bool) error {
	begun := s.Now()
	t, err := s.store.Claim(soft, store.Claim{
		Unit: u, Owner: s.Owner, Now: begun, TTL: s.TTL, Force: force, Settle: s.Settle(u.Vendor),
	})
	if err != nil {
		return err
	}
	softTask, stopSoft := context.WithCancel(soft)
	hardTask, stopHard := context.WithCancel(hard)
	lease := &Lease{tenure: t, ttl: s.TTL, soft: stopSoft, hard: stopHard}
	lease.renewed(begun)
	task, err := s.Task(lease)
	if err != nil {
		lease.end()
		s.leaveAlone(u)
		return errors.Join(err, s.store.Release(hard, t))
	}
	s.mu.Lock()
	s.running[u] = &job{lease: lease, task: task}
	s.mu.Unlock()
	s.Log.Info("pay period taken", "vendor", u.Vendor, "epoch", t.Epoch)
	tasks.Go(func() error {
		defer lease.end()
		s.finish(hard, u, t, task.Run(hardTask, softTask))
		return nil
	})
	return nil
}

// finish gives a unit back. One whose task failed is left alone for a while.
func (s *Supervisor) finish(ctx context.Context, u payroll.Unit, t store.Tenure, err error) {
	s.mu.Lock()
	delete(s.running, u)
	s.mu.Unlock()
	switch {
	case errors.Is(err, store.ErrFenced):
		s.Log.Warn("pay period taken over by another owner", "vendor", u.Vendor, "epoch", t.Epoch)
		return
	case err != nil:
		s.Log.Error("work on a pay period failed", "vendor", u.Vendor, "epoch", t.Epoch, "error", err)
		s.leaveAlone(u)
	}
	if err := s.store.Release(context.WithoutCancel(ctx), t); err != nil {
		s.Log.Warn("a pay period could not be given back", "vendor", u.Vendor, "error", err)
	}
	s.Look()
}

func (s *Supervisor) leaveAlone(u payroll.Unit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest[u] = s.Now().Add(s.TTL)
}

// heartbeats renews every lease a few times per TTL.
func (s *Supervisor) heartbeats(ctx context.Context) error {
	ticker := time.NewTicker(max(s.TTL/5, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		for _, l := range s.leases() {
			s.beat(ctx, l)
		}
	}
}

func (s *Supervisor) leases() []*Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Lease, 0, len(s.running))
	for _, j := range s.running {
		out = append(out, j.lease)
	}
	return out
}

// beat renews one lease. While the store is away the lease runs out by itself
// and its task sends nothing.
func (s *Supervisor) beat(ctx context.Context, l *Lease) {
	begun := s.Now()
	limited, cancel := context.WithTimeout(ctx, s.TTL/2)
	defer cancel()
	err := s.store.Heartbeat(limited, l.tenure, begun)
	switch {
	case err == nil:
		l.renewed(begun)
	case errors.Is(err, store.ErrFenced):
		l.lost()
	case ctx.Err() == nil:
		s.Log.Warn("a heartbeat failed", "vendor", l.tenure.Unit.Vendor, "error", err)
	}
}

// Look makes the supervisor look for work now.
func (s *Supervisor) Look() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// Wake says that a unit has new or changed work.
func (s *Supervisor) Wake(u payroll.Unit) {
	s.mu.Lock()
	j := s.running[u]
	delete(s.rest, u)
	s.mu.Unlock()
	if j != nil {
		j.task.Wake()
	}
	s.Look()
}

// Resume takes a unit up at once where its owner is known to be gone.
// *OwnerAliveError where it is being worked on.
func (s *Supervisor) Resume(ctx context.Context, u payroll.Unit) error {
	o := order{unit: u, done: make(chan error, 1)}
	select {
	case s.orders <- o:
	case <-ctx.Done():
		return ErrStopping
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeUp carries out a Resume on the claim loop, which alone starts tasks.
func (s *Supervisor) takeUp(soft, hard context.Context, tasks *errgroup.Group, u payroll.Unit) error {
	s.mu.Lock()
	j := s.running[u]
	s.mu.Unlock()
	if j != nil {
		return &OwnerAliveError{Owner: s.Owner, Age: j.lease.age(s.Now())}
	}
	err := s.claim(soft, hard, tasks, u, false)
	var held *store.HeldError
	if !errors.As(err, &held) {
		return err
	}
	if held.Owner != s.Owner && !s.Gone(held.Owner) {
		return &OwnerAliveError{Owner: held.Owner, Age: s.Now().Sub(held.HeartbeatAt)}
	}
	return s.claim(soft, hard, tasks, u, true)
}
