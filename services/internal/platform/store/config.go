package store

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
)

// DriverSQLite keeps the database in one local file.
const DriverSQLite = "sqlite"

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
	// Driver is DriverSQLite; empty means the same.
	Driver string
	// Path is the SQLite file. Its folder must exist; the file is created with
	// mode 0600.
	Path string
	// DSN is the address of a server database. DriverSQLite takes none.
	DSN string
	// Synchronous is SyncNormal when empty.
	Synchronous Synchronous
	// Readers is how many queries may read at the same time; 0 means 4.
	Readers int
	// BusyTimeout is how long a statement waits for a lock held by another
	// process, such as a backup; 0 means 5 s.
	BusyTimeout time.Duration
	// Migrations has the goose files NNNNN_name.sql at its root, or in a folder
	// named after the driver when drivers differ. nil: the schema is left alone.
	Migrations fs.FS
}

const (
	defaultReaders     = 4
	defaultBusyTimeout = 5 * time.Second

	// maxBatch is how many closures share one commit.
	maxBatch = 64
	// A checkpoint copies the log into the file about every 16 MiB (pages of
	// 4 KiB); a log that grew under a long read is cut back to 64 MiB.
	walCheckpointPages = 4000
	walMaxBytes        = 64 << 20
)

var serviceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,40}$`)

func (c Config) withDefaults() (Config, error) {
	if c.Driver == "" {
		c.Driver = DriverSQLite
	}
	if c.Synchronous == "" {
		c.Synchronous = SyncNormal
	}
	if c.Readers == 0 {
		c.Readers = defaultReaders
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = defaultBusyTimeout
	}
	switch {
	case !serviceName.MatchString(c.Service):
		return c, fmt.Errorf("store: service name %q: want lower-case letters, digits, - and _", c.Service)
	case c.Driver != DriverSQLite:
		return c, fmt.Errorf("store %s: driver %q is not supported; supported: %s", c.Service, c.Driver, DriverSQLite)
	case c.Path == "":
		return c, fmt.Errorf("store %s: path of the database file is empty", c.Service)
	case c.DSN != "":
		return c, fmt.Errorf("store %s: driver %s takes a path, not a dsn", c.Service, DriverSQLite)
	case !slices.Contains([]Synchronous{SyncNormal, SyncFull}, c.Synchronous):
		return c, fmt.Errorf("store %s: synchronous %q: want %s or %s", c.Service, c.Synchronous, SyncNormal, SyncFull)
	case c.Readers < 0 || c.BusyTimeout < 0:
		return c, errors.New("store " + c.Service + ": readers and busy timeout cannot be negative")
	}
	return c, nil
}

func (c Config) versionTable() string {
	return "goose_" + strings.ReplaceAll(c.Service, "-", "_")
}
