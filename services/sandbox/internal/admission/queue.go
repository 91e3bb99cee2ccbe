// Package admission decides whose program runs next. Only so many run at a time
// and only so many wait; users take turns, and a user who floods the queue
// displaces nobody but himself.
package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of what a refused caller is told to wait.
const (
	minRetry = time.Second
	maxRetry = time.Minute
)

// FullError says that the queue takes no more of this user's programs. Nothing
// was run.
type FullError struct {
	// Waiting is how many programs wait.
	Waiting int
	// Retry is about how long it takes until there is room.
	Retry time.Duration
}

func (e *FullError) Error() string {
	return fmt.Sprintf("%d programs wait already", e.Waiting)
}

// Queue admits programs. It is safe for concurrent use.
type Queue struct {
	parallel, capacity int

	mu      sync.Mutex
	waiting []*ticket // in order of arrival
	running int
	users   map[string]*user
	busy    map[string]bool // names that are held
	turn    uint64          // counts admissions
	usual   time.Duration   // how long a place is held, on average
}

// user is somebody who has programs in the queue or running.
type user struct {
	waiting, running int
	served           uint64 // turn of the last admission
}

// ticket is one program that waits.
type ticket struct {
	user, name string
	admitted   chan struct{} // closed when it may run
	displaced  chan struct{} // closed when it lost its place
}

// New makes a queue for so many programs at a time, and so many that wait.
func New(parallel, capacity int) *Queue {
	return &Queue{parallel: max(parallel, 1), capacity: max(capacity, 0), users: map[string]*user{}, busy: map[string]bool{}}
}

// Enter waits until a program of the user may run, and answers what to call
// when it has ended. Programs with the same name, which may be empty, run one
// after the other. Among those who could run, the user with the fewest running
// programs comes first, then the one who was served longest ago; a user's own
// come in order.
//
// When the queue is full, the user with the most programs in it, the caller's
// new one counted, gets a [*FullError] for the last of them. When ctx ends first
// its error is answered.
func (q *Queue) Enter(ctx context.Context, userID, name string) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &ticket{user: userID, name: name, admitted: make(chan struct{}), displaced: make(chan struct{})}
	if err := q.enqueue(t); err != nil {
		return nil, err
	}
	select {
	case <-t.admitted:
		return q.leaver(t), nil
	case <-t.displaced:
		return nil, q.full()
	case <-ctx.Done():
	}
	if q.withdraw(t) {
		return nil, ctx.Err()
	}
	select {
	case <-t.displaced:
		return nil, q.full()
	default: // admitted at the same moment
		q.leaver(t)()
		return nil, ctx.Err()
	}
}

func (q *Queue) enqueue(t *ticket) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.users[t.user]
	if u == nil {
		u = &user{served: q.turn} // not before those who have waited
		q.users[t.user] = u
	}
	q.waiting = append(q.waiting, t)
	u.waiting++
	q.admit()
	if len(q.waiting) <= q.capacity || !slices.Contains(q.waiting, t) {
		return nil
	}
	victim := q.greediest(t)
	q.remove(victim)
	if victim == t {
		return q.fullLocked()
	}
	close(victim.displaced)
	return nil
}

// greediest is the last ticket of the user who has the most in the queue; t
// where nobody has more than its user.
func (q *Queue) greediest(t *ticket) *ticket {
	victim, most := t, q.users[t.user].waiting
	for _, w := range slices.Backward(q.waiting) {
		if n := q.users[w.user].waiting; n > most {
			victim, most = w, n
		}
	}
	return victim
}

// admit lets run whatever can.
func (q *Queue) admit() {
	for q.running < q.parallel {
		next := q.next()
		if next == nil {
			return
		}
		u := q.users[next.user]
		q.turn++
		u.served = q.turn
		u.running++
		q.running++
		if next.name != "" {
			q.busy[next.name] = true
		}
		q.remove(next)
		close(next.admitted)
	}
}

// next is who runs next; nil: nobody who waits can.
func (q *Queue) next() *ticket {
	var best *ticket
	for _, t := range q.waiting {
		if q.busy[t.name] || best != nil && t.user == best.user {
			continue
		}
		if best == nil || q.before(t, best) {
			best = t
		}
	}
	return best
}

func (q *Queue) before(a, b *ticket) bool {
	ua, ub := q.users[a.user], q.users[b.user]
	if ua.running != ub.running {
		return ua.running < ub.running
	}
	return ua.served < ub.served
}

// remove takes a ticket out of the queue.
func (q *Queue) remove(t *ticket) {
	i := slices.Index(q.waiting, t)
	q.waiting = slices.Delete(q.waiting, i, i+1)
	q.users[t.user].waiting--
	q.forget(t.user)
}

// forget drops a user who has nothing here.
func (q *Queue) forget(id string) {
	if u := q.users[id]; u.waiting == 0 && u.running == 0 {
		delete(q.users, id)
	}
}

// withdraw takes back a ticket that still waits.
func (q *Queue) withdraw(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.waiting, t) {
		return false
	}
	q.remove(t)
	return true
}

// leaver frees the place of an admitted ticket, once.
func (q *Queue) leaver(t *ticket) func() {
	begun := time.Now()
	return sync.OnceFunc(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.running--
		q.users[t.user].running--
		q.forget(t.user)
		delete(q.busy, t.name)
		q.usual += (time.Since(begun) - q.usual) / 4
		q.admit()
	})
}

func (q *Queue) full() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fullLocked()
}

func (q *Queue) fullLocked() error {
	turns := len(q.waiting)/q.parallel + 1
	return &FullError{Waiting: len(q.waiting), Retry: min(max(q.usual*time.Duration(turns), minRetry), maxRetry)}
}
