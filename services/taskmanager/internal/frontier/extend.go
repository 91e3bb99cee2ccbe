package frontier

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Extended tells a worker about its leases.
type Extended struct {
	Lost, Cancelled []string
	// Until is when the first of the others ends; 0 without any.
	Until int64
	// Hosts of the leases that were written, which now end at Renewed.
	Hosts   []string
	Renewed int64
}

// Extend keeps leases of a worker alive. It writes only those that have less than
// half of their time left.
func (s *Store) Extend(ctx context.Context, workerID string, ids []string) (Extended, error) {
	if len(ids) == 0 {
		return Extended{}, nil
	}
	now, err := s.Clock(ctx, s.DB.Read())
	if err != nil {
		return Extended{}, err
	}
	held, err := leases(ctx, s.DB.Read(), ids)
	if err != nil {
		return Extended{}, err
	}
	out, short := tell(held, workerID, ids, now)
	if len(short) == 0 {
		return out, nil
	}
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		until := now + LeaseTime.Milliseconds()
		_, err = tx.NewUpdate().Model((*schema.Lease)(nil)).Set("lease_until = ?", until).
			Where("id IN (?)", bun.List(short)).
			Where("state = ? AND worker_id = ? AND lease_until >= ?", schema.LeaseLive, workerID, now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("extend %d leases: %w", len(short), err)
		}
		if held, err = leases(ctx, tx, ids); err != nil {
			return err
		}
		out, _ = tell(held, workerID, ids, now)
		for _, id := range short {
			if l := held[id]; l.State == schema.LeaseLive && l.LeaseUntil == until {
				out.Hosts = append(out.Hosts, l.Host)
			}
		}
		out.Renewed = until
		_, err = tx.NewUpdate().Model((*schema.Host)(nil)).Set("lease_until = ?", until).
			Where("lease_id IN (SELECT id FROM crawl_leases WHERE id IN (?) AND state = ? AND lease_until = ?)", bun.List(short), schema.LeaseLive, until).Exec(ctx)
		if err != nil {
			return fmt.Errorf("extend %d hosts: %w", len(short), err)
		}
		return nil
	})
	return out, err
}

func leases(ctx context.Context, db bun.IDB, ids []string) (map[string]schema.Lease, error) {
	var rows []schema.Lease
	err := db.NewSelect().Model(&rows).Column("id", "worker_id", "host", "state", "lease_until").Where("id IN (?)", bun.List(ids)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %d leases: %w", len(ids), err)
	}
	out := make(map[string]schema.Lease, len(rows))
	for _, l := range rows {
		out[l.ID] = l
	}
	return out, nil
}

// tell says how leases stand, and which are short of time.
func tell(held map[string]schema.Lease, workerID string, ids []string, now int64) (out Extended, short []string) {
	for _, id := range ids {
		l, known := held[id]
		switch {
		case !known || l.WorkerID != workerID:
			out.Lost = append(out.Lost, id)
		case l.State == schema.LeaseCancelled:
			out.Cancelled = append(out.Cancelled, id)
		case l.State != schema.LeaseLive || l.LeaseUntil < now:
			out.Lost = append(out.Lost, id)
		default:
			if out.Until == 0 || l.LeaseUntil < out.Until {
				out.Until = l.LeaseUntil
			}
			if l.LeaseUntil-now < LeaseTime.Milliseconds()/2 {
				short = append(short, id)
			}
		}
	}
	return out, short
}
