package taskmanager

import (
	"context"
	"time"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/janitor"
)

// cleanEvery is how often what is beyond its retention is removed.
const cleanEvery = time.Hour

// keepClean removes what is beyond its retention, until ctx ends.
func (s *Service) keepClean(ctx context.Context) {
	tick := time.NewTicker(cleanEvery)
	defer tick.Stop()
	for {
		if err := s.clean(ctx, time.Now()); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "what is beyond its retention was not all removed", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) clean(ctx context.Context, now time.Time) error {
	j := janitor.Janitor{DB: s.db, Blobs: s.blobs, Tasks: s.tasks, KeepResults: s.cfg.KeepResults, KeepTasks: s.cfg.KeepTasks}
	if err := j.Clean(ctx, now); err != nil {
		return err
	}
	return s.keys.Clean(ctx, now)
}
