// Package frontier hands out the addresses of tasks under leases and takes what
// became of them.
//
// A lease is of one task and one host, and a host has at most one. What is leased
// is in the row of the lease: an address stays open until a commit closes it, so
// a lease that ends, however it ends, leaves its addresses open for the next.
// Every write checks the lease in the same transaction.
package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/urlkey"
)

const (
	// LeaseTime is how long a lease lasts without being extended.
	LeaseTime = 15 * time.Second
	// manyLosses of an address with the worker that had it: from then on it is
	// handed out alone, so that it can take no other with it.
	manyLosses = 3
	// maxLosses: then it is given up.
	maxLosses = 10
	// freeAtOnce is how many expired leases one look ends.
	freeAtOnce = 100
)

var (
	// ErrNotNow says that there is nothing to lease: the host or the task has
	// changed meanwhile.
	ErrNotNow = errors.New("frontier: nothing to lease here now")
	// ErrLost says that the lease has ended, or never was.
	ErrLost = errors.New("frontier: the lease has ended")
)

// PartError says that parts did not come one after another.
type PartError struct{ Part, Want int }

func (e *PartError) Error() string {
	return fmt.Sprintf("frontier: part %d came, part %d is next", e.Part, e.Want)
}

// ForeignError says that a page is none of the lease's addresses.
type ForeignError struct{ Index int }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("frontier: page %d is not of this lease", e.Index)
}

// BlobError says that a page names a blob that is not one of its task.
type BlobError struct{ Index int }

func (e *BlobError) Error() string {
	return fmt.Sprintf("frontier: page %d names a blob of something else", e.Index)
}

// BlobKey is where content of a task is that is too large for a row.
func BlobKey(taskID, sha256 string) string { return "crawl/" + taskID + "/" + sha256 }

// Store is the frontier.
type Store struct {
	DB *store.DB
	// Clock is the time by which leases and hosts go, in unix milliseconds.
	Clock func(ctx context.Context, tx bun.IDB) (int64, error)
	// Policy of a host.
	Policy func(host string) host.Policy
	// RunningPerUser tasks of a user are handed out at the same time.
	RunningPerUser int
}

// keysOf are the keys of a lease.
func keysOf(l *schema.Lease) [][]byte {
	var out [][]byte
	for k := l.URLKeys; len(k) >= urlkey.Size; k = k[urlkey.Size:] {
		out = append(out, k[:urlkey.Size])
	}
	return out
}

// Ensure makes rows for hosts that have none.
func Ensure(ctx context.Context, tx bun.IDB, now int64, hosts []string) error {
	if len(hosts) == 0 {
		return nil
	}
	rows := make([]schema.Host, len(hosts))
	for i, h := range hosts {
		rows[i] = schema.Host{Host: h, UpdatedAt: now}
	}
	if _, err := tx.NewInsert().Model(&rows).Ignore().Exec(ctx); err != nil {
		return fmt.Errorf("store hosts: %w", err)
	}
	return nil
}

// saveLease writes who has a host, and its pace only if that was changed.
func saveLease(ctx context.Context, tx bun.IDB, now int64, h *schema.Host, pace host.Pace) error {
	if h.Pace != pace {
		return saveHost(ctx, tx, now, h)
	}
	h.UpdatedAt = now
	if _, err := tx.NewUpdate().Model(h).Column("lease_id", "lease_until", "updated_at").WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("reserve host: %w", err)
	}
	return nil
}

func saveHost(ctx context.Context, tx bun.IDB, now int64, h *schema.Host) error {
	h.UpdatedAt = now
	if _, err := tx.NewUpdate().Model(h).WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("update host: %w", err)
	}
	return nil
}
