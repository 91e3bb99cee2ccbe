package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// Between two attempts while the database is away; the first is short, since
// most trouble is.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = time.Second
)

// Patiently repeats what fails because the database or the blob store is away or
// full, until ctx ends. It returns the error of the last attempt then, with the
// cause of ctx.
func Patiently(ctx context.Context, try func() error) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := try()
		if err == nil || !passes(err) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// passes says that an error is of a store and not of what was asked of it.
func passes(err error) bool {
	return store.IsUnavailable(err) || errors.Is(err, store.ErrUnknownCommit) || errors.Is(err, store.ErrDiskFull) ||
		errors.Is(err, blob.ErrUnavailable)
}

// closure is what a write runs.
type closure = func(ctx context.Context, tx bun.IDB) error

// findOutTime is how long is found out whether a commit went through whose answer
// was lost.
const findOutTime = 5 * time.Second

// once makes a change that must not be made twice. When the answer to its commit
// is lost, landed says by a locking read whether it went through, since the
// server may still be at it; if not, the change is made again. The error is
// store.ErrUnknownCommit when that could not be found out in time.
func once(ctx context.Context, write func(context.Context, closure) error, change closure, landed func(context.Context, bun.IDB) (bool, error)) error {
	err := write(ctx, change)
	if !errors.Is(err, store.ErrUnknownCommit) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, findOutTime)
	defer cancel()
	err = Patiently(ctx, func() error {
		return write(ctx, func(ctx context.Context, tx bun.IDB) error {
			if done, err := landed(ctx, tx); done || err != nil {
				return err
			}
			return change(ctx, tx)
		})
	})
	if err != nil && (passes(err) || ctx.Err() != nil) {
		// The end of findOutTime is not the end of the caller's.
		return fmt.Errorf("%w (%v)", store.ErrUnknownCommit, err)
	}
	return err
}

// stored tells whether a row is there that q selects, to the end of the
// transactions that are at it.
func stored(ctx context.Context, q *bun.SelectQuery) (bool, error) {
	var id string
	err := store.ForUpdate(q.Column("id")).Scan(ctx, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find out what was stored: %w", err)
	}
	return true, nil
}

// commitBy is Commit by a way to write.
func (s *Store) commitBy(ctx context.Context, write func(context.Context, closure) error, l Lease, change closure, events []*pb.RunEvent) error {
	unknown := false // whether the last attempt was committed
	return Patiently(ctx, func() error {
		if unknown && len(events) > 0 {
			if done, err := s.landed(ctx, l, events[len(events)-1].Seq); done || err != nil {
				return err
			}
		}
		err := write(ctx, func(ctx context.Context, tx bun.IDB) error { return s.commit(ctx, tx, l, change, events) })
		unknown = errors.Is(err, store.ErrUnknownCommit)
		return err
	})
}

// landed finds out whether a commit went through whose answer was lost: whether
// the log, in which nobody but the owner writes, reaches to its last event.
func (s *Store) landed(ctx context.Context, l Lease, last int32) (bool, error) {
	var r schema.Run
	err := s.DB.Read().NewSelect().Model(&r).Column("lease_owner", "lease_epoch", "last_seq").Where("id = ?", l.RunID).Scan(ctx)
	if err != nil {
		return false, fmt.Errorf("find out what of run %s was stored: %w", l.RunID, err)
	}
	if r.LeaseOwner != l.Owner || r.LeaseEpoch != l.Epoch {
		return false, ErrFenced
	}
	return r.LastSeq >= int(last), nil
}
