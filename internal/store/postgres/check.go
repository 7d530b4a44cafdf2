package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Check connects and refuses a server that Open would refuse (*SettingError),
// and leaves the schema as it is.
func Check(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errors.New("the store's URL cannot be read: postgres://user:password@host:port/database is expected")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	return refuseLosses(ctx, conn)
}
