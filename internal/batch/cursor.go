package batch

// cursor follows how far a batch has come: every line up to its position has
// left pending and in_flight. It errs low, never high.
type cursor struct {
	next   int32           // first line never planned
	floor  int32           // lowest line below next that was pending when the batch was read; 0 = none
	flying map[int32]int32 // open fresh attempts: number → lowest ordinal
	back   map[int32]bool  // lines that came back untouched
}

func newCursor() *cursor {
	return &cursor{flying: map[int32]int32{}, back: map[int32]bool{}}
}

func (c *cursor) position() int32 {
	lowest := c.next
	if c.floor > 0 {
		lowest = min(lowest, c.floor)
	}
	for _, o := range c.flying {
		lowest = min(lowest, o)
	}
	for o := range c.back {
		lowest = min(lowest, o)
	}
	return lowest - 1
}
