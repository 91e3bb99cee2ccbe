// Package schema has the task manager's tables: the migrations that make them
// and one row type for each. It holds no queries; those stand with the concept
// that asks them.
package schema

import (
	"crypto/rand"
	"embed"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

//go:embed migrations/*/*.sql
var files embed.FS

// Migrations are the goose files of the task manager's database, in a folder for
// each driver.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sub
}

// The prefixes of ids say what a thing is, for people who read logs.
const (
	TaskPrefix  = "task_"
	LeasePrefix = "lease_"
	OwnerPrefix = "own_"
)

var entropy = struct {
	sync.Mutex
	*ulid.MonotonicEntropy
}{MonotonicEntropy: ulid.Monotonic(rand.Reader, 0)}

// NewID makes an id with the given prefix. Ids made by one process are in order
// also within a millisecond.
func NewID(prefix string) string {
	entropy.Lock()
	defer entropy.Unlock()
	return prefix + strings.ToLower(ulid.MustNew(ulid.Now(), entropy.MonotonicEntropy).String())
}

// IsID says whether s is an id as NewID makes them with the given prefix.
func IsID(s, prefix string) bool {
	id, ok := strings.CutPrefix(s, prefix)
	if !ok || id != strings.ToLower(id) {
		return false
	}
	_, err := ulid.ParseStrict(id)
	return err == nil
}

// Time is the time that the tables keep as ms; the zero time for 0.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
