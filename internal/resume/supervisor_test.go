package resume

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"payrollgateway/internal/payroll"
	"payrollgateway/internal/store"
)

// ledger is a fake of store.Tokens: units with an owner, a heartbeat and an
// epoch.
type ledger struct {
	mu    sync.Mutex
	units map[payroll.Unit]*unit
	down  bool
}

type unit struct {
	owner string
	beat  time.Time
	epoch int64
	done  bool
}

func (l *ledger) Claimable(_ context.Context, now time.Time, ttl time.Duration, limit int) ([]store.Claimable, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []store.Claimable
	for u, s := range l.units {
		if !s.done && (s.owner == "" || s.beat.Before(now.Add(-ttl))) && len(out) < limit {
			out = append(out, store.Claimable{Unit: u, Owner: s.owner, HeartbeatAt: s.beat})
		}
	}
	return out, nil
}

func (l *ledger) Claim(_ context.Context, c store.Claim) (store.Tenure, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.units[c.Unit]
	if s.owner != "" && !c.Force && !s.beat.Before(c.Now.Add(-c.TTL)) {
		return store.Tenure{}, &store.HeldError{Owner: s.owner, HeartbeatAt: s.beat}
	}
	s.owner, s.beat, s.epoch = c.Owner, c.Now, s.epoch+1
	return store.Tenure{Unit: c.Unit, Owner: c.Owner, Epoch: s.epoch}, nil
}

func (l *ledger) Heartbeat(_ context.Context, t store.Tenure, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch s := l.units[t.Unit]; {
	case l.down:
		return store.ErrUnavailable
	case s.epoch != t.Epoch:
		return store.ErrFenced
	default:
		s.beat = now
		return nil
	}
}

func (l *ledger) Release(_ context.Context, t store.Tenure) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.units[t.Unit]; s.epoch == t.Epoch {
		s.owner = ""
	}
	return nil
}

// of is a copy of a unit's row.
func (l *ledger) of(u payroll.Unit) unit {
	l.mu.Lock()
	defer l.mu.Unlock()
	return *l.units[u]
}

func (l *ledger) change(u payroll.Unit, f func(*unit)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.units[u])
}

func (*ledger) Work(context.Context, store.Tenure) ([]store.Token, error) { return nil, nil }

func (*ledger) SetState(context.Context, int64, int64, store.BatchState, string, time.Time) error {
	return nil
}

// task works until it is told to stop, or its unit is done.
type task struct {
	idle  atomic.Bool
	began chan<- *Lease
	lease *Lease
	woken chan struct{}
	until chan error
}

func (k *task) Run(hard, soft context.Context) error {
	k.began <- k.lease
	select {
	case <-soft.Done():
	case <-hard.Done():
	case err := <-k.until:
		return err
	}
	return nil
}

func (k *task) Idle() bool { return k.idle.Load() }

func (k *task) Wake() { k.woken <- struct{}{} }

var (
	unitA = payroll.Unit{Tenant: "acme", PayPeriod: "2026-W28", Vendor: "v"}
	unitB = payroll.Unit{Tenant: "brown", PayPeriod: "2026-W28", Vendor: "v"}
)

const ttl = 10 * time.Second

// office is a supervisor with its tasks, running until the test ends.
type office struct {
	*Supervisor
	ledger *ledger
	began  chan *Lease
	tasks  map[payroll.Unit]*task
	stop   context.CancelFunc
	ended  chan error
}

func open(l *ledger, owner string, workers int, gone bool) *office {
	o := &office{ledger: l, began: make(chan *Lease, 16), tasks: map[payroll.Unit]*task{}, ended: make(chan error, 1)}
	o.Supervisor = New(l, Config{
		Owner: owner, TTL: ttl, Workers: workers, Drain: 30 * time.Second, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Settle: func(string) time.Duration { return time.Minute },
		Gone: func(string) bool { return gone },
		Task: func(lease *Lease) (Task, error) {
			k := &task{began: o.began, lease: lease, woken: make(chan struct{}, 1), until: make(chan error, 1)}
			o.tasks[lease.Tenure().Unit] = k
			return k, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	o.stop = cancel
	go func() { o.ended <- o.Run(ctx) }()
	return o
}

func (o *office) close() error {
	o.stop()
	return <-o.ended
}

func newLedger(units ...payroll.Unit) *ledger {
	l := &ledger{units: map[payroll.Unit]*unit{}}
	for _, u := range units {
		l.units[u] = &unit{}
	}
	return l
}

func TestWorkIsClaimedKeptAndGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA, unitB)
		o := open(l, "one", 8, false)
		<-o.began
		<-o.began
		<-time.After(3 * ttl)
		for u := range l.units {
			if age := time.Since(l.of(u).beat); age > ttl/2 {
				t.Errorf("%v: last heartbeat %s ago", u, age)
			}
		}
		l.change(unitA, func(u *unit) { u.done = true })
		o.tasks[unitA].until <- nil
		synctest.Wait()
		if l.of(unitA).owner != "" {
			t.Error("a finished unit was not given back")
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
		if l.of(unitB).owner != "" {
			t.Error("a unit was not given back at the end")
		}
	})
}

// An owner without a heartbeat is dead after the TTL, and not before.
func TestAutomaticTakeOverWaitsForTheTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA)
		l.units[unitA].owner, l.units[unitA].beat, l.units[unitA].epoch = "dead", time.Now(), 4
		began := time.Now()
		o := open(l, "two", 8, false)
		lease := <-o.began
		if waited := time.Since(began); waited < ttl || waited > ttl+2*time.Second {
			t.Errorf("taken over after %s", waited)
		}
		if lease.Tenure().Epoch != 5 {
			t.Errorf("epoch %d", lease.Tenure().Epoch)
		}
		_ = o.close()
	})
}

func TestResumeTakesUpAtOnceWhereTheOwnerIsKnownToBeGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA)
		l.units[unitA].owner, l.units[unitA].beat = "dead", time.Now()
		o := open(l, "two", 8, true)
		began := time.Now()
		if err := o.Resume(t.Context(), unitA); err != nil {
			t.Fatal(err)
		}
		<-o.began
		if waited := time.Since(began); waited != 0 {
			t.Errorf("taken up after %s", waited)
		}
		var alive *OwnerAliveError
		if err := o.Resume(t.Context(), unitA); !errors.As(err, &alive) || alive.Owner != "two" {
			t.Errorf("a second resume: %v", err)
		}
		_ = o.close()
	})
}

func TestResumeIsRefusedWhileTheOwnerMayLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA)
		l.units[unitA].owner, l.units[unitA].beat = "other", time.Now()
		o := open(l, "two", 8, false)
		<-time.After(time.Second)
		var alive *OwnerAliveError
		if err := o.Resume(t.Context(), unitA); !errors.As(err, &alive) || alive.Owner != "other" || alive.Age != time.Second {
			t.Errorf("resume: %v", err)
		}
		_ = o.close()
	})
}

// A worker that was taken over stops at once; one that cannot reach the store
// is no longer sure before anybody else may take its unit.
func TestALostLeaseStopsItsTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA)
		o := open(l, "one", 8, false)
		lease := <-o.began
		l.mu.Lock()
		l.down = true
		l.mu.Unlock()
		<-time.After(ttl)
		if !lease.Deadline().Before(time.Now()) {
			t.Error("without heartbeats the lease still counts")
		}
		if lease.Deadline().After(l.of(unitA).beat.Add(ttl)) {
			t.Error("the lease outlives the claim")
		}
		l.change(unitA, func(u *unit) { l.down, u.epoch, u.owner, u.done = false, 9, "other", true })
		<-time.After(ttl)
		if n := o.count(); n != 0 {
			t.Errorf("%d tasks run on after a take-over", n)
		}
		if l.of(unitA).owner != "other" {
			t.Error("the new owner's claim was given back")
		}
		_ = o.close()
	})
}

// A unit whose work fails is left alone for a while, not tried in a loop.
func TestAFailingUnitRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA)
		o := open(l, "one", 8, false)
		<-o.began
		failed := time.Now()
		o.tasks[unitA].until <- errors.New("out of order")
		<-o.began
		if rested := time.Since(failed); rested < ttl {
			t.Errorf("tried again after %s", rested)
		}
		_ = o.close()
	})
}

func TestNoMoreUnitsThanWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(newLedger(unitA, unitB), "one", 1, false)
		<-o.began
		<-time.After(5 * time.Second)
		if n := o.count(); n != 1 {
			t.Errorf("%d units are worked on by one worker", n)
		}
		_ = o.close()
	})
}

// Units that only wait, for a suspended vendor or for hours, once held every
// worker, and the units of other vendors starved.
func TestAUnitThatWaitsHoldsNoWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(newLedger(unitA, unitB), "one", 1, false)
		first := <-o.began
		o.tasks[first.Tenure().Unit].idle.Store(true)
		<-o.began
		if n := o.count(); n != 2 {
			t.Errorf("%d units are held", n)
		}
		_ = o.close()
	})
}

// A unit that cannot be worked on at all, its vendor being configured no more,
// is in no other unit's way.
func TestAUnitWithoutATaskIsInNobodysWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(unitA, unitB)
		o := &office{ledger: l, began: make(chan *Lease, 16), ended: make(chan error, 1)}
		broken := true
		o.Supervisor = New(l, Config{
			Owner: "one", TTL: ttl, Workers: 1, Drain: 30 * time.Second, Now: time.Now, Poll: time.Hour,
			Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Settle: func(string) time.Duration { return time.Minute },
			Gone: func(string) bool { return false },
			Task: func(lease *Lease) (Task, error) {
				if broken {
					broken = false
					return nil, errors.New("not configured any more")
				}
				return &task{began: o.began, lease: lease, until: make(chan error, 1)}, nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		o.stop = cancel
		go func() { o.ended <- o.Run(ctx) }()
		began := time.Now()
		<-o.began
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the other unit waited %s", waited)
		}
		_ = o.close()
	})
}

// An owner that was taken over begins and writes nothing more, but reads the
// answers that it awaits: at a vendor that cannot be asked nobody else knows them.
func TestALostLeaseLeavesAnswersToBeRead(t *testing.T) {
	t.Parallel()
	var soft, hard bool
	l := &Lease{ttl: ttl, soft: func() { soft = true }, hard: func() { hard = true }}
	l.renewed(time.Now())
	l.lost()
	if !soft || hard || l.Deadline().After(time.Now()) {
		t.Errorf("soft %v, hard %v, sure until %s", soft, hard, l.Deadline())
	}
}

func TestWakeReachesTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := open(newLedger(unitA), "one", 1, false)
		<-o.began
		o.Wake(unitA)
		<-o.tasks[unitA].woken
		_ = o.close()
	})
}
