package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
)

type drainHook struct {
	name string
	run  func(context.Context) error
}

// OnDrain adds work to do when the server stops taking calls and before it
// waits for those under way: a service tells its streams to end ("bye"), hands
// leases back. All hooks run at once, each once, and must end with their
// context.
func (s *Server) OnDrain(name string, run func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, drainHook{name, run})
}

// Drain ends the server: it reports NOT_SERVING, runs the drain hooks, refuses
// new calls and waits for those under way. When ctx ends first, the calls that
// are left are cancelled and Drain answers an error that says so. A second
// Drain waits for the first.
func (s *Server) Drain(ctx context.Context) error {
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		<-s.drained
		return s.drainErr
	}
	s.draining = true
	hooks := s.hooks
	s.mu.Unlock()
	defer close(s.drained)

	s.health.shutdown()
	s.drainErr = runHooks(ctx, hooks)
	s.health.endWatches()
	s.drainErr = errors.Join(s.drainErr, s.stop(ctx))
	return s.drainErr
}

func runHooks(ctx context.Context, hooks []drainHook) error {
	errs := make([]error, len(hooks))
	var all sync.WaitGroup
	for i, h := range hooks {
		all.Go(func() {
			if err := h.run(ctx); err != nil {
				errs[i] = fmt.Errorf("drain %s: %w", h.name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// stop waits for the calls under way until ctx ends, then cuts them.
func (s *Server) stop(ctx context.Context) error {
	graceful := make(chan struct{})
	go func() { both((*grpc.Server).GracefulStop, s.inside, s.outside); close(graceful) }()
	select {
	case <-graceful:
		return nil
	case <-ctx.Done():
	}
	forced := make(chan struct{})
	go func() { both((*grpc.Server).Stop, s.inside, s.outside); close(forced) }()
	grace := time.NewTimer(forcedStopGrace)
	defer grace.Stop()
	select {
	case <-forced:
		return errors.New("drain: calls were still under way at the deadline and have been cut")
	case <-grace.C:
		return errors.New("drain: some calls do not end although they were cut")
	}
}

// both ends two servers at once.
func both(end func(*grpc.Server), a, b *grpc.Server) {
	var ending sync.WaitGroup
	ending.Go(func() { end(a) })
	ending.Go(func() { end(b) })
	ending.Wait()
}
