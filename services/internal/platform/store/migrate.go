package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrationConns is how many connections goose needs.
const migrationConns = 2

// migrate brings the schema up to date.
func migrate(ctx context.Context, cfg Config, dialect goose.Dialect, pool *sql.DB) (err error) {
	files := cfg.Migrations
	if info, statErr := fs.Stat(files, cfg.Driver); statErr == nil && info.IsDir() {
		if files, err = fs.Sub(files, cfg.Driver); err != nil {
			return err
		}
	}
	provider, err := goose.NewProvider(dialect, pool, files,
		goose.WithTableName(cfg.versionTable()),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if errors.Is(err, goose.ErrNoMigrations) {
		return fmt.Errorf("no NNNNN_name.sql at the root of the migrations or in %s (embedded without fs.Sub?): %w", cfg.Driver, err)
	}
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	// A schema from the future has every step of ours, so that Up leaves it
	// alone. The version is read after it, when another replica that was
	// migrating is done.
	if _, err := provider.Up(ctx); err != nil {
		var failed *goose.PartialError
		if errors.As(err, &failed) {
			undone := "was undone"
			if dialect == goose.DialectMySQL {
				undone = "may be half done, because the server cannot undo changes of a schema: put it right and start again"
			}
			return fmt.Errorf("migration %s failed and %s, those before it stand: %w", failed.Failed.Source.Path, undone, failed.Err)
		}
		return fmt.Errorf("migrate: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > target {
		return fmt.Errorf("%w: version %d > %d; run that release, or restore the backup made before it", ErrNewerSchema, current, target)
	}
	return nil
}
