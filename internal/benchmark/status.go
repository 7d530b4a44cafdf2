package benchmark

import (
	"errors"
	"fmt"
	"time"
)

// statusEvery is how often a batch's status is asked for.
const statusEvery = 5 * time.Millisecond

// measureStatus asks for the status of a batch while its lines are being sent as
// fast as the machine allows.
func measureStatus(l *lab) (readings []Reading, err error) {
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
	var took []time.Duration
	runs := 0
	for ; len(took) < l.Sizes.Requests; runs++ {
		during, err := l.statusDuring(g)
		if err != nil {
			return nil, err
		}
		took = append(took, during...)
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return []Reading{{ms(percentile(took, 0.99)), fmt.Sprintf("median %.1f ms, %d requests during %d runs of %d lines",
		ms(percentile(took, 0.5)), len(took), runs, l.Sizes.Lines)}}, nil
}

// statusDuring is how long each request took from the 202 of one pay run until
// it was complete.
func (l *lab) statusDuring(g *gateway) (took []time.Duration, err error) {
	_, period := l.payRun()
	b, err := g.submit(l.ctx, open.name, period, newNDJSON(l.Sizes.Lines))
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for b.CompletedAt.IsZero() {
		begun := time.Now()
		if err := g.get(l.ctx, "/v1/batches/"+b.BatchKey, &b); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begun))
		<-ticker.C
	}
	return took, nil
}
