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
	"sync"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"
)

// DB is the open database of a service. It is safe for concurrent use.
type DB struct {
	read   *bun.DB
	write  *bun.DB
	writer *writer

	close    sync.Once
	closeErr error
}

// Open opens the database, creating the file when there is none, and brings its
// schema up to date before it answers. The caller closes the DB.
//
// Errors tell what to do: [ErrCorrupt] for a file that is no intact database,
// [ErrDiskFull], [ErrNewerSchema] for a database written by a newer nanoclaw.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	db, err := openSQLite(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("store %s: open %s: %w", cfg.Service, cfg.Path, explain(err))
	}
	return db, nil
}

func openSQLite(ctx context.Context, cfg Config) (*DB, error) {
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		return nil, err
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	if err := migrate(ctx, cfg, path); err != nil {
		return nil, err
	}
	write, err := openPool(ctx, dsn(path, cfg, false), 1)
	if err != nil {
		return nil, err
	}
	read, err := openPool(ctx, dsn(path, cfg, true), cfg.Readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &DB{read: read, write: write, writer: startWriter(write)}, nil
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

func openPool(ctx context.Context, dsn string, conns int) (*bun.DB, error) {
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
	return bun.NewDB(pool, sqlitedialect.New(), bun.WithDiscardUnknownColumns()), nil
}

func dsn(path string, cfg Config, readOnly bool) string {
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

// Read is for queries. It shows what has been committed, cannot write, and must
// not be used inside a Write closure, which would not see its own changes.
func (db *DB) Read() bun.IDB { return db.read }

// Close waits for the commit in progress and closes the database. Writes that
// still wait get [ErrClosed]. It may be called more than once.
func (db *DB) Close() error {
	db.close.Do(func() {
		db.writer.stop()
		// The writer goes last: the last connection folds the log into the file.
		db.closeErr = errors.Join(db.read.Close(), db.write.Close())
	})
	return db.closeErr
}
