package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrating keeps two stores of one process from migrating one file at a time;
// other processes are kept away by the lock on the directory.
var migrating sync.Mutex

func migrate(ctx context.Context, db *sql.DB) error {
	migrating.Lock()
	defer migrating.Unlock()
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, folder, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrations: %w", unavailable(err))
	}
	return nil
}
