package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	// ErrClosed is the answer to a Write after Close.
	ErrClosed = errors.New("store: the database is closed")
	// ErrNested is the answer to a Write from inside a Write closure, which
	// would wait for itself: use the tx at hand.
	ErrNested = errors.New("store: Write inside a Write closure: use the tx that the closure was given")
	// ErrDiskFull says that nothing was written because the disk is full.
	ErrDiskFull = errors.New("the disk is full: free some space and try again")
	// ErrCorrupt says that the file is not an intact database.
	ErrCorrupt = errors.New("the file is not an intact SQLite database: restore it from a backup, or move it away to start empty")
	// ErrNewerSchema says that a newer nanoclaw has changed the schema.
	ErrNewerSchema = errors.New("the database was written by a newer nanoclaw")
)

// PanicError is a panic of a Write closure, returned as its error.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("store: panic in a write: %v", e.Value) }

// IsUnique tells whether err comes from a UNIQUE or PRIMARY KEY constraint.
func IsUnique(err error) bool {
	switch sqliteCode(err) {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// explain adds what to do about the failures that a person can do something
// about. The inner error stays in the chain.
func explain(err error) error {
	const primary = 0xff // the low byte is the kind, the rest its detail
	switch sqliteCode(err) & primary {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another process holds the database: stop it, or wait until its backup is done: %w", err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("the file and its folder must be writable for this user: %w", err)
	}
	return err
}

func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
