// Package hub tells those who wait for a task that it has moved. It speaks of
// what this process did; what others did is found by looking once a second.
package hub

import "sync"

// Hub is safe for concurrent use. The zero value is ready.
type Hub struct {
	mu      sync.Mutex
	waiting map[string]chan struct{}
}

// Moved is closed when the task moves. It must be taken before the task is
// looked at.
func (h *Hub) Moved(taskID string) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == nil {
		h.waiting = map[string]chan struct{}{}
	}
	ch := h.waiting[taskID]
	if ch == nil {
		ch = make(chan struct{})
		h.waiting[taskID] = ch
	}
	return ch
}

// Tell says that a task has moved.
func (h *Hub) Tell(taskID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ch := h.waiting[taskID]; ch != nil {
		close(ch)
		delete(h.waiting, taskID)
	}
}
