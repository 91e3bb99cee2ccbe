package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
)

// DB is the open database of a service. It is safe for concurrent use.
type DB struct {
	driver string
	read   *bun.DB
	write  *bun.DB
	writes transactor
	full   atomic.Bool

	close    sync.Once
	closeErr error
}

// transactor runs the closures of Write.
type transactor interface {
	do(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error
	// stop refuses new closures and returns when none is going on.
	stop()
}

// Open opens the database and brings its schema up to date before it answers.
// A SQLite file that is not there is created, and so is a database on a server
// when the address names none. The caller closes the DB.
//
// Errors tell what to do, and never show a password: [ErrUnavailable] for a
// server that does not answer within the dial timeout, [ErrDenied],
// [ErrOldServer], [ErrNewerSchema] for a database written by a newer nanoclaw,
// [ErrCorrupt] for a file that is no intact database, [ErrDiskFull].
func Open(ctx context.Context, cfg Config) (*DB, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Driver == DriverMySQL {
		return openMySQL(ctx, cfg)
	}
	return openSQLite(ctx, cfg)
}

// ForUpdate makes a query inside a Write closure lock the rows that it reads
// until the closure has ended: who decides by a row and then changes it reads it
// this way. On SQLite, where one closure runs at a time, there is nothing to
// lock.
func ForUpdate(q *bun.SelectQuery) *bun.SelectQuery {
	if q.Dialect().Name() == dialect.MySQL {
		return q.For("UPDATE")
	}
	return q
}

// ForUpdateFree is ForUpdate that leaves out the rows which another transaction
// has locked, instead of waiting for it: for work that somebody else is at.
func ForUpdateFree(q *bun.SelectQuery) *bun.SelectQuery {
	if q.Dialect().Name() == dialect.MySQL {
		return q.For("UPDATE SKIP LOCKED")
	}
	return q
}

// NowMillis is the time by which leases are measured, as unix milliseconds: the
// database's own on a server, so that replicas with clocks of their own agree,
// and the clock of this process on SQLite, which has one process. tx is the tx
// of a Write closure, or Read().
func (db *DB) NowMillis(ctx context.Context, tx bun.IDB) (int64, error) {
	if db.driver == DriverSQLite {
		return time.Now().UnixMilli(), nil
	}
	return mysqlNow(ctx, tx)
}

// Driver is DriverSQLite or DriverMySQL.
func (db *DB) Driver() string { return db.driver }

// Write runs fn in a transaction and returns nil once it is committed. When fn
// returns an error or panics ([PanicError]), its changes are undone and the
// error is returned. The package comment tells how commits are shared, when fn
// runs again and what it may do.
//
// A ctx that ends before fn starts leaves fn unrun. From then on the drivers
// differ. On SQLite fn is carried to its end, and Write waits for it: fn's ctx
// has the values of ctx but not its deadline, because a statement cut short
// inside a shared transaction would take its neighbours with it. On a server
// fn's ctx ends with ctx, and what fn did is undone; a COMMIT that has been sent
// is waited for.
//
// Errors besides fn's own: [ErrClosed], [ErrNested], [ErrDiskFull],
// [ErrCorrupt], [ErrUnavailable], the error of ctx, or that of a COMMIT that
// failed; after all of them nothing was written. Only after [ErrUnknownCommit]
// it may have been.
func (db *DB) Write(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	err := db.writes.do(ctx, fn)
	switch {
	case err == nil:
		db.full.Store(false)
	case errors.Is(err, ErrDiskFull):
		db.full.Store(true)
	}
	return err
}

// Full says that a Write has failed with [ErrDiskFull], and none has succeeded
// since. It is for those who wait for something that somebody else must write.
func (db *DB) Full() bool { return db.full.Load() }

// Read is for queries. It shows what has been committed, cannot write, and must
// not be used inside a Write closure, which would not see its own changes.
func (db *DB) Read() bun.IDB { return db.read }

// Close waits for the commit in progress and closes the database. Writes that
// still wait get [ErrClosed]. It may be called more than once.
func (db *DB) Close() error {
	db.close.Do(func() {
		db.writes.stop()
		// The writer goes last: the last connection folds the log into the file.
		db.closeErr = errors.Join(db.read.Close(), db.write.Close())
	})
	return db.closeErr
}
