package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

var reads = []test{
	{"readers cannot write", readOnly},
	{"readers see what is committed and do not wait for a write", isolated},
	{"a closure sees its own changes", own},
	{"a recursive query goes as deep as it has to", recursive},
	{"a list of values", list},
}

func readOnly(w *world) {
	db := w.open()
	if err := Insert(1, "x")(context.Background(), db.Read()); err == nil || !strings.Contains(strings.ReplaceAll(strings.ToLower(err.Error()), " ", ""), "readonly") {
		w.Errorf("err = %v, want a read-only error", err)
	}
	w.have(db)
}

func isolated(w *world) {
	db := w.open()
	if err := db.Write(context.Background(), Insert(1, "committed")); err != nil {
		w.Fatal(err)
	}
	err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		if err := Insert(2, "in progress")(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.NewUpdate().Model((*Note)(nil)).Set("text = 'changed'").Where("id = 1").Exec(ctx); err != nil {
			return err
		}
		w.have(db, "committed") // the transaction is open right now
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	w.have(db, "changed", "in progress")
}

func own(w *world) {
	err := w.open().Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
		if err := Insert(1, "mine")(ctx, tx); err != nil {
			return err
		}
		if n, err := tx.NewSelect().Model((*Note)(nil)).Count(ctx); err != nil || n != 1 {
			return fmt.Errorf("%d rows: %w", n, err)
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
}

func recursive(w *world) {
	const depth = 5000
	var n int
	err := w.open().Read().NewRaw("WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) SELECT MAX(n) FROM c", depth).Scan(context.Background(), &n)
	if err != nil || n != depth {
		w.Errorf("went %d deep, want %d (%v)", n, depth, err)
	}
}

func list(w *world) {
	db := w.open()
	for id, text := range []string{"a", "b", "c"} {
		if err := db.Write(context.Background(), Insert(int64(id), text)); err != nil {
			w.Fatal(err)
		}
	}
	for want, texts := range map[int][]string{0: {}, 1: {"b"}, 2: {"a", "c", "x"}} {
		n, err := db.Read().NewSelect().Model((*Note)(nil)).Where("text IN (?)", bun.List(texts)).Count(context.Background())
		if err != nil || int(n) != want {
			w.Errorf("%v: %d rows, want %d (%v)", texts, n, want, err)
		}
	}
}
