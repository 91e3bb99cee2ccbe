package effectkeys

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes an empty database of the lane with the tables in it.
func open(t testing.TB) *store.DB {
	t.Helper()
	cfg := storetest.Fresh(t)
	cfg.Migrations = Migrations()
	return storetest.Open(t, cfg)
}

// each runs a test on the store in memory and on the one in the database of the
// lane: what it says holds for both.
func each(t *testing.T, test func(t *testing.T, s toolkit.KeyStore)) {
	t.Run("memory", func(t *testing.T) { test(t, toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})) })
	t.Run("database", func(t *testing.T) { test(t, New(open(t), "own_1")) })
}

func key(name string) toolkit.Key {
	return toolkit.Key{Caller: "user:ann", Tool: "crawl_batch", EffectKey: name}
}

func begin(t *testing.T, s toolkit.KeyStore, k toolkit.Key, hash string) (toolkit.Record, bool) {
	t.Helper()
	known, begun, err := s.Begin(t.Context(), k, hash)
	if err != nil {
		t.Fatal(err)
	}
	return known, begun
}

func have(t *testing.T, s toolkit.KeyStore, k toolkit.Key, want toolkit.Record) {
	t.Helper()
	got, err := s.Get(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", k, diff)
	}
}

func TestACallIsBegunOnceAndItsResultKept(t *testing.T) {
	each(t, func(t *testing.T, s toolkit.KeyStore) {
		have(t, s, key("k"), toolkit.Record{State: toolkit.StateUnknown})
		if _, begun := begin(t, s, key("k"), "h1"); !begun {
			t.Fatal("a new key is not begun")
		}
		running := toolkit.Record{State: toolkit.StateRunning, ArgsHash: "h1"}
		for _, hash := range []string{"h1", "h2"} {
			if known, begun := begin(t, s, key("k"), hash); begun || !cmp.Equal(known, running) {
				t.Errorf("a second time: %+v, %v", known, begun)
			}
		}
		end := toolkit.Record{State: toolkit.StateFinished, ArgsHash: "h1", Result: &toolkit.StoredResult{
			ContentJSON: `{"text":"纳米 \u0000 'quoted'"}`, IsError: true, Origins: []string{"a:b", `c"d`}, CostUSD: 0.25,
		}}
		if err := s.Finish(t.Context(), key("k"), end); err != nil {
			t.Fatal(err)
		}
		have(t, s, key("k"), end)
		if known, begun := begin(t, s, key("k"), "h1"); begun || !cmp.Equal(known, end) {
			t.Errorf("after its end: %+v, %v", known, begun)
		}
		if err := s.Finish(t.Context(), key("k"), end); err == nil {
			t.Error("a call ends twice")
		}
	})
}

func TestKeysOfOthersAreOthers(t *testing.T) {
	each(t, func(t *testing.T, s toolkit.KeyStore) {
		for _, k := range []toolkit.Key{
			key("k"), key("K"), key("k "), key(" k"), key("ḱ"), key("k\u0301"),
			{Caller: "user:bob", Tool: "crawl_batch", EffectKey: "k"}, {Caller: "user:ann", Tool: "run_code", EffectKey: "k"},
		} {
			if _, begun := begin(t, s, k, "h"); !begun {
				t.Errorf("%+v was begun by another", k)
			}
		}
	})
}

func TestHowACallEndsWithoutAResult(t *testing.T) {
	each(t, func(t *testing.T, s toolkit.KeyStore) {
		begin(t, s, key("lost"), "h")
		begin(t, s, key("undone"), "h")
		if err := s.Finish(t.Context(), key("lost"), toolkit.Record{State: toolkit.StateLost}); err != nil {
			t.Fatal(err)
		}
		have(t, s, key("lost"), toolkit.Record{State: toolkit.StateLost, ArgsHash: "h"})
		if err := s.Finish(t.Context(), key("undone"), toolkit.Record{State: toolkit.StateUnknown}); err != nil {
			t.Fatal(err)
		}
		have(t, s, key("undone"), toolkit.Record{State: toolkit.StateUnknown})
		if _, begun := begin(t, s, key("undone"), "h2"); !begun {
			t.Error("a forgotten key is not begun again")
		}
		if err := s.Finish(t.Context(), key("never"), toolkit.Record{State: toolkit.StateLost}); err == nil {
			t.Error("a call that never began ends")
		}
	})
}

func TestOfManyWhoBeginAtOnceOneDoes(t *testing.T) {
	each(t, func(t *testing.T, s toolkit.KeyStore) {
		var begun atomic.Int32
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				known, ok, err := s.Begin(t.Context(), key("k"), "h")
				switch {
				case err != nil:
					t.Error(err)
				case ok:
					begun.Add(1)
				case known.State != toolkit.StateRunning:
					t.Errorf("known as %+v", known)
				}
			})
		}
		all.Wait()
		if n := begun.Load(); n != 1 {
			t.Errorf("%d began", n)
		}
	})
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	s := New(open(t), "own_1")
	for _, k := range []toolkit.Key{
		{Caller: strings.Repeat("c", 201)}, {Tool: strings.Repeat("t", 65)}, {EffectKey: strings.Repeat("k", 129)},
	} {
		if _, begun, err := s.Begin(t.Context(), k, "h"); err == nil || begun {
			t.Errorf("%d, %d, %d bytes are taken", len(k.Caller), len(k.Tool), len(k.EffectKey))
		}
	}
	longest := toolkit.Key{Caller: strings.Repeat("c", 200), Tool: strings.Repeat("t", 64), EffectKey: strings.Repeat("é", 64)}
	begin(t, s, longest, strings.Repeat("h", 64))
	have(t, s, longest, toolkit.Record{State: toolkit.StateRunning, ArgsHash: strings.Repeat("h", 64)})
}

func TestACallOfAProcessThatIsGoneIsLost(t *testing.T) {
	db := open(t)
	before, after := New(db, "own_1"), New(db, "own_2")
	begin(t, before, key("running"), "h")
	begin(t, before, key("finished"), "h")
	end := toolkit.Record{State: toolkit.StateFinished, ArgsHash: "h", Result: &toolkit.StoredResult{ContentJSON: "{}"}}
	if err := before.Finish(t.Context(), key("finished"), end); err != nil {
		t.Fatal(err)
	}
	have(t, after, key("running"), toolkit.Record{State: toolkit.StateRunning, ArgsHash: "h"})
	if err := after.Finish(t.Context(), key("running"), end); !errors.Is(err, ErrNotRunning) {
		t.Errorf("another process ends the call: %v", err)
	}
	die(t, db, "own_1")
	n, err := after.FreeAll(t.Context())
	if want := map[string]int{store.DriverSQLite: 1, store.DriverMySQL: 0}[db.Driver()]; n != want || err != nil {
		t.Errorf("%d freed, %v; want %d", n, err, want)
	}
	have(t, after, key("running"), toolkit.Record{State: toolkit.StateLost, ArgsHash: "h"})
	have(t, after, key("finished"), end)
	if known, begun := begin(t, after, key("running"), "h"); begun || known.State != toolkit.StateLost {
		t.Errorf("it is begun again: %+v, %v", known, begun)
	}
}

// die makes a process one that has not said for long that it lives.
func die(t *testing.T, db *store.DB, owner string) {
	t.Helper()
	change(t, db, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*OwnerRow)(nil)).Set("alive_until = 1").Where("owner = ?", owner).Exec(ctx)
		return err
	})
}

func change(t *testing.T, db *store.DB, do func(ctx context.Context, tx bun.IDB) error) {
	t.Helper()
	if err := db.Write(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func TestCallsAreForgottenAWeekAfterTheirEndAndNotBefore(t *testing.T) {
	db := open(t)
	s := New(db, "own_1")
	now := time.UnixMilli(1_800_000_000_000)
	rows := []Row{
		{EffectKey: "old", FinishedAt: now.Add(-Retention).UnixMilli() - 1},
		{EffectKey: "young", FinishedAt: now.Add(-Retention).UnixMilli()},
		{EffectKey: "running", StartedAt: 1},
	}
	for range cleanRows + 5 {
		rows = append(rows, Row{EffectKey: "old-" + time.Duration(len(rows)).String(), FinishedAt: int64(len(rows))})
	}
	for i := range rows {
		rows[i].Origins = "[]"
	}
	change(t, db, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&rows).Exec(ctx)
		return err
	})
	for range 2 { // cleaning twice is cleaning once
		if err := s.Clean(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	if err := db.Read().NewSelect().Model((*Row)(nil)).Column("effect_key").Order("effect_key").Scan(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"running", "young"}, left); diff != "" {
		t.Errorf("(-want +left):\n%s", diff)
	}
}
