package effectkeys

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// Retention is how long a call is remembered after its end.
	Retention = 7 * 24 * time.Hour
	// AliveFor is how long a process counts as alive after it last said so.
	AliveFor = 30 * time.Second
	// beatEvery is how often it says so.
	beatEvery = 10 * time.Second
)

// What the columns hold. A server would cut longer values and say nothing.
const (
	maxCaller = 200
	maxTool   = 64
	maxKey    = 128
	maxHash   = 64
)

// ErrNotRunning says that a call to finish is not one that this process began
// and that still runs.
var ErrNotRunning = errors.New("effectkeys: finishing a call that is not running here")

// Store keeps the calls of one process. It is safe for concurrent use.
type Store struct {
	db    *store.DB
	owner string
}

var _ toolkit.KeyStore = (*Store)(nil)

// New makes a store on a database that has the two tables. owner is the id of
// this process, new with each start, of at most 64 characters.
func New(db *store.DB, owner string) *Store { return &Store{db: db, owner: owner} }

// Begin implements [toolkit.KeyStore].
func (s *Store) Begin(ctx context.Context, key toolkit.Key, argsHash string) (known toolkit.Record, begun bool, err error) {
	if err := fits(key, argsHash); err != nil {
		return known, false, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		known, begun = toolkit.Record{}, false
		now, err := s.db.NowMillis(ctx, tx)
		if err != nil {
			return err
		}
		row := Row{
			Caller: key.Caller, Tool: key.Tool, EffectKey: key.EffectKey,
			ArgsHash: argsHash, State: string(toolkit.StateRunning), Owner: s.owner, Origins: "[]", StartedAt: now,
		}
		res, err := tx.NewInsert().Model(&row).Ignore().Exec(ctx)
		if err != nil {
			return fmt.Errorf("begin a call of %s: %w", key.Tool, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("begin a call of %s: %w", key.Tool, err)
		}
		if n == 1 {
			begun = true
			return s.beat(ctx, tx)
		}
		known, err = s.get(ctx, tx, key)
		return err
	})
	if errors.Is(err, store.ErrUnknownCommit) {
		return s.begunAfterAll(ctx, key, argsHash, err)
	}
	return known, begun, err
}

// begunAfterAll finds out whether a commit whose answer was lost had begun the
// call. A provider has at most one call of a key at work, so a running row of
// this process can be no other.
func (s *Store) begunAfterAll(ctx context.Context, key toolkit.Key, argsHash string, lost error) (toolkit.Record, bool, error) {
	row, err := find(ctx, s.db.Read(), key)
	switch {
	case err != nil:
		return toolkit.Record{}, false, errors.Join(lost, err)
	case row == nil:
		return toolkit.Record{}, false, lost
	case row.Owner == s.owner && row.State == string(toolkit.StateRunning) && row.ArgsHash == argsHash:
		return toolkit.Record{}, true, nil
	}
	known, err := s.record(ctx, s.db.Read(), row)
	return known, false, err
}

// Finish implements [toolkit.KeyStore]. A call that is not running, or that
// another process began, is ErrNotRunning.
func (s *Store) Finish(ctx context.Context, key toolkit.Key, end toolkit.Record) error {
	err := s.finish(ctx, key, end)
	if !errors.Is(err, store.ErrUnknownCommit) {
		return err
	}
	row, readErr := find(ctx, s.db.Read(), key)
	switch {
	case readErr != nil:
		return errors.Join(err, readErr)
	case row == nil && end.State == toolkit.StateUnknown, row != nil && row.State == string(end.State):
		return nil
	}
	return s.finish(ctx, key, end)
}

func (s *Store) finish(ctx context.Context, key toolkit.Key, end toolkit.Record) error {
	row := Row{State: string(end.State), Origins: "[]"}
	if r := end.Result; r != nil {
		origins, err := json.Marshal(append([]string{}, r.Origins...))
		if err != nil {
			return fmt.Errorf("write origins of a call of %s: %w", key.Tool, err)
		}
		row.ContentJSON, row.IsError, row.Origins, row.CostUSD = r.ContentJSON, r.IsError, string(origins), r.CostUSD
	}
	const mine = "caller = ? AND tool = ? AND effect_key = ? AND owner = ? AND state = ?"
	args := []any{key.Caller, key.Tool, key.EffectKey, s.owner, string(toolkit.StateRunning)}
	return s.db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var res sql.Result
		var err error
		if end.State == toolkit.StateUnknown {
			res, err = tx.NewDelete().Model((*Row)(nil)).Where(mine, args...).Exec(ctx)
		} else {
			now, clockErr := s.db.NowMillis(ctx, tx)
			if clockErr != nil {
				return clockErr
			}
			row.FinishedAt = now
			res, err = tx.NewUpdate().Model(&row).Column("state", "content_json", "is_error", "origins", "cost_usd", "finished_at").
				Where(mine, args...).Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("finish a call of %s: %w", key.Tool, err)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(ErrNotRunning, err)
		}
		return nil
	})
}

// Get implements [toolkit.KeyStore].
func (s *Store) Get(ctx context.Context, key toolkit.Key) (toolkit.Record, error) {
	return s.get(ctx, s.db.Read(), key)
}

func (s *Store) get(ctx context.Context, db bun.IDB, key toolkit.Key) (toolkit.Record, error) {
	row, err := find(ctx, db, key)
	if err != nil || row == nil {
		return toolkit.Record{State: toolkit.StateUnknown}, err
	}
	return s.record(ctx, db, row)
}

func (s *Store) record(ctx context.Context, db bun.IDB, row *Row) (toolkit.Record, error) {
	out := toolkit.Record{State: toolkit.State(row.State), ArgsHash: row.ArgsHash}
	switch out.State {
	case toolkit.StateRunning:
		alive, err := s.alive(ctx, db, row.Owner)
		if err != nil {
			return toolkit.Record{}, err
		}
		if !alive {
			out.State = toolkit.StateLost
		}
	case toolkit.StateFinished:
		r := &toolkit.StoredResult{ContentJSON: row.ContentJSON, IsError: row.IsError, CostUSD: row.CostUSD}
		if err := json.Unmarshal([]byte(row.Origins), &r.Origins); err != nil {
			return toolkit.Record{}, fmt.Errorf("read origins of a call of %s: %w", row.Tool, err)
		}
		if len(r.Origins) == 0 {
			r.Origins = nil
		}
		out.Result = r
	}
	return out, nil
}

func find(ctx context.Context, db bun.IDB, key toolkit.Key) (*Row, error) {
	var row Row
	err := db.NewSelect().Model(&row).
		Where("caller = ? AND tool = ? AND effect_key = ?", key.Caller, key.Tool, key.EffectKey).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read a call of %s: %w", key.Tool, err)
	}
	return &row, nil
}

func fits(key toolkit.Key, argsHash string) error {
	for _, c := range []struct {
		name, value string
		most        int
	}{{"caller", key.Caller, maxCaller}, {"tool", key.Tool, maxTool}, {"effect key", key.EffectKey, maxKey}, {"hash", argsHash, maxHash}} {
		if len(c.value) > c.most {
			return fmt.Errorf("effectkeys: the %s of a call has %d bytes; %d are kept", c.name, len(c.value), c.most)
		}
	}
	return nil
}
