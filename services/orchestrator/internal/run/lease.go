package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

const (
	// LeaseTime is how long a lease lasts without renewal.
	LeaseTime = 15 * time.Second
	// RenewEvery is how often an owner renews its leases.
	RenewEvery = 5 * time.Second
	// MaxTakeovers is how many owners in a row may take a run over and not bring
	// it on; the next one parks it for a person.
	MaxTakeovers = 3
)

// Owner is a process that owns runs.
type Owner struct {
	// ID is new with each start of the process.
	ID string
	// Addr is where other replicas reach it; empty when there are none.
	Addr string
}

// FreeAll ends every lease at once. Only a process that holds the lock of the
// data folder of a SQLite database may do so: whoever had the leases is dead.
func (s *Store) FreeAll(ctx context.Context) (n int, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		res, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("lease_owner = '', lease_until = 0").
			Where("status = ? AND lease_until > 0", schema.RunRunning).Exec(ctx)
		if err != nil {
			return fmt.Errorf("free leases: %w", err)
		}
		rows, err := res.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}

// Claimable lists runs that need an owner, oldest first: those whose owner is
// gone, then those queued whose user may have one more running.
func (s *Store) Claimable(ctx context.Context, limits Limits, limit int) (ids []string, err error) {
	now, err := s.DB.NowMillis(ctx, s.DB.Read())
	if err != nil {
		return nil, err
	}
	err = s.DB.Read().NewSelect().Model((*schema.Run)(nil)).Column("id").
		Where("status = ? AND lease_until < ?", schema.RunRunning, now).Order("id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list runs without an owner: %w", err)
	}
	if len(ids) == limit {
		return ids, nil
	}
	var queued []string
	err = s.DB.Read().NewSelect().Model((*schema.Run)(nil)).Column("id").
		Where("status = ?", schema.RunQueued).
		Where("(SELECT COUNT(*) FROM runs AS r WHERE r.user_id = run.user_id AND r.status = ?) < ?", schema.RunRunning, limits.RunningPerUser).
		Order("id").Limit(int64(limit-len(ids))).Scan(ctx, &queued)
	if err != nil {
		return nil, fmt.Errorf("list queued runs: %w", err)
	}
	return append(ids, queued...), nil
}

// Claim takes the lease of a run that needs an owner. ErrFenced: somebody else
// was faster, or its user has enough running.
func (s *Store) Claim(ctx context.Context, runID string, owner Owner, limits Limits) (r schema.Run, l Lease, err error) {
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		r = schema.Run{}
		err := store.ForUpdateFree(tx.NewSelect().Model(&r).Where("id = ?", runID)).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrFenced
		}
		if err != nil {
			return fmt.Errorf("read run %s: %w", runID, err)
		}
		now, err := s.DB.NowMillis(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case r.Status == schema.RunRunning && r.LeaseUntil < now:
			r.Takeovers++
		case r.Status == schema.RunQueued:
			if err := oneByOne(ctx, tx, r.UserID); err != nil {
				return err
			}
			n, err := tx.NewSelect().Model((*schema.Run)(nil)).Where("user_id = ? AND status = ?", r.UserID, schema.RunRunning).Count(ctx)
			if err != nil {
				return fmt.Errorf("count runs: %w", err)
			}
			if int(n) >= limits.RunningPerUser {
				return ErrFenced
			}
		default:
			return ErrFenced
		}
		was := r.LeaseEpoch
		r.Status, r.LeaseOwner, r.LeaseAddr = schema.RunRunning, owner.ID, owner.Addr
		r.LeaseEpoch, r.LeaseUntil = was+1, now+LeaseTime.Milliseconds()
		res, err := tx.NewUpdate().Model(&r).
			Column("status", "lease_owner", "lease_addr", "lease_epoch", "lease_until", "takeovers").
			Where("id = ? AND lease_epoch = ?", r.ID, was).Exec(ctx)
		if err != nil {
			return fmt.Errorf("claim run: %w", err)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(ErrFenced, err)
		}
		l = Lease{RunID: r.ID, Owner: owner.ID, Epoch: r.LeaseEpoch}
		return nil
	})
	return r, l, err
}

// Begun is when a run's first model call was made; the zero time when none was.
func (s *Store) Begun(ctx context.Context, runID string) (time.Time, error) {
	var ms int64
	err := s.DB.Read().NewSelect().Model((*schema.ModelCall)(nil)).ColumnExpr("COALESCE(MIN(started_at), 0)").
		Where("run_id = ?", runID).Scan(ctx, &ms)
	if err != nil {
		return time.Time{}, fmt.Errorf("read begin of run %s: %w", runID, err)
	}
	return schema.Time(ms), nil
}

// Renewed tells an owner about one of its runs.
type Renewed struct {
	Lost   bool // the lease belongs to somebody else, or the run is gone
	Cancel bool // somebody asked for its end
}

// Renew prolongs the leases of an owner and reports, for each, what it must
// know. It takes the same few statements for any number of leases: an owner with
// many runs keeps them also when the database is slow.
func (s *Store) Renew(ctx context.Context, owner Owner, leases []Lease) (map[string]Renewed, error) {
	ids := make([]string, len(leases))
	for i, l := range leases {
		ids[i] = l.RunID
	}
	var held []schema.Run
	err := s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.DB.NowMillis(ctx, tx)
		if err != nil {
			return err
		}
		const mine = "id IN (?) AND lease_owner = ? AND status = ?"
		_, err = tx.NewUpdate().Model((*schema.Run)(nil)).Set("lease_until = ?", now+LeaseTime.Milliseconds()).
			Where(mine, bun.List(ids), owner.ID, schema.RunRunning).Exec(ctx)
		if err != nil {
			return fmt.Errorf("renew %d leases: %w", len(leases), err)
		}
		held = nil
		err = tx.NewSelect().Model(&held).Column("id", "lease_epoch", "cancel_requested").
			Where(mine, bun.List(ids), owner.ID, schema.RunRunning).Scan(ctx)
		if err != nil {
			return fmt.Errorf("read %d renewed leases: %w", len(leases), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make(map[string]Renewed, len(leases))
	for _, l := range leases {
		out[l.RunID] = Renewed{Lost: true}
		if i := slices.IndexFunc(held, func(r schema.Run) bool { return r.ID == l.RunID && r.LeaseEpoch == l.Epoch }); i >= 0 {
			out[l.RunID] = Renewed{Cancel: held[i].CancelRequested}
		}
	}
	return out, nil
}

// Release gives a lease back, so that another owner may go on at once. Nobody
// failed: the takeover that follows does not count.
func (s *Store) Release(ctx context.Context, l Lease) error {
	return s.Commit(ctx, l, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).
			Set("lease_owner = '', lease_until = 0, takeovers = takeovers - 1").Where("id = ?", l.RunID).Exec(ctx)
		return err
	})
}
