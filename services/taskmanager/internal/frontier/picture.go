package frontier

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// atOnce is how many ids stand in one query.
const atOnce = 500

// Picture is what is to be done, as it stands in the database.
type Picture struct {
	// Tasks that have not ended, in order of their ids.
	Tasks []schema.Task
	// Open addresses of the tasks that were asked for.
	Open map[string][]schema.Address
	// Leases that are live.
	Leases []schema.Lease
}

// Picture reads what is to be done. Of each task it asks want whether the open
// addresses are needed too.
func (s *Store) Picture(ctx context.Context, want func(t *schema.Task) bool) (Picture, error) {
	p := Picture{Open: map[string][]schema.Address{}}
	err := s.DB.Read().NewSelect().Model(&p.Tasks).ExcludeColumn("error_message").
		Where("status IN (?, ?)", schema.StatusPending, schema.StatusRunning).Order("id").Scan(ctx)
	if err != nil {
		return p, fmt.Errorf("read tasks: %w", err)
	}
	var ids []string
	for i := range p.Tasks {
		if want(&p.Tasks[i]) {
			ids = append(ids, p.Tasks[i].ID)
		}
	}
	for part := range slices.Chunk(ids, atOnce) {
		if err := s.openOf(ctx, part, p.Open); err != nil {
			return p, err
		}
	}
	err = s.DB.Read().NewSelect().Model(&p.Leases).Column("id", "task_id", "host", "parallel", "lease_until").
		Where("state = ?", schema.LeaseLive).Scan(ctx)
	if err != nil {
		return p, fmt.Errorf("read leases: %w", err)
	}
	return p, nil
}

func (s *Store) openOf(ctx context.Context, ids []string, out map[string][]schema.Address) error {
	var rows []schema.Address
	err := s.DB.Read().NewSelect().Model(&rows).Column("task_id", "url_key", "ordinal", "origin", "host", "url", "not_before", "robots_until").
		Where("task_id IN (?)", bun.List(ids)).Where("state = ?", schema.StateOpen).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read open addresses: %w", err)
	}
	for _, id := range ids {
		out[id] = nil
	}
	for _, a := range rows {
		out[a.TaskID] = append(out[a.TaskID], a)
	}
	return nil
}

// Hosts reads the rows of hosts.
func (s *Store) Hosts(ctx context.Context, names []string) (out []schema.Host, err error) {
	for part := range slices.Chunk(names, atOnce) {
		var rows []schema.Host
		err := s.DB.Read().NewSelect().Model(&rows).Column("host", "next_at", "lease_id", "lease_until").
			Where("host IN (?)", bun.List(part)).Scan(ctx)
		if err != nil {
			return nil, fmt.Errorf("read hosts: %w", err)
		}
		out = append(out, rows...)
	}
	return out, nil
}

// Open reads the open addresses of a task.
func (s *Store) Open(ctx context.Context, taskID string) ([]schema.Address, error) {
	out := map[string][]schema.Address{}
	err := s.openOf(ctx, []string{taskID}, out)
	return out[taskID], err
}
