package store

import (
	"fmt"

	"payrollgateway/internal/payroll"
)

// Effect is what one change does to the rows of its line.
type Effect struct {
	Was    payroll.Standing
	Change payroll.Change
	State  payroll.State // from then on
	// Trouble is the line's row in troubles from then on; nil = none. A line
	// keeps it to its end, and a dead letter beyond (the replay guard reads
	// it): only settling, which closes every attempt, takes it away.
	Trouble *payroll.Trouble
}

// Moved reports whether the line's state changed.
func (e Effect) Moved() bool { return e.State != e.Was.State }

// Ends reports whether the line came into an end state, where an outcome says so.
func (e Effect) Ends() bool { return e.Moved() && e.State.AtRest() }

// Reopens reports whether the line left an end state for an open one.
func (e Effect) Reopens() bool { return e.Was.State.AtRest() && !e.State.AtRest() }

// Effects is what a set of changes does to a batch.
type Effects struct {
	Lines []Effect // in ordinal order of the standings
	Delta payroll.Delta
}

// Apply judges changes against the standings they were decided from: at most
// one per line, none for another line, every event an arrow of the state
// machine. closing is the attempt whose answer is written, 0 for none: its lines
// are in it no longer, unless the change says otherwise. Pure; an error means
// that the decision is wrong, and nothing of it may be written.
func Apply(closing int32, standings []payroll.Standing, changes []payroll.Change) (Effects, error) {
	byOrdinal := make(map[int32]payroll.Change, len(changes))
	for _, c := range changes {
		if _, twice := byOrdinal[c.Ordinal]; twice {
			return Effects{}, fmt.Errorf("two changes of line %d", c.Ordinal)
		}
		byOrdinal[c.Ordinal] = c
	}
	fx := Effects{Lines: make([]Effect, 0, len(changes))}
	for _, s := range standings {
		c, given := byOrdinal[s.Line.Ordinal]
		if !given {
			continue
		}
		e, err := effectOf(closing, s, c)
		if err != nil {
			return Effects{}, err
		}
		fx.Lines = append(fx.Lines, e)
		if e.Moved() {
			fx.Delta.Count(s.Line, s.State, e.State, s.SettledAs, c.Settled.As)
		}
	}
	if len(fx.Lines) != len(changes) {
		return Effects{}, fmt.Errorf("%d changes, of which %d are of lines that were given", len(changes), len(fx.Lines))
	}
	return fx, nil
}

func effectOf(closing int32, s payroll.Standing, c payroll.Change) (Effect, error) {
	e := Effect{Was: s, Change: c, State: s.State}
	if c.Event != 0 {
		to, ok := payroll.Transition(s.State, c.Event)
		if !ok {
			return e, fmt.Errorf("line %d: %s cannot happen to a line that is %s", s.Line.Ordinal, c.Event, s.State)
		}
		e.State = to
	}
	if e.State == payroll.Settled && c.Event != 0 && c.Settled.As == 0 {
		return e, fmt.Errorf("line %d: settled without evidence", s.Line.Ordinal)
	}
	e.Trouble = troubleAfter(closing, e)
	return e, nil
}

// troubleAfter: what the change remembers, else what is remembered already; an
// open live line has at least an empty row, which says that it is in no attempt.
func troubleAfter(closing int32, e Effect) *payroll.Trouble {
	switch {
	case e.State == payroll.Settled:
		return nil
	case e.Change.Trouble != nil:
		t := *e.Change.Trouble
		return &t
	case e.Was.Trouble != nil:
		t := *e.Was.Trouble
		if t.AttemptNo == closing || e.State.AtRest() {
			t.AttemptNo = 0
		}
		return &t
	case e.Was.Live && e.Moved() && !e.State.AtRest():
		return &payroll.Trouble{Generation: 1}
	default:
		return nil
	}
}
