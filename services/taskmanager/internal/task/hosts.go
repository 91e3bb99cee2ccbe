package task

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Host is a host at which a task has open addresses.
type Host struct {
	Name string
	// Open addresses of the task, and how many of them robots.txt is not known of.
	Open, Unchecked int
	NextAt          int64
	// NotBefore is when the first of the addresses may be asked for.
	NotBefore int64
	Reason    string
	// Mine says that the task is being worked on there, Leased that some task is.
	Mine, Leased bool
}

// Hosts reads where a task has open addresses, and now.
func (s *Store) Hosts(ctx context.Context, taskID string) (hosts []Host, now int64, err error) {
	if now, err = s.Clock(ctx, s.DB.Read()); err != nil {
		return nil, 0, err
	}
	var open []struct {
		Host            string
		Open, Unchecked int
		NotBefore       int64
	}
	err = s.DB.Read().NewSelect().Model((*schema.Address)(nil)).Column("host").
		ColumnExpr("COUNT(*) AS open, SUM(CASE WHEN robots_until <= ? THEN 1 ELSE 0 END) AS unchecked, MIN(not_before) AS not_before", now).
		Where("task_id = ? AND state = ?", taskID, schema.StateOpen).GroupExpr("host").Order("host").Scan(ctx, &open)
	if err != nil || len(open) == 0 {
		return nil, now, err
	}
	names := make([]string, len(open))
	for i, o := range open {
		names[i] = o.Host
	}
	var rows []schema.Host
	if err := s.DB.Read().NewSelect().Model(&rows).Where("host IN (?)", bun.List(names)).Scan(ctx); err != nil {
		return nil, 0, fmt.Errorf("read hosts of task %s: %w", taskID, err)
	}
	mine, err := s.leasedHosts(ctx, taskID, now)
	if err != nil {
		return nil, 0, err
	}
	byName := make(map[string]*schema.Host, len(rows))
	for i := range rows {
		byName[rows[i].Host] = &rows[i]
	}
	for _, o := range open {
		h := Host{Name: o.Host, Open: o.Open, Unchecked: o.Unchecked, NotBefore: o.NotBefore, Mine: mine[o.Host]}
		if r := byName[o.Host]; r != nil {
			h.NextAt, h.Reason, h.Leased = r.NextAt, r.Reason, r.LeaseID != "" && r.LeaseUntil >= now
		}
		hosts = append(hosts, h)
	}
	return hosts, now, nil
}

func (s *Store) leasedHosts(ctx context.Context, taskID string, now int64) (map[string]bool, error) {
	var names []string
	err := s.DB.Read().NewSelect().Model((*schema.Lease)(nil)).Column("host").
		Where("task_id = ? AND state = ? AND lease_until >= ?", taskID, schema.LeaseLive, now).Scan(ctx, &names)
	if err != nil {
		return nil, fmt.Errorf("read leases of task %s: %w", taskID, err)
	}
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out, nil
}

// Running is how many tasks of a user run.
func (s *Store) Running(ctx context.Context, userID string) (int, error) {
	n, err := s.DB.Read().NewSelect().Model((*schema.Task)(nil)).
		Where("user_id = ? AND status = ?", userID, schema.StatusRunning).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count running tasks: %w", err)
	}
	return int(n), nil
}
