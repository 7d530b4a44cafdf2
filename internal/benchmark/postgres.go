package benchmark

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// database is a database of its own for an experiment, on the server that all
// share.
type database struct {
	url   string
	pool  *pgxpool.Pool
	name  string
	admin *pgx.Conn
}

// newDatabase makes an empty database; close drops it.
func newDatabase(ctx context.Context, server string) (d *database, err error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the URL of the Postgres server cannot be read")
	}
	var b [6]byte
	rand.Read(b[:]) // never fails
	d = &database{name: "gateway_bench_" + hex.EncodeToString(b[:])}
	if d.admin, err = pgx.Connect(ctx, server); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if _, err = d.admin.Exec(ctx, "CREATE DATABASE "+d.name); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %w", err), d.admin.Close(ctx))
	}
	u.Path = "/" + d.name
	d.url = u.String()
	config, err := pgxpool.ParseConfig(d.url)
	if err == nil {
		config.MaxConns = inFlight + 2
		d.pool, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	return d, nil
}

func (d *database) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if d.pool != nil {
		d.pool.Close()
	}
	_, err := d.admin.Exec(ctx, "DROP DATABASE "+d.name+" WITH (FORCE)")
	return errors.Join(err, d.admin.Close(ctx))
}

// checkpoint makes both sides of a comparison begin alike: each pays for whole
// pages in the log the first time it touches them.
func (d *database) checkpoint(ctx context.Context) error {
	_, err := d.admin.Exec(ctx, "CHECKPOINT")
	return err
}

// walPosition is how many bytes the server has ever written to its log.
func (d *database) walPosition(ctx context.Context) (position int64, err error) {
	err = d.admin.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").Scan(&position)
	return position, err
}

// ServerVersion is the version of the server as it tells it.
func ServerVersion(ctx context.Context, server string) (version string, err error) {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("postgres: %w", err)
	}
	err = conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return version, errors.Join(err, conn.Close(ctx))
}
