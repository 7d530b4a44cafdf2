package ratelimit

import "context"

// Connection is the account at a vendor through which lines go, as far as its
// use is limited: one gate, one set of turns, one pacer.
type Connection struct {
	gate  *Gate
	turns *Turns
	pacer Pacer
}

// NewConnection puts the three together.
func NewConnection(gate *Gate, turns *Turns, pacer Pacer) *Connection {
	return &Connection{gate: gate, turns: turns, pacer: pacer}
}

// Gate is the connection's gate, to report events to and to wait at.
func (c *Connection) Gate() *Gate { return c.gate }

// InFlight is the number of passes held.
func (c *Connection) InFlight() int { return c.turns.InFlight() }

// Enter waits for the flow's turn, a place in flight and a token about to be
// due. After it: commit the attempt, Take, write, read the answer, Leave.
//
// It returns ErrClosed at once if the gate forbids the kind, and as soon as the
// gate closes while it waits: a worker is never held by a closed gate. It
// otherwise fails only when ctx ends, with the cause. A Probe in an outage is
// refused while another one is out or the next one is not due.
func (c *Connection) Enter(ctx context.Context, flow Flow, kind Kind) (*Pass, error) {
	probe, err := c.gate.enter(kind)
	if err != nil {
		return nil, err
	}
	p := &Pass{gate: c.gate, kind: kind, probe: probe}
	watched, stop := c.gate.watch(ctx, kind)
	defer stop()
	if p.turn, err = c.turns.Enter(watched, flow); err != nil {
		p.Leave()
		return nil, err
	}
	if p.ticket, err = c.pacer.Admit(watched, kind); err != nil {
		p.Leave()
		return nil, err
	}
	return p, nil
}

// Pass is the right to send one request, and its place in flight until Leave.
// It belongs to one goroutine.
type Pass struct {
	gate   *Gate
	kind   Kind
	probe  uint64
	turn   *Turn
	ticket Ticket
}

// Take waits for the token and consumes it: write at once when it returns nil.
// On ErrClosed, or when ctx ends, nothing was consumed and nothing may be
// written: the attempt is void, and the pass is of no further use.
func (p *Pass) Take(ctx context.Context) error {
	watched, stop := p.gate.watch(ctx, p.kind)
	defer stop()
	return p.ticket.Take(watched)
}

// Report tells the gate what came of this request; see Gate.Report. Use it
// rather than the gate's own, so that a probe is known as one.
func (p *Pass) Report(e Event) (now Snapshot, changed bool) {
	e.probe = p.probe
	return p.gate.Report(e)
}

// Leave gives back whatever the pass still holds: its token if it was not
// taken, its place in flight, its being the probe. It may be called at any time
// and more than once.
func (p *Pass) Leave() {
	if p.ticket != nil {
		p.ticket.Cancel()
	}
	if p.turn != nil {
		p.turn.Leave()
	}
	if p.probe != 0 {
		p.Report(Event{kind: probeAbandoned})
		p.probe = 0
	}
}
