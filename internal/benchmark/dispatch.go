package benchmark

import (
	"errors"
	"fmt"
	"time"

	"payrollgateway/internal/store/postgres"
)

// measureDispatch: the same lines, the same vendor process, the same server; our
// engine with all it promises against a loop without any of it.
func measureDispatch(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	bare, err := newBareLoop(l.ctx, db, l.vendorURL)
	if err != nil {
		return nil, err
	}
	defer bare.close()
	counter := &statements{}
	ledger, err := postgres.Open(l.ctx, db.url, postgres.WithTracer(counter))
	if err != nil {
		return nil, err
	}
	ours, err := newEngine(ledger, l.vendorURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	perChunk := 0.0
	c, err := compare(l.Sizes.Rounds, l.Sizes.Lines, l.bareDispatch(bare), func() (d time.Duration, err error) {
		d, perChunk, err = l.ourDispatch(ours, db, counter)
		return d, err
	})
	if err != nil {
		return nil, err
	}
	return []Reading{c.reading(), {perChunk, fmt.Sprintf("%d chunks of a clean run", chunks(l.Sizes.Lines))}}, nil
}

// chunks is how many requests so many lines take.
func chunks(lines int) int { return (lines + chunkSize - 1) / chunkSize }

func (l *lab) bareDispatch(b *bareLoop) run {
	return func() (time.Duration, error) {
		batch, period := l.payRun()
		if err := b.load(l.ctx, batch, period, l.Sizes.Lines); err != nil {
			return 0, err
		}
		if err := b.db.checkpoint(l.ctx); err != nil {
			return 0, err
		}
		begun := time.Now()
		err := b.send(l.ctx, batch, l.Sizes.Lines)
		return time.Since(begun), err
	}
}

func (l *lab) ourDispatch(e *engine, db *database, counter *statements) (d time.Duration, perChunk float64, err error) {
	_, period := l.payRun()
	tenure, err := e.load(l.ctx, period, l.Sizes.Lines)
	if err != nil {
		return 0, 0, err
	}
	if err := db.checkpoint(l.ctx); err != nil {
		return 0, 0, err
	}
	if l.Profile != nil {
		defer l.Profile()()
	}
	before, begun := counter.n.Load(), time.Now()
	err = e.send(l.ctx, tenure)
	return time.Since(begun), float64(counter.n.Load()-before) / float64(chunks(l.Sizes.Lines)), err
}
