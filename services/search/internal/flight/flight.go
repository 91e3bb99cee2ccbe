// Package flight makes one call of many equal ones.
//
// Unlike x/sync/singleflight a call belongs to nobody: it goes on while anybody
// waits for it, and ends when the last one has left.
package flight

import (
	"context"
	"sync"
)

// Group is a set of calls under way. The zero value is ready; it is safe for
// concurrent use.
type Group[T any] struct {
	mu    sync.Mutex
	calls map[string]*call[T]
	alive sync.WaitGroup
}

type call[T any] struct {
	done    chan struct{} // closed when value is set
	value   T
	waiting int
	cancel  context.CancelCauseFunc
}

// Do gives what f returns for key. While a call for an equal key is under way its
// result is shared, and joined is true. The context of f has the values of the
// first caller's, and ends when nobody waits any more; the error is that of the
// caller's own ctx, when it ended first. f must not panic.
func (g *Group[T]) Do(ctx context.Context, key string, f func(context.Context) T) (value T, joined bool, err error) {
	g.mu.Lock()
	c, joined := g.calls[key]
	if !joined {
		if g.calls == nil {
			g.calls = map[string]*call[T]{}
		}
		c = g.start(ctx, key, f)
	}
	c.waiting++
	g.mu.Unlock()
	select {
	case <-c.done:
		return c.value, joined, nil
	case <-ctx.Done():
	}
	g.leave(ctx, key, c)
	return value, joined, context.Cause(ctx)
}

// start needs g.mu.
func (g *Group[T]) start(ctx context.Context, key string, f func(context.Context) T) *call[T] {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c := &call[T]{done: make(chan struct{}), cancel: cancel}
	g.calls[key] = c
	g.alive.Go(func() {
		defer cancel(nil)
		c.value = f(own)
		g.mu.Lock()
		g.forget(key, c)
		g.mu.Unlock()
		close(c.done)
	})
	return c
}

// leave ends a call that nobody waits for: whoever comes next starts another.
func (g *Group[T]) leave(ctx context.Context, key string, c *call[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.waiting--; c.waiting == 0 {
		g.forget(key, c)
		c.cancel(context.Cause(ctx))
	}
}

// forget needs g.mu.
func (g *Group[T]) forget(key string, c *call[T]) {
	if g.calls[key] == c {
		delete(g.calls, key)
	}
}

// Wait returns when no call is under way. Nobody may start one meanwhile.
func (g *Group[T]) Wait() { g.alive.Wait() }
