package frontier

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/ledger"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Page is what became of one address of a lease.
type Page struct {
	URLKey []byte
	// Facts decide about the address; its attempts and blocks are filled in here.
	Facts host.Page
	// Data, Title and Content are recorded when the page came.
	Data                      []byte
	Title                     string
	ContentKey, ContentSHA256 string
}

// Part is a part of a batch.
type Part struct {
	LeaseID string
	Part    int
	Final   bool
	Pages   []Page
}

// Committed is what a part did.
type Committed struct {
	// Recorded pages are done with; Cancelled: the task was cancelled, and nothing
	// was done.
	Recorded  int
	Cancelled bool
	// Lease and Host are as they are now; Host is empty when it was left alone.
	// Changed says that there was a change, and not an answer from memory.
	Lease   schema.Lease
	Host    schema.Host
	Task    schema.Task
	Changed bool
	// Closed addresses, and when others may be tried again.
	Closed [][]byte
	Again  map[string]int64
}

// Commit takes a part. A part that was taken before is answered as then; a lease
// that has ended is ErrLost, and nothing changes.
func (s *Store) Commit(ctx context.Context, p Part) (Committed, error) {
	var out Committed
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		out = Committed{Again: map[string]int64{}}
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		err = store.ForUpdate(tx.NewSelect().Model(&out.Lease).ColumnExpr("*").Where("id = ?", p.LeaseID)).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrLost
		}
		if err != nil {
			return fmt.Errorf("read lease: %w", err)
		}
		ended, err := out.remembered(p, now)
		if err != nil || ended {
			return err
		}
		return s.take(ctx, tx, now, p, &out)
	})
	return out, err
}

// remembered answers for a lease that has ended and for a part that came before.
func (c *Committed) remembered(p Part, now int64) (answered bool, err error) {
	parts := recorded(c.Lease.Parts)
	if p.Part <= len(parts) && c.Lease.State != schema.LeaseLost {
		c.Recorded, c.Cancelled = parts[p.Part-1], c.Lease.State == schema.LeaseCancelled
		return true, nil
	}
	switch {
	case c.Lease.State == schema.LeaseCancelled:
		c.Cancelled = true
		return true, nil
	case c.Lease.State == schema.LeaseDone && c.Lease.LeaseUntil == 0:
		return true, nil // the task was done before the batch was
	case c.Lease.State != schema.LeaseLive || c.Lease.LeaseUntil < now:
		return true, ErrLost
	case p.Part != len(parts)+1:
		return true, &PartError{Part: p.Part, Want: len(parts) + 1}
	}
	return false, nil
}

func recorded(parts string) []int {
	if parts == "" {
		return nil
	}
	var out []int
	for text := range strings.SplitSeq(parts, ",") {
		n, _ := strconv.Atoi(text) // written by us
		out = append(out, n)
	}
	return out
}

// take is Commit for a lease that holds.
func (s *Store) take(ctx context.Context, tx bun.IDB, now int64, p Part, out *Committed) error {
	told := p.Final || slices.ContainsFunc(p.Pages, func(page Page) bool { return !page.Facts.Clean() })
	if told {
		if err := s.readHost(ctx, tx, out); err != nil {
			return err
		}
	}
	book, err := ledger.Open(ctx, tx, now, out.Lease.TaskID)
	if err != nil {
		return err
	}
	pages, err := s.open(ctx, tx, p, &out.Lease)
	if err != nil {
		return err
	}
	done, giveUp, err := s.judge(ctx, tx, now, pages, out)
	if err != nil {
		return err
	}
	if giveUp != "" {
		rest, err := restOf(ctx, tx, out.Lease.TaskID, out.Lease.Host, giveUp, done)
		if err != nil {
			return err
		}
		done = append(done, rest...)
	}
	if err := book.Close(ctx, done); err != nil {
		return err
	}
	for _, d := range done {
		out.Closed = append(out.Closed, d.Address.URLKey)
		if d.Tried || d.State == schema.StateSkipped {
			out.Recorded++
		}
	}
	if err := book.Save(ctx); err != nil {
		return err
	}
	out.Task, out.Changed = *book.Task, true
	if out.Task.Ended() && !told {
		if err := s.readHost(ctx, tx, out); err != nil {
			return err
		}
		told = true
	}
	if !told {
		out.Lease.Clean += len(pages)
	}
	return s.keepLease(ctx, tx, now, p, told, out)
}

// readHost locks the row of the lease's host, and tells it of the pages that came
// since it was told last. Parts in the middle of a batch whose pages all came
// leave the row alone.
func (s *Store) readHost(ctx context.Context, tx bun.IDB, out *Committed) error {
	if err := store.ForUpdate(tx.NewSelect().Model(&out.Host).ColumnExpr("*").Where("host = ?", out.Lease.Host)).Scan(ctx); err != nil {
		return fmt.Errorf("read host: %w", err)
	}
	out.Host.Credit(s.Policy(out.Lease.Host), out.Lease.Clean)
	out.Lease.Clean = 0
	return nil
}

// keepLease writes lease and host as they are after the part.
func (s *Store) keepLease(ctx context.Context, tx bun.IDB, now int64, p Part, told bool, out *Committed) error {
	l := &out.Lease
	if p.Part > 1 {
		l.Parts += ","
	}
	l.Parts += strconv.Itoa(out.Recorded)
	if p.Final || out.Task.Ended() {
		l.State, l.EndedAt = schema.LeaseDone, now
		if !p.Final { // what the worker still sends is answered, not refused
			l.LeaseUntil = 0
		}
		out.Host.LeaseID, out.Host.LeaseUntil = "", 0
		out.Host.Rest(now, s.Policy(l.Host))
	}
	_, err := tx.NewUpdate().Model(l).Column("state", "parts", "clean", "lease_until", "ended_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("update lease: %w", err)
	}
	if !told {
		return nil
	}
	return saveHost(ctx, tx, now, &out.Host)
}

// opened is a page with the row of its address.
type opened struct {
	page Page
	row  schema.Address
}

// open reads the rows of pages that are still open. An address that was closed
// meanwhile, with its host, is passed over.
func (s *Store) open(ctx context.Context, tx bun.IDB, p Part, l *schema.Lease) ([]opened, error) {
	if len(p.Pages) == 0 {
		return nil, nil
	}
	held := keysOf(l)
	keys := make([][]byte, len(p.Pages))
	for i, page := range p.Pages {
		same := func(k []byte) bool { return bytes.Equal(k, page.URLKey) }
		if k := page.ContentKey; k != "" && k != BlobKey(l.TaskID, page.ContentSHA256) {
			return nil, &BlobError{Index: i}
		}
		if !slices.ContainsFunc(held, same) || slices.ContainsFunc(keys[:i], same) {
			return nil, &ForeignError{Index: i}
		}
		keys[i] = page.URLKey
	}
	var rows []schema.Address
	err := tx.NewSelect().Model(&rows).Column("task_id", "url_key", "url", "attempts", "blocks").
		Where("task_id = ? AND state = ?", l.TaskID, schema.StateOpen).Where("url_key IN (?)", bun.List(keys)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read addresses of task %s: %w", l.TaskID, err)
	}
	var out []opened
	for _, page := range p.Pages {
		i := slices.IndexFunc(rows, func(a schema.Address) bool { return bytes.Equal(a.URLKey, page.URLKey) })
		if i >= 0 {
			out = append(out, opened{page, rows[i]})
		}
	}
	return out, nil
}

// judge decides about each page, and writes those that are tried again.
func (s *Store) judge(ctx context.Context, tx bun.IDB, now int64, pages []opened, out *Committed) (done []ledger.Done, giveUp string, err error) {
	policy := s.Policy(out.Lease.Host)
	for _, o := range pages {
		facts := o.page.Facts
		facts.Attempts, facts.Blocks = o.row.Attempts, o.row.Blocks
		v, why := out.Host.Page(now, policy, facts)
		if why != "" {
			giveUp = why
		}
		d := ledger.Done{
			Address: o.row, Tried: true, Reason: v.Reason, Message: v.Message,
			StatusCode: facts.StatusCode, DurationMS: int(facts.Duration.Milliseconds()),
		}
		switch v.Fate {
		case host.Came:
			d.State, d.Data, d.Title, d.ContentKey, d.ContentSHA256 = schema.StateDone, o.page.Data, o.page.Title, o.page.ContentKey, o.page.ContentSHA256
		case host.Failed:
			d.State = schema.StateFailed
		case host.Skipped:
			d.State, d.Tried = schema.StateSkipped, false
		default:
			at := now + v.Wait.Milliseconds()
			if err := again(ctx, tx, o.row, at, v.Fate == host.Again); err != nil {
				return nil, "", err
			}
			out.Again[string(o.row.URLKey)] = at
			continue
		}
		done = append(done, d)
	}
	return done, giveUp, nil
}

// again puts an address off.
func again(ctx context.Context, tx bun.IDB, a schema.Address, at int64, attempt bool) error {
	q := tx.NewUpdate().Model((*schema.Address)(nil)).Set("not_before = ?", at)
	if attempt {
		q = q.Set("attempts = attempts + 1")
	} else {
		q = q.Set("blocks = blocks + 1")
	}
	_, err := q.Where("task_id = ? AND url_key = ? AND state = ?", a.TaskID, a.URLKey, schema.StateOpen).Exec(ctx)
	if err != nil {
		return fmt.Errorf("put an address of task %s off: %w", a.TaskID, err)
	}
	return nil
}

// restOf is what is left of a task at a host, to be closed with the reason.
func restOf(ctx context.Context, tx bun.IDB, taskID, hostport, reason string, besides []ledger.Done) ([]ledger.Done, error) {
	var rows []schema.Address
	err := tx.NewSelect().Model(&rows).Where("task_id = ? AND state = ? AND host = ?", taskID, schema.StateOpen, hostport).Order("ordinal").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read addresses of task %s at a host: %w", taskID, err)
	}
	var out []ledger.Done
	for _, a := range rows {
		if slices.ContainsFunc(besides, func(d ledger.Done) bool { return bytes.Equal(d.Address.URLKey, a.URLKey) }) {
			continue
		}
		out = append(out, ledger.Done{Address: a, State: schema.StateFailed, Reason: reason, Message: host.GiveUpWords(reason, hostport)})
	}
	return out, nil
}
