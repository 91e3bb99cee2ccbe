package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pressly/goose/v3"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"
)

func openSQLite(ctx context.Context, cfg Config) (*DB, error) {
	db, err := openFile(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("store %s: open %s: %w", cfg.Service, cfg.Path, explain(err))
	}
	return db, nil
}

func openFile(ctx context.Context, cfg Config) (*DB, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	if err := migrateSQLite(ctx, cfg, path); err != nil {
		return nil, err
	}
	write, err := openSQLitePool(ctx, sqliteDSN(path, cfg, false), 1)
	if err != nil {
		return nil, err
	}
	read, err := openSQLitePool(ctx, sqliteDSN(path, cfg, true), cfg.Readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &DB{driver: DriverSQLite, read: read, write: write, writes: startWriter(write)}, nil
}

// createPrivate makes the file readable by its owner alone. SQLite gives its
// -wal and -shm files the mode of the database.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func openSQLitePool(ctx context.Context, dsn string, conns int) (*bun.DB, error) {
	pool, err := sql.Open(DriverSQLite, dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns) // a connection costs its pragmas: keep them all
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	// Columns that a newer release has added already are no error for this one.
	return bun.NewDB(pool, safeText{sqlitedialect.New()}, bun.WithDiscardUnknownColumns()), nil
}

func sqliteDSN(path string, cfg Config, readOnly bool) string {
	q := url.Values{
		"_busy_timeout": {strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10)},
		"_foreign_keys": {"1"},
		"_synchronous":  {string(cfg.Synchronous)},
		"_dqs":          {"0"}, // "x" is a name, never a string: a typing error is an error
		"_error_rc":     {"1"},
	}
	if readOnly {
		q.Set("_query_only", "1")
	} else {
		q.Set("_journal_mode", "WAL")
		q.Set("_txlock", "immediate")
		q.Add("_pragma", fmt.Sprintf("wal_autocheckpoint(%d)", walCheckpointPages))
		q.Add("_pragma", fmt.Sprintf("journal_size_limit(%d)", walMaxBytes))
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// migrateSQLite brings the schema up to date on a pool of its own, because goose
// needs more than one connection.
func migrateSQLite(ctx context.Context, cfg Config, path string) (err error) {
	if cfg.Migrations == nil {
		return nil
	}
	pool, err := openSQLitePool(ctx, sqliteDSN(path, cfg, false), migrationConns)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return migrate(ctx, cfg, goose.DialectSQLite3, pool.DB)
}
