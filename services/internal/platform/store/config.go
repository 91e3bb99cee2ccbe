package store

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

const (
	// DriverSQLite keeps the database in one local file.
	DriverSQLite = "sqlite"
	// DriverMySQL keeps it on a server: MySQL 8.0 or MariaDB 10.6, or newer.
	DriverMySQL = "mysql"
)

// Synchronous says what a commit waits for.
type Synchronous string

const (
	// SyncNormal survives a crash of the process at any moment. A power cut may
	// take the last commits with it, never the consistency of the file.
	SyncNormal Synchronous = "NORMAL"
	// SyncFull makes each commit wait for the disk, so that it survives a power
	// cut too.
	SyncFull Synchronous = "FULL"
)

// Config describes the database of one service.
type Config struct {
	// Service is the name of the owner, such as "orchestrator": letters, digits,
	// "-" and "_". It names the table of schema versions.
	Service string
	// Driver is DriverSQLite or DriverMySQL; empty means DriverSQLite.
	Driver string
	// Path is the SQLite file. Its folder must exist; the file is created with
	// mode 0600. DriverMySQL takes none.
	Path string
	// DSN is the address on a server: user:password@tcp(host:port)/database.
	// Without a database it is nanoclaw_ and the name of the service, made at
	// the first start if the user may. DriverSQLite takes none.
	DSN config.Secret
	// Synchronous is SyncNormal when empty. A server has its own setting
	// (innodb_flush_log_at_trx_commit).
	Synchronous Synchronous
	// Readers is how many queries may read at the same time; 0 means 4, and 16
	// on a server.
	Readers int
	// Writers is how many writes a server gets at the same time; 0 means 16.
	// SQLite has one writer.
	Writers int
	// BusyTimeout is how long a statement of SQLite waits for a lock held by
	// another process, such as a backup; 0 means 5 s.
	BusyTimeout time.Duration
	// Migrations has the goose files NNNNN_name.sql at its root, or in a folder
	// named after the driver when drivers differ. nil: the schema is left alone.
	Migrations fs.FS
}

const (
	defaultReaders     = 4
	defaultConns       = 16 // of each pool on a server
	defaultBusyTimeout = 5 * time.Second

	// maxBatch is how many closures share one commit.
	maxBatch = 64
	// A checkpoint copies the log into the file about every 16 MiB (pages of
	// 4 KiB); a log that grew under a long read is cut back to 64 MiB.
	walCheckpointPages = 4000
	walMaxBytes        = 64 << 20
)

// A server.
const (
	dialTimeout = 5 * time.Second  // also bounds how long Open waits for a server that is silent
	ioTimeout   = 30 * time.Second // for one answer
	connIdle    = time.Minute      // then a connection is closed
	connLife    = 10 * time.Minute // so that a server behind a changed address is found
	// hungTime is how long a server waits for the next statement of a writer. A
	// process that hangs in the middle of a transaction holds locks, and whoever
	// takes its work over needs them. An idle writer is closed before.
	hungTime   = 15 * time.Second
	writerIdle = 10 * time.Second
	// lockWait is how long a statement waits for rows that another transaction
	// has locked.
	lockWait = 5 * time.Second
	// migrationWait is how long a replica waits for another one that migrates.
	migrationWait = 2 * time.Minute
	// maxRecursion bounds WITH RECURSIVE, which servers cut at 1,000 otherwise.
	maxRecursion = 100_000

	// A closure is run again when other writes were in the way or the connection
	// was lost, so many times, for so long.
	maxConflicts = 20
	maxLosses    = 3
	retryFor     = 20 * time.Second
	firstPause   = 4 * time.Millisecond
	maxPause     = 250 * time.Millisecond
)

var serviceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,40}$`)

func (c Config) withDefaults() (Config, error) {
	if c.Driver == "" {
		c.Driver = DriverSQLite
	}
	if c.Synchronous == "" {
		c.Synchronous = SyncNormal
	}
	if c.Writers == 0 {
		c.Writers = defaultConns
	}
	if c.Readers == 0 {
		c.Readers = defaultReaders
		if c.Driver == DriverMySQL {
			c.Readers = defaultConns
		}
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = defaultBusyTimeout
	}
	switch {
	case !serviceName.MatchString(c.Service):
		return c, fmt.Errorf("store: service name %q: want lower-case letters, digits, - and _", c.Service)
	case !slices.Contains([]string{DriverSQLite, DriverMySQL}, c.Driver):
		return c, fmt.Errorf("store %s: driver %q is not supported; supported: %s, %s", c.Service, c.Driver, DriverSQLite, DriverMySQL)
	case c.Driver == DriverSQLite && c.Path == "":
		return c, fmt.Errorf("store %s: path of the database file is empty", c.Service)
	case c.Driver == DriverSQLite && c.DSN != "":
		return c, fmt.Errorf("store %s: driver %s takes a path, not a dsn", c.Service, DriverSQLite)
	case c.Driver == DriverMySQL && c.DSN == "":
		return c, fmt.Errorf("store %s: %w", c.Service, errDSN)
	case c.Driver == DriverMySQL && c.Path != "":
		return c, fmt.Errorf("store %s: driver %s takes a dsn, not a path", c.Service, DriverMySQL)
	case !slices.Contains([]Synchronous{SyncNormal, SyncFull}, c.Synchronous):
		return c, fmt.Errorf("store %s: synchronous %q: want %s or %s", c.Service, c.Synchronous, SyncNormal, SyncFull)
	case c.Readers < 0 || c.Writers < 0 || c.BusyTimeout < 0:
		return c, errors.New("store " + c.Service + ": readers, writers and busy timeout cannot be negative")
	}
	return c, nil
}

func (c Config) versionTable() string {
	return "goose_" + strings.ReplaceAll(c.Service, "-", "_")
}
