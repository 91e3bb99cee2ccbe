package effectkeys

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// cleanRows is how many rows one transaction of Clean removes, more or less.
const cleanRows = 1000

// shared says that other processes may be alive on the database.
func (s *Store) shared() bool { return s.db.Driver() == store.DriverMySQL }

// FreeAll marks every running call as lost and tells how many there were. A
// process calls it when it has the lock of the data folder of its SQLite
// database and before it serves: whoever ran them is dead. On a server, where
// others may live, it does nothing.
func (s *Store) FreeAll(ctx context.Context) (n int, err error) {
	if s.shared() {
		return 0, nil
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.db.NowMillis(ctx, tx)
		if err != nil {
			return err
		}
		res, err := tx.NewUpdate().Model((*Row)(nil)).Set("state = ?, finished_at = ?", string(toolkit.StateLost), now).
			Where("state = ?", string(toolkit.StateRunning)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("mark the calls of the process before as lost: %w", err)
		}
		rows, err := res.RowsAffected()
		n = int(rows)
		return err
	})
	return n, err
}

// Run says until ctx ends that this process lives. A process on a server that
// does not call it loses calls that take longer than AliveFor.
func (s *Store) Run(ctx context.Context) {
	if !s.shared() {
		return
	}
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		// A database that is away is told at the next call that needs it; when it
		// is back, the next beat says that this process lived all the time.
		_ = s.db.Write(ctx, s.beat)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// beat says that this process lives, for those who share its server. It writes
// nothing while the word before is young.
func (s *Store) beat(ctx context.Context, tx bun.IDB) error {
	if !s.shared() {
		return nil
	}
	now, err := s.db.NowMillis(ctx, tx)
	if err != nil {
		return err
	}
	until, err := aliveUntil(ctx, tx, s.owner)
	if err != nil || until > now+(AliveFor-beatEvery).Milliseconds() {
		return err
	}
	row := OwnerRow{Owner: s.owner, AliveUntil: now + AliveFor.Milliseconds()}
	res, err := tx.NewUpdate().Model(&row).WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("say that this process lives: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	if _, err := tx.NewInsert().Model(&row).Ignore().Exec(ctx); err != nil {
		return fmt.Errorf("say that this process lives: %w", err)
	}
	return nil
}

// alive tells whether the process that began a call may still be at it.
func (s *Store) alive(ctx context.Context, db bun.IDB, owner string) (bool, error) {
	if owner == s.owner || !s.shared() {
		return true, nil
	}
	until, err := aliveUntil(ctx, db, owner)
	if err != nil {
		return false, err
	}
	now, err := s.db.NowMillis(ctx, db)
	return until >= now, err
}

func aliveUntil(ctx context.Context, db bun.IDB, owner string) (until int64, err error) {
	err = db.NewSelect().Model((*OwnerRow)(nil)).Column("alive_until").Where("owner = ?", owner).Scan(ctx, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("read whether a process lives: %w", err)
	}
	return until, nil
}

// Clean forgets calls that ended longer ago than Retention, and marks calls of
// processes that are gone as lost. now is the time of the caller.
func (s *Store) Clean(ctx context.Context, now time.Time) error {
	horizon := now.Add(-Retention).UnixMilli()
	for {
		last, n, err := s.oldest(ctx, horizon)
		if err != nil || n == 0 {
			return errors.Join(err, s.cleanOwners(ctx, horizon))
		}
		err = s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewDelete().Model((*Row)(nil)).Where("finished_at > 0 AND finished_at <= ?", last).Exec(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove old calls: %w", err)
		}
	}
}

// oldest tells when the last of the next calls to remove ended, and how many
// they are.
func (s *Store) oldest(ctx context.Context, horizon int64) (last int64, n int, err error) {
	var ends []int64
	err = s.db.Read().NewSelect().Model((*Row)(nil)).Column("finished_at").
		Where("finished_at > 0 AND finished_at < ?", horizon).Order("finished_at").Limit(cleanRows).Scan(ctx, &ends)
	if err != nil || len(ends) == 0 {
		return 0, 0, err
	}
	return ends[len(ends)-1], len(ends), nil
}

func (s *Store) cleanOwners(ctx context.Context, horizon int64) error {
	if !s.shared() {
		return nil
	}
	return s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		now, err := s.db.NowMillis(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model((*Row)(nil)).Set("state = ?, finished_at = ?", string(toolkit.StateLost), now).
			Where("state = ? AND owner <> ?", string(toolkit.StateRunning), s.owner).
			Where("owner IN (SELECT owner FROM effect_owners WHERE alive_until < ?)", horizon).Exec(ctx)
		if err != nil {
			return fmt.Errorf("mark calls of processes that are gone as lost: %w", err)
		}
		_, err = tx.NewDelete().Model((*OwnerRow)(nil)).Where("alive_until < ? AND owner <> ?", horizon, s.owner).Exec(ctx)
		if err != nil {
			return fmt.Errorf("remove processes that are gone: %w", err)
		}
		return nil
	})
}
