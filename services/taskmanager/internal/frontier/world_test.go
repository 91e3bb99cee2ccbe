package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema/schematest"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/task"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/urlkey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a frontier on a database of the lane, with a clock of its own.
type world struct {
	*frontier.Store
	t     testing.TB
	tasks *task.Store
	now   atomic.Int64
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t}
	w.now.Store(1_800_000_000_000)
	clock := func(context.Context, bun.IDB) (int64, error) { return w.now.Load(), nil }
	db := schematest.Open(t)
	w.tasks = &task.Store{DB: db, Clock: clock, MaxPerUser: 1000}
	w.Store = &frontier.Store{DB: db, Clock: clock, RunningPerUser: 4, Policy: func(string) host.Policy {
		return host.Policy{Local: true, MaxRetries: 2}
	}}
	t.Cleanup(func() { schematest.Check(t, db) })
	return w
}

func (w *world) pass(d time.Duration) { w.now.Add(d.Milliseconds()) }

// create makes a task of n addresses of a host, which robots.txt allows.
func (w *world) create(user, hostname string, n int) schema.Task {
	w.t.Helper()
	t := w.createOnly(user, hostname, n)
	w.allow(t.ID)
	return t
}

func (w *world) createOnly(user, hostname string, n int) schema.Task {
	w.t.Helper()
	return w.createAt(user, []string{hostname}, n)
}

// createAt makes a task of n addresses of each host.
func (w *world) createAt(user string, hosts []string, n int) schema.Task {
	w.t.Helper()
	var urls []task.URL
	for _, hostname := range hosts {
		for i := range n {
			a, err := urlkey.Parse(fmt.Sprintf("https://%s/%d", hostname, i))
			if err != nil {
				w.t.Fatal(err)
			}
			urls = append(urls, task.URL{Address: a})
		}
	}
	t, err := w.tasks.Create(w.t.Context(), task.Request{UserID: user, URLs: urls, ExtractType: "text", Parallel: 3})
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

// allow has robots.txt allow what a task has open.
func (w *world) allow(taskID string) {
	w.t.Helper()
	open, err := w.Open(w.t.Context(), taskID)
	if err != nil {
		w.t.Fatal(err)
	}
	byOrigin := map[string][]schema.Address{}
	for _, a := range open {
		byOrigin[a.Origin] = append(byOrigin[a.Origin], a)
	}
	for _, rows := range byOrigin {
		v := frontier.Verdict{Valid: 24 * time.Hour}
		for range rows {
			v.Allowed = append(v.Allowed, true)
		}
		if _, err := w.Robots(w.t.Context(), rows, v); err != nil {
			w.t.Fatal(err)
		}
	}
}

func want(t schema.Task, hostname string, most int) frontier.Want {
	return frontier.Want{TaskID: t.ID, Origin: "https://" + hostname + ":443", Host: hostname + ":443", WorkerID: "w1", Max: most}
}

func (w *world) lease(t schema.Task, hostname string, most int) frontier.Leased {
	w.t.Helper()
	l, err := w.Lease(w.t.Context(), want(t, hostname, most))
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) noLease(t schema.Task, hostname string) {
	w.t.Helper()
	l, err := w.Lease(w.t.Context(), want(t, hostname, 32))
	if !errors.Is(err, frontier.ErrNotNow) {
		w.t.Fatalf("leased %d, %v", len(l.Targets), err)
	}
}

var (
	came     = host.Page{Outcome: host.OutcomeFetched, StatusCode: 200, Duration: 10 * time.Millisecond}
	refused  = host.Page{Outcome: host.OutcomeFailed, Reason: "CONNECT_FAILED", Message: "refused", Retryable: true}
	throttle = host.Page{Outcome: host.OutcomeBlocked, StatusCode: 429}
	missing  = host.Page{Outcome: host.OutcomeFetched, StatusCode: 404}
)

// part is a part in which addresses fared alike.
func part(l frontier.Leased, n int, final bool, facts host.Page, targets ...schema.Address) frontier.Part {
	p := frontier.Part{LeaseID: l.Lease.ID, Part: n, Final: final}
	for _, a := range targets {
		p.Pages = append(p.Pages, frontier.Page{URLKey: a.URLKey, Facts: facts, Data: []byte("data"), Title: "title"})
	}
	return p
}

func (w *world) commit(p frontier.Part) frontier.Committed {
	w.t.Helper()
	c, err := w.Commit(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) task(t schema.Task) schema.Task {
	w.t.Helper()
	got, err := w.tasks.Get(w.t.Context(), t.UserID, t.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func (w *world) results(t schema.Task) []schema.Result {
	w.t.Helper()
	got, err := w.tasks.Results(w.t.Context(), t.ID, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// dump is everything in the database, to tell whether it changed.
func (w *world) dump() string {
	w.t.Helper()
	var all string
	for _, rows := range []any{&[]schema.Task{}, &[]schema.Address{}, &[]schema.Host{}, &[]schema.Lease{}, &[]schema.Result{}, &[]schema.Event{}} {
		if err := w.DB.Read().NewSelect().Model(rows).OrderExpr("1, 2").Scan(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		all += fmt.Sprintf("%+v\n", rows)
	}
	return all
}
