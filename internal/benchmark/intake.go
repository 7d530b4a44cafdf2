package benchmark

import (
	"errors"
	"time"
)

// measureIntake: the whole way of a body, from its first byte on the wire to the
// 202 in the caller's hand, against a COPY of rows that are ready. Nothing is
// sent meanwhile: the vendor's account is shut.
func measureIntake(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	if _, err := db.pool.Exec(l.ctx, createReference); err != nil {
		return nil, err
	}
	g, err := l.startGateway(db.url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	c, err := compare(l.Sizes.Rounds, l.Sizes.Lines, l.bareCopy(db), func() (time.Duration, error) {
		body, err := whole(l.Sizes.Lines)
		if err != nil {
			return 0, err
		}
		_, period := l.payRun()
		if err := db.checkpoint(l.ctx); err != nil {
			return 0, err
		}
		begun := time.Now()
		_, err = g.submit(l.ctx, shut.name, period, body)
		return time.Since(begun), err
	})
	if err != nil {
		return nil, err
	}
	return []Reading{c.reading()}, nil
}
