// Package hub tells those who wait for a task that it has moved. It speaks of
// what this process did; what others did is found by looking once a second.
package hub

import "sync"

// Hub is safe for concurrent use. The zero value is ready.
type Hub struct {
	mu      sync.Mutex
	waiting map[string]*entry
}

type entry struct {
	moved chan struct{}
	n     int // who wait
}

// Moved is closed when the task moves. It must be taken before the task is
// looked at, and given back with release.
func (h *Hub) Moved(taskID string) (moved <-chan struct{}, release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[string]*entry{}
	}
	e := h.waiting[taskID]
	if e == nil {
		e = &entry{moved: make(chan struct{})}
		h.waiting[taskID] = e
	}
	e.n++
	return e.moved, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if e.n--; e.n == 0 && h.waiting[taskID] == e {
			delete(h.waiting, taskID)
		}
	}
}

// Tell says that a task has moved.
func (h *Hub) Tell(taskID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.waiting[taskID]; e != nil {
		close(e.moved)
		delete(h.waiting, taskID)
	}
}
