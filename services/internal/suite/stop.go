package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Stop ends the suite: readers are told to come back, calls and runs get time to
// end, until ctx does, and what is not done then goes on after the next start.
func (s *Suite) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { s.stopErr = s.stop(ctx) })
	return s.stopErr
}

func (s *Suite) stop(ctx context.Context) error {
	var errs []error
	if s.gateway != nil {
		s.gateway.Drain()
	}
	if s.orchestrator != nil {
		s.orchestrator.Drain()
	}
	for _, drain := range s.drains {
		drain(ctx)
	}
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop HTTP: %w", err), server.Close())
		}
	}
	if s.main != nil {
		errs = append(errs, s.main.Drain(ctx))
	}
	if s.stopRuns != nil {
		s.stopRuns()
	}
	// Runs end or are released before their tools' servers stop.
	if s.orchestrator != nil {
		s.orchestrator.Wait(ctx)
	}
	for _, server := range s.tools {
		errs = append(errs, server.Drain(ctx))
	}
	s.listeners.close()
	s.running.Wait()
	for _, f := range slices.Backward(s.closes) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
