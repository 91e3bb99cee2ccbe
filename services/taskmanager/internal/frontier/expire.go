package frontier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Expire ends leases whose time is over, and gives back their hosts.
func (s *Store) Expire(ctx context.Context) (freed []schema.Host, err error) {
	now, err := s.Clock(ctx, s.DB.Read())
	if err != nil {
		return nil, err
	}
	var late []schema.Lease
	err = s.DB.Read().NewSelect().Model(&late).Column("id", "host", "task_id").
		Where("state = ? AND lease_until < ?", schema.LeaseLive, now).Limit(freeAtOnce).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list expired leases: %w", err)
	}
	for _, l := range late {
		h, err := s.expire(ctx, l)
		if err != nil {
			return freed, err
		}
		if h.Host != "" {
			freed = append(freed, h)
		}
	}
	return freed, nil
}

func (s *Store) expire(ctx context.Context, l schema.Lease) (h schema.Host, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		h = schema.Host{}
		err = store.ForUpdateFree(tx.NewSelect().Model(&h).Where("host = ?", l.Host)).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // somebody else is at it
		}
		if err != nil {
			return fmt.Errorf("read host: %w", err)
		}
		var still schema.Lease
		err = tx.NewSelect().Model(&still).Column("id").Where("id = ? AND state = ? AND lease_until < ?", l.ID, schema.LeaseLive, now).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			h = schema.Host{}
			return nil // extended or ended meanwhile
		}
		if err != nil {
			return fmt.Errorf("read lease: %w", err)
		}
		if err := s.lose(ctx, tx, now, l.ID); err != nil {
			return err
		}
		if h.LeaseID != l.ID {
			return nil
		}
		h.LeaseID, h.LeaseUntil = "", 0
		h.Rest(now, s.Policy(h.Host))
		return saveHost(ctx, tx, now, &h)
	})
	return h, err
}

// FreeAll ends every lease at once. Only a process that holds the lock of the
// data folder of a SQLite database may do so: whoever handed them out is dead,
// and the workers of this machine with it.
func (s *Store) FreeAll(ctx context.Context) (n int, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.Clock(ctx, tx)
		if err != nil {
			return err
		}
		res, err := tx.NewUpdate().Model((*schema.Lease)(nil)).Set("state = ?, ended_at = ?", schema.LeaseLost, now).
			Where("state = ?", schema.LeaseLive).Exec(ctx)
		if err != nil {
			return fmt.Errorf("free leases: %w", err)
		}
		rows, err := res.RowsAffected()
		if err != nil {
			return err
		}
		n = int(rows)
		_, err = tx.NewUpdate().Model((*schema.Host)(nil)).Set("lease_id = '', lease_until = 0").Where("lease_id <> ''").Exec(ctx)
		if err != nil {
			return fmt.Errorf("free hosts: %w", err)
		}
		return nil
	})
	return n, err
}
