package benchmark

import (
	"errors"
	"fmt"
	"time"
)

// smallRuns is how many small batches the largest is compared with.
const smallRuns = 5

// measureMillion streams in the largest batch there may be and has it sent: how
// much memory that takes, and whether a line of it costs more than one of a
// small batch.
func measureMillion(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	m, err := l.million(db.url)
	if err != nil {
		return nil, err
	}
	return []Reading{m.memory, {
		m.largest / median(m.small),
		fmt.Sprintf("%d lines at %.0f lines/s, %d at %.0f, end to end", l.Sizes.Largest, m.largest, l.Sizes.Small, median(m.small)),
	}}, nil
}

// measureMillionEmbedded is about the memory alone.
func measureMillionEmbedded(l *lab) ([]Reading, error) {
	m, err := l.million(l.sqlite("million"))
	return []Reading{m.memory}, err
}

// million is what came of the largest batch.
type million struct {
	memory  Reading
	largest float64 // lines/s
	small   []float64
}

func (l *lab) million(store string) (m million, err error) {
	g, err := l.startGateway(store)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	for range 1 + smallRuns { // the first is for caches and plans
		d, err := l.stream(g, l.Sizes.Small)
		if err != nil {
			return m, err
		}
		m.small = append(m.small, speed(l.Sizes.Small, d))
	}
	m.small = m.small[1:]
	before, err := g.process.peakMemory()
	if err != nil {
		return m, err
	}
	d, err := l.stream(g, l.Sizes.Largest)
	if err != nil {
		return m, err
	}
	m.largest = speed(l.Sizes.Largest, d)
	peak, err := g.process.peakMemory()
	m.memory = Reading{mebibytes(peak), fmt.Sprintf("%d lines in %.0f s, %.0f MiB before them", l.Sizes.Largest, d.Seconds(), mebibytes(before))}
	return m, err
}

// stream sends a pay run that is made while it is read.
func (l *lab) stream(g *gateway, lines int) (time.Duration, error) {
	_, period := l.payRun()
	return g.endToEnd(l.ctx, open.name, period, newNDJSON(lines))
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
