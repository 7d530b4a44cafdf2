package benchmark

import (
	"errors"
	"fmt"
	"slices"
)

// measureWAL counts the bytes that the server's log grows by over whole pay
// runs, from the POST to the completed batch. Pages that a checkpoint made the
// server write whole are part of it: a checkpoint lies before the counted runs,
// after a run that is not counted, as one lies before a few runs in real use.
func measureWAL(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	g, err := l.startGateway(db.url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	perLine := func() (float64, error) {
		before, err := db.walPosition(l.ctx)
		if err != nil {
			return 0, err
		}
		_, period := l.payRun()
		if _, err := g.endToEnd(l.ctx, open.name, period, newNDJSON(l.Sizes.Lines)); err != nil {
			return 0, err
		}
		after, err := db.walPosition(l.ctx)
		return float64(after-before) / float64(l.Sizes.Lines), err
	}
	if _, err := perLine(); err != nil {
		return nil, err
	}
	if err := db.checkpoint(l.ctx); err != nil {
		return nil, err
	}
	var counted []float64
	for range l.Sizes.Rounds {
		bytes, err := perLine()
		if err != nil {
			return nil, err
		}
		counted = append(counted, bytes)
	}
	return []Reading{{median(counted), fmt.Sprintf("%.0f to %.0f in %d runs of %d lines, a checkpoint before the first",
		slices.Min(counted), slices.Max(counted), len(counted), l.Sizes.Lines)}}, nil
}
