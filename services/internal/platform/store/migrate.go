package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// migrate brings the schema up to date on a pool of its own, because goose needs
// more than one connection.
func migrate(ctx context.Context, cfg Config, path string) (err error) {
	if cfg.Migrations == nil {
		return nil
	}
	const conns = 2
	pool, err := openPool(ctx, dsn(path, cfg, false), conns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	files := cfg.Migrations
	if info, statErr := fs.Stat(files, cfg.Driver); statErr == nil && info.IsDir() {
		if files, err = fs.Sub(files, cfg.Driver); err != nil {
			return err
		}
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool.DB, files,
		goose.WithTableName(cfg.versionTable()),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()),
	)
	if errors.Is(err, goose.ErrNoMigrations) {
		return fmt.Errorf("no NNNNN_name.sql at the root of the migrations (embedded without fs.Sub?): %w", err)
	}
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}

	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if current > target {
		return fmt.Errorf("%w: version %d > %d; run that release, or restore the backup made before it", ErrNewerSchema, current, target)
	}
	if _, err := provider.Up(ctx); err != nil {
		var failed *goose.PartialError
		if errors.As(err, &failed) {
			return fmt.Errorf("migration %s failed and was undone, those before it stand: %w", failed.Failed.Source.Path, failed.Err)
		}
		return fmt.Errorf("migrate from version %d to %d: %w", current, target, err)
	}
	return nil
}
