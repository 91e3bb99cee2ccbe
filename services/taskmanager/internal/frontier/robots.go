package frontier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/ledger"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// How long a verdict of robots.txt is kept: RFC 9309 section 2.4 says at most a
// day.
const (
	minRobotsValid = time.Minute
	maxRobotsValid = 24 * time.Hour
)

// ReasonRefused is the reason of an address that the fetcher does not fetch.
const ReasonRefused = "URL_REFUSED"

// Verdict is what robots.txt says of addresses of one origin.
type Verdict struct {
	// Unreachable: it could not be had, and nothing is allowed; Reason says why.
	Unreachable bool
	Reason      string
	CrawlDelay  time.Duration
	Valid       time.Duration
	// Allowed is for each of the addresses that were asked about. Refused has
	// words for those that the fetcher does not fetch at all.
	Allowed []bool
	Refused []string
}

// closes reports whether some of n addresses may be closed by the verdict.
func (v Verdict) closes(n int) bool {
	for i := range n {
		if i >= len(v.Allowed) || !v.Allowed[i] {
			return true
		}
	}
	return v.Unreachable
}

// refused are the words for an address; empty when it is fetched.
func (v Verdict) refused(i int) string {
	if i < len(v.Refused) {
		return v.Refused[i]
	}
	return ""
}

// Checked is what a verdict changed. Task and Host are empty when they were left
// alone.
type Checked struct {
	Task schema.Task
	Host schema.Host
	// Allowed until Until, and Closed.
	Allowed, Closed [][]byte
	Until           int64
	// Stale says that addresses which were asked about are not open any more.
	Stale bool
}

// Robots applies a verdict: what is allowed may be handed out while it holds,
// what is not is skipped. A verdict that could not be had lets the host wait, and
// at last fails what the task wants of it.
func (s *Store) Robots(ctx context.Context, asked []schema.Address, v Verdict) (Checked, error) {
	var out Checked
	if len(asked) == 0 {
		return Checked{Stale: true}, nil
	}
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		out = Checked{}
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		h, err := ensured(ctx, tx, now, asked[0].Host)
		if err != nil {
			return err
		}
		was := h
		// Whoever closes addresses has locked their task before reading them.
		var book *ledger.Book
		if v.closes(len(asked)) {
			book, err = ledger.Open(ctx, tx, now, asked[0].TaskID)
			if errors.Is(err, sql.ErrNoRows) {
				out.Stale = true
				return nil // ended meanwhile
			}
			if err != nil {
				return err
			}
		}
		done, err := s.applied(ctx, tx, now, &h, asked, v, &out)
		if err != nil {
			return err
		}
		if len(done) > 0 {
			if err := closeAll(ctx, book, done, &out); err != nil {
				return err
			}
		}
		if h.Pace == was.Pace && h.RobotsUntil-was.RobotsUntil < minRobotsValid.Milliseconds() {
			return nil
		}
		out.Host = h
		return saveHost(ctx, tx, now, &out.Host)
	})
	return out, err
}

// ensured locks the row of a host, and makes it when there is none.
func ensured(ctx context.Context, tx bun.IDB, now int64, name string) (h schema.Host, err error) {
	lock := func() error { return store.ForUpdate(tx.NewSelect().Model(&h).Where("host = ?", name)).Scan(ctx) }
	if err = lock(); errors.Is(err, sql.ErrNoRows) {
		if err = Ensure(ctx, tx, now, []string{name}); err == nil {
			err = lock()
		}
	}
	if err != nil {
		return h, fmt.Errorf("read host: %w", err)
	}
	return h, nil
}

// closeAll closes addresses of a locked task.
func closeAll(ctx context.Context, book *ledger.Book, done []ledger.Done, out *Checked) error {
	if err := book.Close(ctx, done); err != nil {
		return err
	}
	if err := book.Save(ctx); err != nil {
		return err
	}
	for _, d := range done {
		out.Closed = append(out.Closed, d.Address.URLKey)
	}
	out.Task = *book.Task
	return nil
}

// applied changes the host and gives back what is to be closed.
func (s *Store) applied(ctx context.Context, tx bun.IDB, now int64, h *schema.Host, asked []schema.Address, v Verdict, out *Checked) ([]ledger.Done, error) {
	taskID := asked[0].TaskID
	if v.Unreachable {
		if h.NextAt > now { // another task was told so already
			return nil, nil
		}
		if h.RobotsUnreachable(now, v.Valid, v.Reason) {
			return restOf(ctx, tx, taskID, h.Host, host.ReasonUnavailable, nil)
		}
		return nil, nil
	}
	h.RobotsKnown(v.CrawlDelay)
	until := now + min(max(v.Valid, minRobotsValid), maxRobotsValid).Milliseconds()
	h.RobotsUntil = until
	out.Until = until
	var forbidden [][]byte
	words := map[string]string{}
	for i, a := range asked {
		if refused := v.refused(i); refused != "" {
			words[string(a.URLKey)] = refused
		}
		if i < len(v.Allowed) && v.Allowed[i] {
			out.Allowed = append(out.Allowed, a.URLKey)
		} else {
			forbidden = append(forbidden, a.URLKey)
		}
	}
	if len(out.Allowed) > 0 {
		res, err := tx.NewUpdate().Model((*schema.Address)(nil)).Set("robots_until = ?", until).
			Where("task_id = ? AND state = ?", taskID, schema.StateOpen).Where("url_key IN (?)", bun.List(out.Allowed)).Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("mark addresses of task %s as allowed: %w", taskID, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return nil, err
		}
		out.Stale = int(n) < len(out.Allowed)
	}
	if len(forbidden) == 0 {
		return nil, nil
	}
	var rows []schema.Address
	err := tx.NewSelect().Model(&rows).Where("task_id = ? AND state = ?", taskID, schema.StateOpen).
		Where("url_key IN (?)", bun.List(forbidden)).Order("ordinal").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read addresses of task %s: %w", taskID, err)
	}
	var done []ledger.Done
	for _, a := range rows {
		d := ledger.Done{Address: a, State: schema.StateSkipped, Reason: host.ReasonRobots, Message: "the site's robots.txt forbids this address"}
		if refused := words[string(a.URLKey)]; refused != "" {
			d.State, d.Reason, d.Message = schema.StateFailed, ReasonRefused, refused
		}
		done = append(done, d)
	}
	return done, nil
}
