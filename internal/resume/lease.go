package resume

import (
	"context"
	"sync"
	"time"

	"payrollgateway/internal/store"
)

// Lease is the right to work on a unit while it can be sure of it.
type Lease struct {
	tenure store.Tenure
	ttl    time.Duration
	soft   context.CancelFunc
	hard   context.CancelFunc

	mu       sync.Mutex
	deadline time.Time
	beat     time.Time
}

// Tenure is what fences the owner's writes.
func (l *Lease) Tenure() store.Tenure { return l.tenure }

// Deadline is until when the owner can be sure of the unit: a fifth of the
// lock's TTL before anybody else may take it.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

// renewed notes a heartbeat that was begun at the given time and succeeded.
func (l *Lease) renewed(begun time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beat, l.deadline = begun, begun.Add(l.ttl*4/5)
}

func (l *Lease) age(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.beat)
}

// lost: the unit has a newer owner. Nothing more is begun or written, but
// answers that are awaited are still read: each is a fact that the new owner
// cannot learn otherwise.
func (l *Lease) lost() {
	l.mu.Lock()
	l.deadline = l.beat
	l.mu.Unlock()
	l.soft()
}

// end is the end of the task: nothing of it runs any more.
func (l *Lease) end() {
	l.soft()
	l.hard()
}
