package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

const (
	// longestCall is longer than any tool may take.
	longestCall = 15 * time.Minute
	// cleanEvery is how often rows beyond their retention are removed.
	cleanEvery = time.Hour
)

// keepClean removes what is beyond its retention, until ctx ends.
func (s *Service) keepClean(ctx context.Context) {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		if err := s.clean(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "what is beyond its retention was not all removed", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) clean(ctx context.Context) error {
	now := s.now()
	if err := s.runs.LoseInvokes(ctx, now.Add(-longestCall)); err != nil {
		return err
	}
	old, err := schema.ExpiredBlobs(ctx, s.db.Read(), now)
	if err != nil {
		return err
	}
	failed := s.results.Delete(ctx, old)
	if failed != nil {
		old = nil
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return schema.Clean(ctx, tx, now, old) })
	return errors.Join(failed, err)
}
