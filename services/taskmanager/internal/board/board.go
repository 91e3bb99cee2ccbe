// Package board is the picture that a replica has of what is to be done: tasks,
// hosts and who is at them. It chooses what to lease next, fairly over users,
// then tasks, then hosts.
//
// The board decides nothing: the database does when the lease is taken, and a
// picture that was out of date only costs a try. It can be thrown away and read
// again at any time.
package board

import (
	"slices"
	"strings"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// holdMS is how long a queue is passed over after the database had nothing to
// lease there.
const holdMS = 250

// Board is safe for concurrent use.
type Board struct {
	// RunningPerUser tasks of a user are worked on at the same time.
	RunningPerUser int
	// Shared says that other replicas change the database too.
	Shared bool

	mu      sync.Mutex
	users   []*user // whoever was served longest ago comes first
	tasks   map[string]*task
	hosts   map[string]*hostState
	stamp   int // counts changes made by this replica
	served  int
	changed chan struct{} // closed and replaced at every change
}

type user struct {
	id    string
	tasks []*task // by id: oldest first
}

type task struct {
	row    schema.Task
	user   *user
	queues []*queue
	served int
	next   int  // queue to look at first
	stamp  int  // of when it was first shown
	dirty  bool // the database has something else
}

// queue is the open addresses of a task at one origin.
type queue struct {
	origin, host string
	open         map[string]address // by key
	hold         int64              // not chosen before
	asking       bool               // robots.txt is being asked for
	askAt        int64              // robots.txt is not asked for before
	readyAt      int64              // when the first address may be handed out; never: 0
	uncheckedAt  int64              // when the first verdict ends or ended; never: 0
	stale        bool               // readyAt and uncheckedAt are to be computed
}

type address struct {
	url                    string
	ordinal                int
	notBefore, robotsUntil int64
}

type hostState struct {
	nextAt     int64
	leaseID    string
	leaseTask  string
	leaseUntil int64
	parallel   int
	reserved   bool // somebody is about to lease it
	queues     int  // that are of this host
	stamp      int  // of the last change made by this replica
}

// New makes an empty board.
func New(runningPerUser int, shared bool) *Board {
	return &Board{RunningPerUser: runningPerUser, Shared: shared, tasks: map[string]*task{}, hosts: map[string]*hostState{}, changed: make(chan struct{})}
}

// Changed is closed at the next change.
func (b *Board) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *Board) signal() {
	b.stamp++
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Board) host(name string) *hostState {
	h := b.hosts[name]
	if h == nil {
		h = &hostState{}
		b.hosts[name] = h
	}
	return h
}

// Put shows a task as it is, with its open addresses. askAt is when this replica
// may ask for the robots.txt of its hosts.
func (b *Board) Put(row schema.Task, open []schema.Address, askAt int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(row, open, askAt)
	b.signal()
}

func (b *Board) put(row schema.Task, open []schema.Address, askAt int64) {
	if row.Ended() {
		b.remove(row.ID)
		return
	}
	t := b.tasks[row.ID]
	if t == nil {
		t = &task{user: b.userOf(row.UserID), stamp: b.stamp + 1}
		b.tasks[row.ID] = t
		at, _ := slices.BinarySearchFunc(t.user.tasks, row.ID, func(t *task, id string) int { return strings.Compare(t.row.ID, id) })
		t.user.tasks = slices.Insert(t.user.tasks, at, t)
	}
	t.row, t.dirty = row, false
	before := map[string]*queue{}
	for _, q := range t.queues {
		before[q.origin] = q
	}
	defer b.leave(t.queues)
	t.queues = nil
	now := map[string]*queue{}
	for _, a := range open {
		q := now[a.Origin]
		if q == nil {
			q = &queue{origin: a.Origin, host: a.Host, open: map[string]address{}, stale: true, askAt: askAt}
			if old := before[a.Origin]; old != nil {
				q.asking, q.askAt, q.hold = old.asking, old.askAt, old.hold
			}
			now[a.Origin] = q
			t.queues = append(t.queues, q)
			b.host(q.host).queues++
		}
		q.open[string(a.URLKey)] = address{a.URL, a.Ordinal, a.NotBefore, a.RobotsUntil}
	}
}

func (b *Board) userOf(id string) *user {
	for _, u := range b.users {
		if u.id == id {
			return u
		}
	}
	u := &user{id: id}
	b.users = slices.Insert(b.users, 0, u) // never served: first
	return u
}

func (b *Board) remove(taskID string) {
	t := b.tasks[taskID]
	if t == nil {
		return
	}
	delete(b.tasks, taskID)
	t.user.tasks = slices.DeleteFunc(t.user.tasks, func(o *task) bool { return o == t })
	if len(t.user.tasks) == 0 {
		b.users = slices.DeleteFunc(b.users, func(u *user) bool { return u == t.user })
	}
	for _, q := range t.queues {
		if h := b.hosts[q.host]; h.leaseTask == taskID {
			h.leaseID, h.leaseTask, h.leaseUntil, h.parallel = "", "", 0, 0
		}
	}
	b.leave(t.queues)
}

// leave forgets hosts of which these were the last queues.
func (b *Board) leave(queues []*queue) {
	for _, q := range queues {
		b.hosts[q.host].queues--
		b.tidy(q.host)
	}
}

// tidy forgets a host that nobody wants, has or is about to have.
func (b *Board) tidy(name string) {
	if h := b.hosts[name]; h != nil && h.queues == 0 && h.leaseID == "" && !h.reserved {
		delete(b.hosts, name)
	}
}

// adopt takes the row of a task after a change that this replica made, which had
// one revision or none. When there were more, others have changed the task too.
func (b *Board) adopt(t *task, row schema.Task, changes int) {
	if b.Shared && row.Rev != t.row.Rev+changes {
		t.dirty = true
	}
	if row.Rev >= t.row.Rev {
		t.row = row
	}
}

// queueOf is a task's queue at an origin; nil when there is none.
func (t *task) queueOf(origin string) *queue {
	for _, q := range t.queues {
		if q.origin == origin {
			return q
		}
	}
	return nil
}

// refresh computes what follows from the addresses.
func (q *queue) refresh(now int64) {
	if !q.stale && (q.uncheckedAt == 0 || q.uncheckedAt > now) {
		return
	}
	q.stale, q.readyAt, q.uncheckedAt = false, 0, 0
	for _, t := range q.open {
		if q.uncheckedAt == 0 || t.robotsUntil < q.uncheckedAt {
			q.uncheckedAt = max(t.robotsUntil, 1)
		}
		if t.robotsUntil > now && (q.readyAt == 0 || t.notBefore < q.readyAt) {
			q.readyAt = max(t.notBefore, 1)
		}
	}
}
