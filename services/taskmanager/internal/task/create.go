// Package task keeps crawl tasks for their users: made, read, listed, watched by
// their log, and cancelled. Every method takes the user; a task of somebody else
// is ErrNotFound.
package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/ledger"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/urlkey"
)

// ReasonBadURL is the reason of what is no address that can be fetched, in the
// words of the fetcher.
const ReasonBadURL = "URL_REFUSED"

var (
	// ErrNotFound says that there is no such task of this user.
	ErrNotFound = errors.New("task: not found")
	// ErrTooMany says that the user has as many tasks as may wait and run.
	ErrTooMany = errors.New("task: too many tasks have not ended")
	// ErrKeyReused says that the key came with another body before.
	ErrKeyReused = errors.New("task: the key was used with another body")
)

// Store keeps tasks.
type Store struct {
	DB *store.DB
	// Clock stamps rows, in unix milliseconds.
	Clock func(ctx context.Context, tx bun.IDB) (int64, error)
	// MaxPerUser tasks of a user may wait and run; more are refused.
	MaxPerUser int
}

// URL is an address as it was asked for.
type URL struct {
	urlkey.Address
	// Reason and Words say why it cannot be fetched; empty when it can.
	Reason, Words string
}

// Key makes a request safe to repeat. The zero Key is none.
type Key struct{ Key, BodySHA256 string }

// Request asks for a new task.
type Request struct {
	UserID      string
	URLs        []URL
	ExtractType string
	Parallel    int
	TraceParent string
	Key         Key
}

// Create stores a task, its addresses and its first event. Addresses of one key
// are one; those that cannot be fetched are failed results at once. A key that
// came before answers the task of then.
func (s *Store) Create(ctx context.Context, req Request) (schema.Task, error) {
	var t schema.Task
	id := ident.New(schema.TaskPrefix)
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		earlier, err := take(ctx, tx, now, req.UserID, req.Key, id)
		if err != nil {
			return err
		}
		if earlier != "" {
			t, err = get(ctx, tx, req.UserID, earlier)
			return err
		}
		if err := s.admit(ctx, tx, now, req.UserID); err != nil {
			return err
		}
		t = schema.Task{
			ID: id, UserID: req.UserID, ExtractType: req.ExtractType, Parallel: req.Parallel, Status: schema.StatusPending,
			TraceParent: req.TraceParent, CreatedAt: now,
		}
		return insert(ctx, tx, now, &t, req.URLs)
	})
	if errors.Is(err, store.ErrUnknownCommit) { // the id tells whether it was written
		if there, readErr := s.Get(ctx, req.UserID, id); readErr == nil {
			return there, nil
		}
	}
	return t, err
}

// admit refuses a task too many.
func (s *Store) admit(ctx context.Context, tx bun.IDB, now int64, userID string) error {
	if err := frontier.LockUser(ctx, tx, now, userID); err != nil {
		return err
	}
	n, err := tx.NewSelect().Model((*schema.Task)(nil)).
		Where("user_id = ? AND status IN (?, ?)", userID, schema.StatusPending, schema.StatusRunning).Count(ctx)
	if err != nil {
		return fmt.Errorf("count tasks: %w", err)
	}
	if int(n) >= s.MaxPerUser {
		return ErrTooMany
	}
	return nil
}

// insert inserts a task with its addresses.
func insert(ctx context.Context, tx bun.IDB, now int64, t *schema.Task, urls []URL) error {
	rows, bad := addresses(t.ID, urls)
	t.Total = len(rows)
	if _, err := tx.NewInsert().Model(t).Exec(ctx); err != nil {
		return fmt.Errorf("store task: %w", err)
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("store addresses of task %s: %w", t.ID, err)
	}
	var hosts []string
	seen := map[string]bool{"": true}
	for _, a := range rows {
		if !seen[a.Host] {
			seen[a.Host] = true
			hosts = append(hosts, a.Host)
		}
	}
	if err := frontier.Ensure(ctx, tx, now, hosts); err != nil {
		return err
	}
	book := ledger.New(tx, now, t)
	book.Status(schema.StatusPending, "")
	if err := book.Close(ctx, bad); err != nil {
		return err
	}
	return book.Save(ctx)
}

// addresses are the rows of the different addresses, and those that fail at once.
func addresses(taskID string, urls []URL) (rows []schema.Address, bad []ledger.Done) {
	seen := map[urlkey.Key]bool{}
	for _, u := range urls {
		if seen[u.Key] {
			continue
		}
		seen[u.Key] = true
		a := schema.Address{TaskID: taskID, URLKey: u.Key[:], Ordinal: len(rows), Origin: u.Origin, Host: u.Host, URL: u.URL}
		rows = append(rows, a)
		if u.Reason != "" {
			bad = append(bad, ledger.Done{Address: a, State: schema.StateFailed, Reason: u.Reason, Message: u.Words})
		}
	}
	return rows, bad
}
