package frontier_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema/schematest"
)

var steps = flag.Int("steps", 400, "how many steps the property test takes")

// model is what the frontier should be like, in memory and without any SQL.
type model struct {
	*world
	rng    *rand.Rand
	tasks  []*modelTask
	leases []*modelLease
}

type modelTask struct {
	row       schema.Task
	hosts     []string
	addresses map[string]*modelAddress // by key
	ended     bool
}

type modelAddress struct{ state, attempts, blocks, losses int }

type modelLease struct {
	frontier.Leased
	task     *modelTask
	until    int64
	live     bool
	answers  []int // of its parts
	named    map[string]bool
	lost     bool // its addresses were counted as lost
	finished bool
}

// TestRandomStepsLeaveTheDatabaseLikeTheModel runs random steps on the frontier
// and on a model of it, which must stay alike.
func TestRandomStepsLeaveTheDatabaseLikeTheModel(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := &model{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range *steps {
		m.step()
		if t.Failed() {
			t.Fatalf("step %d of seed %d", i, seed)
		}
		if i%20 == 0 {
			m.compare()
			schematest.Check(t, m.DB)
		}
	}
	m.compare()
}

func (m *model) step() {
	switch n := m.rng.IntN(100); {
	case n < 8 && len(m.tasks) < 40 || len(m.tasks) == 0:
		m.make()
	case n < 40:
		m.take()
	case n < 80:
		m.commitSome()
	case n < 88:
		m.pass(time.Duration(m.rng.IntN(9_000)) * time.Millisecond)
	case n < 92:
		m.extend()
	case n < 95:
		m.expire()
	case n < 98:
		m.cancel()
	default:
		m.pass(time.Duration(m.rng.IntN(300)) * time.Second)
	}
}

func (m *model) make() {
	hosts := []string{fmt.Sprintf("h%d.example", m.rng.IntN(6)), fmt.Sprintf("h%d.example", 6+m.rng.IntN(6))}
	row := m.createAt(fmt.Sprint("user", m.rng.IntN(3)), hosts, 1+m.rng.IntN(20))
	m.allow(row.ID)
	t := &modelTask{row: row, hosts: hosts, addresses: map[string]*modelAddress{}}
	open, err := m.Open(m.t.Context(), row.ID)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, a := range open {
		t.addresses[string(a.URLKey)] = &modelAddress{}
	}
	m.tasks = append(m.tasks, t)
}

// take leases, and checks that this was allowed.
func (m *model) take() {
	t := m.tasks[m.rng.IntN(len(m.tasks))]
	hostname := t.hosts[m.rng.IntN(2)]
	l, err := m.Lease(m.t.Context(), want(t.row, hostname, 1+m.rng.IntN(32)))
	if errors.Is(err, frontier.ErrNotNow) {
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	now, parallel := m.now.Load(), l.Grant.Parallel
	for _, other := range m.leases {
		if !other.live {
			continue
		}
		if other.until < now { // it may have been taken over
			if other.Lease.Host == l.Lease.Host {
				m.lose(other)
			}
			continue
		}
		if other.Lease.Host == l.Lease.Host {
			m.t.Errorf("%s has two leases", l.Lease.Host)
		}
		if other.task == t {
			parallel += other.Grant.Parallel
		}
	}
	if parallel > t.row.Parallel || t.ended {
		m.t.Errorf("%d requests at once, ended %v", parallel, t.ended)
	}
	for _, a := range l.Targets {
		if got := t.addresses[string(a.URLKey)]; got == nil || got.state != schema.StateOpen || got.attempts != a.Attempts {
			m.t.Errorf("handed out %+v, which is %+v", a, got)
		}
	}
	m.leases = append(m.leases, &modelLease{Leased: l, task: t, until: l.Lease.LeaseUntil, live: true, named: map[string]bool{}})
}

func (m *model) lose(l *modelLease) {
	l.live, l.lost = false, true
	for _, a := range l.Targets {
		if got := l.task.addresses[string(a.URLKey)]; got.state == schema.StateOpen {
			got.losses++
		}
	}
}

var outcomes = []host.Page{came, came, came, came, missing, refused, throttle, {Outcome: host.OutcomeSkipped}}

func (m *model) commitSome() {
	if len(m.leases) == 0 {
		return
	}
	l := m.leases[max(0, len(m.leases)-1-m.rng.IntN(min(8, len(m.leases))))]
	p := frontier.Part{LeaseID: l.Lease.ID, Part: len(l.answers) + 1, Final: m.rng.IntN(3) == 0}
	if len(l.answers) > 0 && m.rng.IntN(6) == 0 {
		p.Part = 1 + m.rng.IntN(len(l.answers))
	}
	facts := map[string]host.Page{}
	for _, a := range l.Targets {
		if m.rng.IntN(2) == 0 && len(p.Pages) < 8 && !l.named[string(a.URLKey)] {
			facts[string(a.URLKey)] = outcomes[m.rng.IntN(len(outcomes))]
			p.Pages = append(p.Pages, frontier.Page{URLKey: a.URLKey, Facts: facts[string(a.URLKey)]})
		}
	}
	c, err := m.Commit(m.t.Context(), p)
	switch {
	case p.Part <= len(l.answers) && !l.lost && !l.expired(m):
		if err != nil || c.Recorded != l.answers[p.Part-1] || c.Changed {
			m.t.Errorf("part %d again: %d, %v; then %d", p.Part, c.Recorded, err, l.answers[p.Part-1])
		}
	case l.task.ended && !l.lost && !l.finished:
		if err == nil && (c.Recorded != 0 || c.Changed) {
			m.t.Errorf("a task that has ended takes %d (%v)", c.Recorded, err)
		}
	case !l.live || l.until < m.now.Load():
		if p.Part > len(l.answers) && !errors.Is(err, frontier.ErrLost) {
			m.t.Errorf("a lease that has ended: %v", err)
		}
	case err != nil:
		m.t.Error(err)
	default:
		m.apply(l, p, facts, c)
	}
}

// expired: its time is over, and whether somebody has noticed does not matter.
func (l *modelLease) expired(m *model) bool { return l.live && l.until < m.now.Load() }

// apply has the model do what a part says.
func (m *model) apply(l *modelLease, p frontier.Part, facts map[string]host.Page, c frontier.Committed) {
	closed := map[string]bool{}
	for _, key := range c.Closed {
		closed[string(key)] = true
	}
	recorded, troubled := 0, false
	for key, f := range facts {
		l.named[key] = true
		a := l.task.addresses[key]
		if a.state != schema.StateOpen {
			continue
		}
		switch {
		case f == came:
			a.state, a.attempts = schema.StateDone, a.attempts+1
		case f == missing:
			a.state, a.attempts = schema.StateFailed, a.attempts+1
		case f.Outcome == host.OutcomeSkipped:
			a.state = schema.StateSkipped
		default:
			troubled = true
			_, later := c.Again[key]
			if f == refused && later != (a.attempts < 2) {
				m.t.Errorf("after %d attempts it is tried again: %v", a.attempts+1, later)
			}
			if !later {
				a.state = schema.StateFailed
			}
			if later && f == throttle {
				a.blocks++
			} else {
				a.attempts++
			}
		}
		if a.state != schema.StateOpen {
			recorded++
			if !closed[key] {
				m.t.Errorf("an address was not closed: %+v", f)
			}
			delete(closed, key)
		}
	}
	for key := range closed { // the rest of the host
		a := l.task.addresses[key]
		if !troubled || a.state != schema.StateOpen {
			m.t.Errorf("closed without a reason: %+v", a)
		}
		a.state = schema.StateFailed
	}
	if c.Recorded != recorded {
		m.t.Errorf("%d recorded, want %d", c.Recorded, recorded)
	}
	l.answers = append(l.answers, recorded)
	m.ending(l, p.Final)
}

func (m *model) ending(l *modelLease, final bool) {
	open := 0
	for _, a := range l.task.addresses {
		if a.state == schema.StateOpen {
			open++
		}
	}
	if open == 0 {
		l.task.ended = true
		for _, other := range m.leases {
			if other.task == l.task && other.live {
				other.live = false
			}
		}
	}
	if final {
		l.live, l.finished = false, true
	}
}

func (m *model) extend() {
	var ids []string
	for _, l := range m.leases {
		ids = append(ids, l.Lease.ID)
	}
	e, err := m.Extend(m.t.Context(), "w1", ids)
	if err != nil {
		m.t.Fatal(err)
	}
	gone := map[string]bool{}
	for _, id := range append(e.Lost, e.Cancelled...) {
		gone[id] = true
	}
	now := m.now.Load()
	for _, l := range m.leases {
		holds := l.live && l.until >= now
		if holds == gone[l.Lease.ID] {
			m.t.Errorf("a lease that holds (%v) is told as gone (%v)", holds, gone[l.Lease.ID])
		}
		if holds && l.until-now < frontier.LeaseTime.Milliseconds()/2 {
			l.until = now + frontier.LeaseTime.Milliseconds()
		}
	}
}

func (m *model) expire() {
	if _, err := m.Expire(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	for _, l := range m.leases {
		if l.expired(m) {
			m.lose(l)
		}
	}
}

func (m *model) cancel() {
	t := m.tasks[m.rng.IntN(len(m.tasks))]
	got, err := m.world.tasks.Cancel(m.t.Context(), t.row.UserID, t.row.ID)
	if err != nil {
		m.t.Fatal(err)
	}
	if t.ended && got.Status == schema.StatusCancelled && t.row.Status != schema.StatusCancelled {
		m.t.Error("a task that has ended was cancelled")
	}
	if !t.ended {
		t.row.Status = got.Status
	}
	t.ended = true
	for _, l := range m.leases {
		if l.task == t && l.live {
			l.live = false
		}
	}
}

// compare holds the database against the model.
func (m *model) compare() {
	m.t.Helper()
	for _, t := range m.tasks {
		var rows []schema.Address
		if err := m.DB.Read().NewSelect().Model(&rows).Where("task_id = ?", t.row.ID).Scan(m.t.Context()); err != nil {
			m.t.Fatal(err)
		}
		for _, row := range rows {
			got := modelAddress{row.State, row.Attempts, row.Blocks, row.Losses}
			if a := t.addresses[string(row.URLKey)]; a == nil || got != *a {
				m.t.Errorf("%s %s is %+v, want %+v", t.row.ID, row.URL, got, a)
			}
		}
		if got := m.task(t.row); got.Ended() != t.ended {
			m.t.Errorf("%s is %s, ended should be %v", t.row.ID, got.Status, t.ended)
		}
	}
}
