package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

var writes = []test{
	{"a write is there for the next read of whoever made it", visible},
	{"a closure that fails undoes only itself", failing},
	{"a panic is an error and undoes the write", panicking},
	{"Goexit in a closure undoes the write and stops nobody", exiting},
	{"a nested write fails loudly", nested},
	{"a transaction in a closure is a savepoint", savepoint},
	{"constraints are told apart", constraints},
	{"an insert that is to be ignored is", ignored},
	{"rows that match count as affected", affected},
	{"who locks what it decides by loses no update", counting},
	{"a key that many take at once is taken once", racing},
	{"strings are their bytes", bytewise},
	{"big values come back", big},
	{"after Close nothing is written", closed},
}

func visible(w *world) {
	db := w.open()
	const goroutines, each = 50, 8
	var calls sync.WaitGroup
	for g := range goroutines {
		calls.Go(func() {
			for i := range each {
				id := int64(g*each + i + 1)
				if err := db.Write(context.Background(), Insert(id, fmt.Sprint(id))); err != nil {
					w.Errorf("write %d: %v", id, err)
				}
				if n, err := db.Read().NewSelect().Model((*Note)(nil)).Where("id = ?", id).Count(context.Background()); err != nil || n != 1 {
					w.Errorf("row %d after commit: %d, %v", id, n, err)
				}
			}
		})
	}
	calls.Wait()
	if got := len(Texts(w.T, db)); got != goroutines*each {
		w.Errorf("%d rows, want %d", got, goroutines*each)
	}
}

func failing(w *world) {
	db := w.open()
	changed := errors.New("changed my mind")
	var calls sync.WaitGroup
	const n = 20
	for i := range int64(n) {
		calls.Go(func() {
			err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
				if err := Insert(i, fmt.Sprintf("note %02d", i))(ctx, tx); err != nil {
					return err
				}
				if i%2 == 1 {
					return fmt.Errorf("no: %w", changed)
				}
				return nil
			})
			if i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, changed) {
				w.Errorf("write %d: %v", i, err)
			}
		})
	}
	calls.Wait()
	var want []string
	for i := 0; i < n; i += 2 {
		want = append(want, fmt.Sprintf("note %02d", i))
	}
	w.have(db, want...)
}

func panicking(w *world) {
	db := w.open()
	err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		_ = Insert(1, "lost")(ctx, tx)
		panic("boom")
	})
	var panicked *store.PanicError
	if !errors.As(err, &panicked) || panicked.Value != "boom" || !strings.Contains(string(panicked.Stack), "storetest/writes.go") {
		w.Errorf("err = %v", err)
	}
	if err := db.Write(context.Background(), Insert(2, "next")); err != nil {
		w.Error(err)
	}
	w.have(db, "next")
}

func exiting(w *world) {
	db := w.open()
	var calls sync.WaitGroup
	calls.Go(func() {
		_ = db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
			_ = Insert(1, "lost")(ctx, tx)
			runtime.Goexit()
			return nil
		})
	})
	calls.Wait()
	if err := db.Write(context.Background(), Insert(2, "next")); err != nil {
		w.Errorf("next write: %v", err)
	}
	w.have(db, "next")
}

func nested(w *world) {
	db := w.open()
	ctx := context.Background()
	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		return tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			return db.Write(ctx, Insert(1, "inner"))
		})
	})
	if !errors.Is(err, store.ErrNested) {
		w.Errorf("nested: %v", err)
	}
	cfg := w.cfg
	if w.cfg.Driver == "" {
		cfg = SQLite(w.T)
		cfg.Migrations = w.cfg.Migrations
	}
	other := Open(w.T, cfg)
	err = db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		return other.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return db.Write(ctx, Insert(1, "inner")) })
	})
	if !errors.Is(err, store.ErrNested) {
		w.Errorf("nested over another database: %v", err)
	}
	err = db.Write(ctx, func(ctx context.Context, tx bun.IDB) error { return other.Write(ctx, Insert(2, "other")) })
	if err != nil {
		w.Errorf("a write to another database: %v", err)
	}
}

func savepoint(w *world) {
	db := w.open()
	err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		if err := Insert(1, "kept")(ctx, tx); err != nil {
			return err
		}
		failed := tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			_ = Insert(2, "undone")(ctx, tx)
			return errors.New("no")
		})
		if failed == nil {
			return errors.New("inner error lost")
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	w.have(db, "kept")
}

func constraints(w *world) {
	db := w.open()
	ctx := context.Background()
	if err := db.Write(ctx, Insert(1, "x")); err != nil {
		w.Fatal(err)
	}
	if err := db.Write(ctx, Insert(2, "x")); !store.IsUnique(err) {
		w.Errorf("same text: %v", err)
	}
	if err := db.Write(ctx, Insert(1, "y")); !store.IsUnique(fmt.Errorf("wrapped: %w", err)) {
		w.Errorf("same id: %v", err)
	}
	nobody := int64(99)
	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&Note{ID: 3, Text: "z", Parent: &nobody}).Exec(ctx)
		return err
	})
	if err == nil || store.IsUnique(err) || store.IsUnavailable(err) || !strings.Contains(strings.ToLower(err.Error()), "foreign key") {
		w.Errorf("missing parent: %v", err)
	}
	err = db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if err := Insert(1, "taken")(ctx, tx); !store.IsUnique(err) {
			return fmt.Errorf("want a failure to go on after, not %w", err)
		}
		return Insert(4, "another id")(ctx, tx)
	})
	if err != nil {
		w.Errorf("a closure that handles a failure: %v", err)
	}
	w.have(db, "x", "another id")
}

func ignored(w *world) {
	db := w.open()
	for _, want := range []int64{1, 0} {
		err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
			res, err := tx.NewInsert().Model(&Note{ID: 1, Text: "once"}).Ignore().Exec(ctx)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != want {
				return fmt.Errorf("%d rows affected, want %d: %w", n, want, err)
			}
			return nil
		})
		if err != nil {
			w.Error(err)
		}
	}
	w.have(db, "once")
}

func affected(w *world) {
	db := w.open()
	if err := db.Write(context.Background(), Insert(1, "same")); err != nil {
		w.Fatal(err)
	}
	for id, want := range map[int64]int64{1: 1, 2: 0} {
		err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
			res, err := tx.NewUpdate().Model(&Note{ID: id, Text: "same"}).Column("text").WherePK().Exec(ctx)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != want {
				return fmt.Errorf("setting what is set in row %d: %d rows affected, want %d: %w", id, n, want, err)
			}
			return nil
		})
		if err != nil {
			w.Error(err)
		}
	}
}

// counting also takes two rows in opposite orders, which a server ends as a
// deadlock of one of the two.
func counting(w *world) {
	w.cfg.Migrations = Notes("CREATE TABLE counters (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);", "INSERT INTO counters (id, n) VALUES (0, 0), (1, 0);")
	db := w.open()
	add := func(ctx context.Context, tx bun.IDB, id int64) error {
		var n int64
		if err := store.ForUpdate(tx.NewSelect().Table("counters").Column("n").Where("id = ?", id)).Scan(ctx, &n); err != nil {
			return err
		}
		_, err := tx.NewUpdate().Table("counters").Set("n = ?", n+1).Where("id = ?", id).Exec(ctx)
		return err
	}
	const goroutines, each = 16, 10
	var calls sync.WaitGroup
	for g := range int64(goroutines) {
		calls.Go(func() {
			for range each {
				err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
					return errors.Join(add(ctx, tx, g%2), add(ctx, tx, 1-g%2))
				})
				if err != nil {
					w.Error(err)
				}
			}
		})
	}
	calls.Wait()
	var counts []int
	if err := db.Read().NewSelect().Table("counters").Column("n").Order("id").Scan(context.Background(), &counts); err != nil {
		w.Fatal(err)
	}
	if want := goroutines * each; counts[0] != want || counts[1] != want {
		w.Errorf("counters = %v, want %d each", counts, want)
	}
}

func racing(w *world) {
	db := w.open()
	var calls sync.WaitGroup
	won := make(chan int64, 16)
	for id := range int64(cap(won)) {
		calls.Go(func() {
			switch err := db.Write(context.Background(), Insert(id, "key")); {
			case err == nil:
				won <- id
			case !store.IsUnique(err):
				w.Error(err)
			}
		})
	}
	calls.Wait()
	if len(won) != 1 {
		w.Errorf("%d took it", len(won))
	}
	w.have(db, "key")
}

func bytewise(w *world) {
	db := w.open()
	texts := []string{"b", "a", "A", "á", "a\u0301", "ß", "ss", `it's "quoted" \ and % _`, "`", "-- x", "纳米爪", "🦀", "\n\t\r", "?", "?0"}
	for i, text := range texts {
		if err := db.Write(context.Background(), Insert(int64(i), text)); err != nil {
			w.Errorf("%q: %v", text, err)
		}
	}
	w.have(db, texts...)
	for i, text := range texts {
		var id int64
		if err := db.Read().NewSelect().Model((*Note)(nil)).Column("id").Where("text = ?", text).Scan(context.Background(), &id); err != nil || id != int64(i) {
			w.Errorf("%q is row %d, want %d (%v)", text, id, i, err)
		}
	}
	var sorted []string
	if err := db.Read().NewSelect().Model((*Note)(nil)).Column("text").Where("text < ?", "b").Where("text > ?", "@").Order("text").Scan(context.Background(), &sorted); err != nil {
		w.Fatal(err)
	}
	if got := strings.Join(sorted, " "); got != "A ` a a\u0301" {
		w.Errorf("in order: %q", got)
	}
}

func big(w *world) {
	blob, text := "BLOB", "TEXT"
	if w.cfg.Driver == store.DriverMySQL {
		blob, text = "LONGBLOB", "MEDIUMTEXT"
	}
	w.cfg.Migrations = Notes("CREATE TABLE values_ (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, d DOUBLE NOT NULL, b BOOLEAN NOT NULL, data " + blob + " NOT NULL, text " + text + " NOT NULL);")
	db := w.open()
	type value struct {
		bun.BaseModel `bun:"table:values_"`

		ID   int64 `bun:",pk"`
		N    int64
		D    float64
		B    bool
		Data []byte
		Text string
	}
	data := make([]byte, 2<<20)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for id, want := range []value{
		{N: math.MaxInt64, D: 1234567.0009, B: true, Data: data, Text: strings.Repeat("纳米🦀\\'", 200_000)},
		{N: math.MinInt64, D: 0.1, Data: []byte{}},
		{D: 1e-9, Data: []byte{0}},
	} {
		want.ID = int64(id)
		err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
			_, err := tx.NewInsert().Model(&want).Exec(ctx)
			return err
		})
		if err != nil {
			w.Fatal(err)
		}
		var got value
		if err := db.Read().NewSelect().Model(&got).Where("id = ?", id).Scan(context.Background()); err != nil {
			w.Fatal(err)
		}
		if got.N != want.N || got.D != want.D || got.B != want.B || !bytes.Equal(got.Data, want.Data) || got.Text != want.Text {
			w.Errorf("row %d: n %d, d %g, b %v, %d bytes, %d bytes of text", id, got.N, got.D, got.B, len(got.Data), len(got.Text))
		}
	}
}

func closed(w *world) {
	db := w.open()
	if err := db.Write(context.Background(), Insert(1, "before")); err != nil {
		w.Fatal(err)
	}
	started, finish := make(chan struct{}), make(chan struct{})
	var once sync.Once
	going := make(chan error, 1)
	go func() {
		going <- db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
			once.Do(func() { close(started) })
			<-finish
			return Insert(2, "going on")(ctx, tx)
		})
	}()
	<-started
	ended := make(chan error, 1)
	go func() { ended <- db.Close() }()
	close(finish)
	if err := <-ended; err != nil {
		w.Errorf("close: %v", err)
	}
	if err := <-going; err != nil {
		w.Errorf("the write that was going on: %v", err)
	}
	if err := db.Write(context.Background(), Insert(3, "after")); !errors.Is(err, store.ErrClosed) {
		w.Errorf("write after close: %v", err)
	}
	if err := db.Close(); err != nil {
		w.Errorf("second close: %v", err)
	}
	w.have(w.open(), "before", "going on")
}
