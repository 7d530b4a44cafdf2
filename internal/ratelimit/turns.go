package ratelimit

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Flow is what turns are taken between: one tenant's pay period.
type Flow struct{ Tenant, Period string }

// Turns bounds how many requests of a connection are in flight, and hands out
// the places round robin over the flows that want one: a flow with a thousand
// waiting workers gets no more turns than a flow with one. Within a flow it is
// first come, first served. It is safe for concurrent use.
type Turns struct {
	capacity, perFlow int

	mu       sync.Mutex
	inFlight int
	flows    map[Flow]*flowQueue // those with someone waiting or in flight
	ring     []*flowQueue        // those with someone waiting, next turn first
}

type flowQueue struct {
	flow     Flow
	inFlight int
	waiting  []*Turn
}

// Turn is a place in flight, held until Leave. It belongs to one goroutine.
type Turn struct {
	turns   *Turns
	queue   *flowQueue
	granted chan struct{}
	left    bool
}

// NewTurns makes turns with so many places for the connection, and at most
// perFlow of them for one flow; perFlow 0 leaves a flow all of them.
func NewTurns(capacity, perFlow int) (*Turns, error) {
	if capacity < 1 {
		return nil, fmt.Errorf("concurrency is %d, it must be at least 1: nothing would ever be sent", capacity)
	}
	if perFlow < 0 {
		return nil, fmt.Errorf("concurrency per pay period is %d, it must not be negative", perFlow)
	}
	if perFlow == 0 {
		perFlow = capacity
	}
	return &Turns{capacity: capacity, perFlow: perFlow, flows: map[Flow]*flowQueue{}}, nil
}

// InFlight is the number of places taken.
func (t *Turns) InFlight() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight
}

// Enter waits for the flow's turn and a free place. It fails only when ctx
// ends, with the cause.
func (t *Turns) Enter(ctx context.Context, flow Flow) (*Turn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	turn := t.queue(flow)
	select {
	case <-turn.granted:
		return turn, nil
	case <-ctx.Done():
		t.withdraw(turn)
		return nil, context.Cause(ctx)
	}
}

// Leave frees the place; a second call does nothing.
func (u *Turn) Leave() {
	u.turns.mu.Lock()
	defer u.turns.mu.Unlock()
	u.turns.leave(u)
}

func (t *Turns) queue(flow Flow) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.flows[flow]
	if q == nil {
		q = &flowQueue{flow: flow}
		t.flows[flow] = q
	}
	turn := &Turn{turns: t, queue: q, granted: make(chan struct{})}
	if len(q.waiting) == 0 {
		t.ring = append(t.ring, q)
	}
	q.waiting = append(q.waiting, turn)
	t.grant()
	return turn
}

// withdraw takes back a request for a turn, or a turn granted meanwhile.
func (t *Turns) withdraw(turn *Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := turn.queue
	i := slices.Index(q.waiting, turn)
	if i < 0 {
		t.leave(turn)
		return
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if len(q.waiting) == 0 {
		t.ring = slices.DeleteFunc(t.ring, func(r *flowQueue) bool { return r == q })
	}
	t.forget(q)
}

func (t *Turns) leave(turn *Turn) {
	if turn.left {
		return
	}
	turn.left = true
	t.inFlight--
	turn.queue.inFlight--
	t.forget(turn.queue)
	t.grant()
}

func (t *Turns) forget(q *flowQueue) {
	if q.inFlight == 0 && len(q.waiting) == 0 {
		delete(t.flows, q.flow)
	}
}

// grant hands out free places: to the first flow of the ring that is below its
// cap, which then goes to the back.
func (t *Turns) grant() {
	for t.inFlight < t.capacity {
		i := slices.IndexFunc(t.ring, func(q *flowQueue) bool { return q.inFlight < t.perFlow })
		if i < 0 {
			return
		}
		q := t.ring[i]
		t.ring = slices.Delete(t.ring, i, i+1)
		next := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		if len(q.waiting) > 0 {
			t.ring = append(t.ring, q)
		}
		q.inFlight++
		t.inFlight++
		close(next.granted)
	}
}
