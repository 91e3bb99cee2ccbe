package store

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is the answer to a Write after Close.
	ErrClosed = errors.New("store: the database is closed")
	// ErrNested is the answer to a Write from inside a Write closure, which
	// would wait for itself: use the tx at hand.
	ErrNested = errors.New("store: Write inside a Write closure: use the tx that the closure was given")
	// ErrUnavailable says that the database cannot be reached, or has no room
	// for one more connection or write. Nothing was written; try again later.
	ErrUnavailable = errors.New("the database is not available")
	// ErrUnknownCommit says that the connection broke while the server was
	// committing: the changes are there as a whole or not at all, and only
	// reading tells. Ids are made by the client, so whoever gets this may look
	// for what they wrote, or write the same rows again and take a failure by
	// [IsUnique] for success. The closure was not run again.
	ErrUnknownCommit = errors.New("the connection broke during the commit: it is not known whether the changes were written; read them back before writing again")
	// ErrDenied says that the server refuses the user.
	ErrDenied = errors.New("access to the database is denied")
	// ErrOldServer says that the server is of a version that is too old.
	ErrOldServer = errors.New("the database server is too old: want MySQL 8.0 or MariaDB 10.6, or newer")
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
func IsUnique(err error) bool { return isUniqueSQLite(err) || mysqlNumber(err) == erDupEntry }

// IsUnavailable tells whether err says that the database cannot be reached right
// now, whether it comes from a Write, which says [ErrUnavailable], or as it is
// from a query of Read.
func IsUnavailable(err error) bool {
	return errors.Is(err, ErrUnavailable) || isBusySQLite(err) || isLost(err) && !errors.Is(err, ErrUnknownCommit)
}

// explain adds what to do about the failures that a person can do something
// about. The inner error stays in the chain.
func explain(err error) error {
	for _, told := range []error{nil, ErrUnavailable, ErrUnknownCommit, ErrDenied, ErrDiskFull} {
		if errors.Is(err, told) {
			return err
		}
	}
	if sqliteCode(err) != 0 {
		return explainSQLite(err)
	}
	return explainMySQL(err)
}
