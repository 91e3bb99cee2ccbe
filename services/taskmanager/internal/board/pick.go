package board

import (
	"slices"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Candidate is what may be leased.
type Candidate struct{ TaskID, Origin, Host string }

// Pick chooses what to lease next and reserves the host, until Leased or NotNow.
// When there is nothing, next is when there may be, 0 for when something changes.
func (b *Board) Pick(now int64) (c Candidate, next int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := wake{now: now}
	for i, u := range b.users {
		t := b.best(u, &w)
		if t == nil {
			continue
		}
		q := t.queues[t.next]
		t.next = (t.next + 1) % len(t.queues)
		b.served++
		t.served = b.served
		b.users = append(slices.Delete(b.users, i, i+1), u)
		b.host(q.host).reserved = true
		return Candidate{TaskID: t.row.ID, Origin: q.origin, Host: q.host}, 0, true
	}
	return Candidate{}, w.at, false
}

// wake is the earliest time after now at which there may be something to do.
type wake struct{ now, at int64 }

// later notes a time, and says whether it is still to come.
func (w *wake) later(at int64) bool {
	if at <= w.now {
		return false
	}
	if w.at == 0 || at < w.at {
		w.at = at
	}
	return true
}

// best is the task of a user that was served longest ago of those that can be
// worked on; its next is the queue to take.
func (b *Board) best(u *user, w *wake) (best *task) {
	for t := range b.turn(u) {
		if best != nil && t.served >= best.served {
			continue
		}
		if b.busy(t, w) >= t.row.Parallel {
			continue
		}
		if i := b.ready(t, w); i >= 0 {
			t.next, best = i, t
		}
	}
	return best
}

// turn are the tasks of a user whose turn it is: those that run, and the oldest
// of the others as far as there is room.
func (b *Board) turn(u *user) func(yield func(*task) bool) {
	return func(yield func(*task) bool) {
		room := b.RunningPerUser
		for _, t := range u.tasks {
			if t.row.StartedAt > 0 {
				room--
			}
		}
		for _, t := range u.tasks {
			if t.row.StartedAt == 0 {
				if room <= 0 {
					continue
				}
				room--
			}
			if !yield(t) {
				return
			}
		}
	}
}

// busy is how many requests of a task are leased.
func (b *Board) busy(t *task, w *wake) (n int) {
	for i, q := range t.queues {
		h := b.hosts[q.host]
		if h == nil || h.leaseTask != t.row.ID || h.leaseUntil < w.now {
			continue
		}
		if slices.ContainsFunc(t.queues[:i], func(o *queue) bool { return o.host == q.host }) {
			continue
		}
		n += h.parallel
		w.later(h.leaseUntil)
	}
	return n
}

// ready is the first queue of a task, after the one served last, that can be
// leased; -1 for none.
func (b *Board) ready(t *task, w *wake) int {
	for i := range t.queues {
		at := (t.next + i) % len(t.queues)
		q := t.queues[at]
		q.refresh(w.now)
		if q.readyAt == 0 || w.later(q.readyAt) || w.later(q.hold) {
			continue
		}
		if h := b.host(q.host); h.reserved || h.leaseUntil >= w.now && w.later(h.leaseUntil) || w.later(h.nextAt) {
			continue
		}
		return at
	}
	return -1
}

// NotNow gives a candidate back for which there was nothing to lease. What the
// board has of the task is out of date.
func (b *Board) NotNow(c Candidate, now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host(c.Host).reserved = false
	b.tidy(c.Host)
	if t := b.tasks[c.TaskID]; t != nil {
		t.dirty = true
		if q := t.queueOf(c.Origin); q != nil {
			q.hold = now + holdMS
		}
	}
	b.signal()
}

// Ask is an origin of a task whose robots.txt is not known, with the addresses
// that wait for it.
type Ask struct {
	TaskID, Origin string
	Addresses      []schema.Address
}

// mostAsked addresses stand in one question.
const mostAsked = 100

// Unchecked lists at most so many origins whose robots.txt is to be asked for,
// and counts them as being asked until Asked.
func (b *Board) Unchecked(now int64, most int) (asks []Ask, next int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := wake{now: now}
	for _, u := range b.users {
		for t := range b.turn(u) {
			for _, q := range t.queues {
				q.refresh(now)
				if q.asking || q.uncheckedAt == 0 || w.later(q.uncheckedAt) || w.later(q.askAt) || w.later(b.host(q.host).nextAt) {
					continue
				}
				if len(asks) == most {
					return asks, now
				}
				q.asking = true
				asks = append(asks, Ask{t.row.ID, q.origin, q.unchecked(t.row.ID, now)})
			}
		}
	}
	return asks, w.at
}

// unchecked are the addresses of a queue of which robots.txt is not known, in
// their order.
func (q *queue) unchecked(taskID string, now int64) (out []schema.Address) {
	for key, a := range q.open {
		if a.robotsUntil <= now {
			out = append(out, schema.Address{TaskID: taskID, URLKey: []byte(key), Ordinal: a.ordinal, Origin: q.origin, Host: q.host, URL: a.url})
		}
	}
	slices.SortFunc(out, func(a, b schema.Address) int { return a.Ordinal - b.Ordinal })
	return out[:min(len(out), mostAsked)]
}

// Asked says that an origin was asked about, and is not to be asked again before
// a time. stale: what the board has of the task is out of date.
func (b *Board) Asked(a Ask, again int64, stale bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tasks[a.TaskID]; t != nil {
		t.dirty = t.dirty || stale
		if q := t.queueOf(a.Origin); q != nil {
			q.asking, q.askAt = false, again
		}
	}
	b.signal()
}
