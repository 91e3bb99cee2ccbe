package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"golang.org/x/sys/unix"
)

// Report is what [Inspect] found.
type Report struct {
	// Where is the file, or the address without its password.
	Where string
	// Server is what answers: "SQLite", or the version that a server gives.
	Server string
	// Exists is false as long as nobody made the database; [Open] does.
	Exists bool
	// Schema is the version of the tables that are there, 0 for none; Latest is
	// the one that Open brings them to.
	Schema, Latest int64
	// Ahead is how far the clock of the server is ahead of ours. Timed is false
	// for SQLite, which has none.
	Ahead time.Duration
	Timed bool
}

// Inspect looks at the database that Open would open, and changes nothing: it
// neither makes nor migrates it. It fails where Open or a write would, with the
// same errors.
func Inspect(ctx context.Context, cfg Config) (Report, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Report{}, err
	}
	look := inspectSQLite
	if cfg.Driver == DriverMySQL {
		look = inspectMySQL
	}
	r := Report{Where: cfg.Path}
	if r.Latest, err = cfg.latest(); err == nil {
		err = look(ctx, cfg, &r)
	}
	if err == nil && r.Schema > r.Latest {
		err = fmt.Errorf("%w: version %d > %d; run that release, or restore the backup made before it", ErrNewerSchema, r.Schema, r.Latest)
	}
	switch {
	case err != nil && r.Where == "": // the dsn cannot be read
		return r, fmt.Errorf("store %s: %w", cfg.Service, err)
	case err != nil:
		return r, fmt.Errorf("store %s: %s: %w", cfg.Service, r.Where, explain(err))
	}
	return r, nil
}

// latest is the newest of the migrations.
func (c Config) latest() (int64, error) {
	if c.Migrations == nil {
		return 0, nil
	}
	var newest int64
	for _, pattern := range []string{c.Driver + "/*.sql", "*.sql"} {
		files, err := fs.Glob(c.Migrations, pattern)
		if err != nil {
			return 0, err
		}
		for _, file := range files {
			version, err := goose.NumericComponent(file)
			if err != nil {
				return 0, fmt.Errorf("migration %s: %w", file, err)
			}
			newest = max(newest, version)
		}
		if len(files) > 0 {
			break
		}
	}
	return newest, nil
}

func inspectSQLite(ctx context.Context, cfg Config, r *Report) (err error) {
	r.Server = "SQLite"
	if _, err := os.Stat(cfg.Path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	r.Exists = true
	for _, path := range []string{cfg.Path, filepath.Dir(cfg.Path)} {
		if err := unix.Access(path, unix.W_OK); err != nil {
			return fmt.Errorf("the file and its folder must be writable for this user: %s: %w", path, err)
		}
	}
	pool, err := sql.Open(DriverSQLite, untouched(cfg))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var tables int
	if err := pool.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", cfg.versionTable()).Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return nil
	}
	return r.readSchema(ctx, pool, cfg)
}

// untouched is a dsn for reading a file and leaving nothing beside it: a file
// without a log is read as if it could not change, because a reader would make
// the log and could not remove it.
func untouched(cfg Config) string {
	q := url.Values{"mode": {"ro"}, "_query_only": {"1"}}
	if _, err := os.Stat(cfg.Path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		q.Set("immutable", "1")
	}
	path, err := filepath.Abs(cfg.Path)
	if err != nil {
		path = cfg.Path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func inspectMySQL(ctx context.Context, cfg Config, r *Report) (err error) {
	addr, err := parseAddress(cfg)
	if err != nil {
		return err
	}
	r.Where = addr.String()
	srv, err := probe(ctx, addr.cfg)
	r.Exists = err == nil
	if !addr.named && mysqlNumber(err) == erUnknownDatabase {
		outside := addr.cfg.Clone()
		outside.DBName = ""
		srv, err = probe(ctx, outside)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: no answer in time", ErrUnavailable)
	}
	if err != nil {
		return addr.explain(err)
	}
	r.Server = srv.version
	if err := srv.check(); err != nil || !r.Exists {
		return err
	}
	pool, err := connectMySQL(ctx, addr.session(srv, nil), 1)
	if err != nil {
		return addr.explain(err)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := r.compareClocks(ctx, pool); err != nil {
		return err
	}
	var tables int
	err = pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?",
		addr.cfg.DBName, cfg.versionTable()).Scan(&tables)
	if err != nil {
		return err
	}
	if tables > 0 {
		err = r.readWritable(ctx, pool, addr, cfg)
	}
	if err == nil && r.Schema < r.Latest {
		err = addr.explain(mayMigrate(ctx, pool))
	}
	return err
}

func (r *Report) readWritable(ctx context.Context, pool *sql.DB, addr address, cfg Config) error {
	if err := mayWrite(ctx, pool, cfg.versionTable()); err != nil {
		return addr.explain(err)
	}
	return r.readSchema(ctx, pool, cfg)
}

// mayWrite tries every kind of change on no row at all: a server checks rights,
// and whether it is read-only, before it looks for rows.
func mayWrite(ctx context.Context, pool *sql.DB, table string) error {
	for _, change := range []string{
		"INSERT INTO " + table + " (version_id, is_applied) SELECT version_id, is_applied FROM " + table + " WHERE 1 = 0",
		"UPDATE " + table + " SET is_applied = is_applied WHERE 1 = 0",
		"DELETE FROM " + table + " WHERE 1 = 0",
	} {
		if _, err := pool.ExecContext(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// mayMigrate tries every kind of change that a migration makes on a table that
// nobody has: a server checks rights before it looks for the table, or at the
// columns of a new one.
func mayMigrate(ctx context.Context, pool *sql.DB) error {
	for _, try := range []struct {
		change  string
		allowed uint16 // what a server says to whoever may
	}{
		{"CREATE TABLE nanoclaw_rights (a INT, a INT)", erDuplicateColumn},
		{"ALTER TABLE nanoclaw_rights ADD b INT", erNoSuchTable},
		{"CREATE INDEX by_a ON nanoclaw_rights (a)", erNoSuchTable},
		{"DROP TABLE nanoclaw_rights", erUnknownTable},
	} {
		if _, err := pool.ExecContext(ctx, try.change); err != nil && mysqlNumber(err) != try.allowed {
			return err
		}
	}
	return nil
}

func (r *Report) readSchema(ctx context.Context, pool *sql.DB, cfg Config) error {
	return pool.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+cfg.versionTable()).Scan(&r.Schema)
}

// compareClocks takes the middle of the question for the time of the answer.
func (r *Report) compareClocks(ctx context.Context, pool *sql.DB) error {
	asked := time.Now()
	var ms int64
	if err := pool.QueryRowContext(ctx, "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)").Scan(&ms); err != nil {
		return fmt.Errorf("read the clock of the database: %w", err)
	}
	r.Timed, r.Ahead = true, time.UnixMilli(ms).Sub(asked.Add(time.Since(asked)/2))
	return nil
}
