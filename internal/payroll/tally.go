package payroll

// Counts is how many items of a batch stand in each state. They always add up
// to the batch's total.
type Counts [len(stateOrder) + 1]int64

// stateOrder fixes the size of Counts, which is indexed by State.
var stateOrder = [...]State{Pending, InFlight, Retrying, Unknown, Settled, DeadLettered, Cancelled, Superseded}

// Of returns the count of one state.
func (c Counts) Of(s State) int64 { return c[s] }

// Total returns the number of items.
func (c Counts) Total() int64 {
	var n int64
	for _, s := range stateOrder {
		n += c[s]
	}
	return n
}

// AtRest reports whether every item is in an end state.
func (c Counts) AtRest() bool {
	return c[Pending]+c[InFlight]+c[Retrying]+c[Unknown] == 0
}

// Amounts is the money of a batch in one currency, in minor units. What is
// neither settled, dead-lettered, cancelled nor superseded is open.
type Amounts struct {
	Total        Minor
	Settled      Minor // Earlier included
	Earlier      Minor // paid by earlier batches
	DeadLettered Minor
	Cancelled    Minor
	Superseded   Minor
}

// Open returns the money whose fate is not decided.
func (a Amounts) Open() Minor {
	return a.Total - a.Settled - a.DeadLettered - a.Cancelled - a.Superseded
}

// Move adds sign times an item's amount to the bucket of an end state; open
// states have no bucket.
func (a *Amounts) Move(s State, as SettledAs, amount Minor) {
	switch s {
	case Settled:
		a.Settled += amount
		if as == EarlierBatch {
			a.Earlier += amount
		}
	case DeadLettered:
		a.DeadLettered += amount
	case Cancelled:
		a.Cancelled += amount
	case Superseded:
		a.Superseded += amount
	case Pending, InFlight, Retrying, Unknown:
	}
}

// Delta is what a set of changes does to a batch's counts and amounts.
type Delta struct {
	Counts  Counts
	Amounts map[string]Amounts // by currency; Total stays zero
}

// Count adds one line's move from one state to another.
func (d *Delta) Count(l Line, from, to State, wasAs, as SettledAs) {
	d.Counts[from]--
	d.Counts[to]++
	if d.Amounts == nil {
		d.Amounts = make(map[string]Amounts, 1)
	}
	a := d.Amounts[l.Currency]
	a.Move(from, wasAs, -l.Amount)
	a.Move(to, as, l.Amount)
	d.Amounts[l.Currency] = a
}
