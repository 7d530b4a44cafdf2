package benchmark

import (
	"errors"
	"path/filepath"
	"time"
)

// measureEmbedded runs the same pay runs through a gateway on SQLite and one on
// Postgres, from the POST to the completed batch.
func measureEmbedded(l *lab) (readings []Reading, err error) {
	db, err := l.database()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.close(l.ctx)) }()
	onPostgres, err := l.startGateway(db.url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, onPostgres.stop()) }()
	onSQLite, err := l.startGateway(l.sqlite("embedded"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, onSQLite.stop()) }()
	c, err := compare(l.Sizes.Rounds, l.Sizes.Lines, l.endToEnd(onPostgres), l.endToEnd(onSQLite))
	if err != nil {
		return nil, err
	}
	return []Reading{c.reading()}, nil
}

// sqlite is the address of a new embedded store.
func (l *lab) sqlite(name string) string {
	return "sqlite://" + filepath.Join(l.Dir, name, "gateway.db")
}

func (l *lab) endToEnd(g *gateway) run {
	return func() (time.Duration, error) {
		_, period := l.payRun()
		body, err := whole(l.Sizes.Lines)
		if err != nil {
			return 0, err
		}
		return g.endToEnd(l.ctx, open.name, period, body)
	}
}
