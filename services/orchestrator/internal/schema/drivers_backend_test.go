//go:build backends

package schema_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

func TestAMigrationThatWasCutShortIsFinishedByTheNextStart(t *testing.T) {
	cfg := storetest.MySQL(t)
	text, err := fs.ReadFile(schema.Migrations(), "mysql/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "-- +goose Up")
	half := storetest.Open(t, cfg)
	write(t, half, func(ctx context.Context, tx bun.IDB) error {
		for _, statement := range strings.SplitN(tables, ";\n", 6)[:5] {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if n := len(tablesOf(t, half)); n != 5 {
		t.Fatalf("%d tables, want 5", n)
	}
	if n := len(tablesOf(t, schematest.With(t, cfg))); n != len(rows)+len(tablesWithoutRows) {
		t.Errorf("%d tables", n)
	}
}

func TestKeysThatDifferInBytesAreTwo(t *testing.T) {
	db := schematest.Open(t)
	keys := []string{"k", "K", "k ", " k", "ḱ", "k\u0301"}
	write(t, db, func(ctx context.Context, tx bun.IDB) error {
		for _, key := range keys {
			if _, err := tx.NewInsert().Model(&schema.IdempotencyKey{UserID: "ann", Route: "r", IdemKey: key}).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, key := range keys {
		var got schema.IdempotencyKey
		if err := db.Read().NewSelect().Model(&got).Where("idem_key = ?", key).Scan(t.Context()); err != nil || got.IdemKey != key {
			t.Errorf("%q is %q, %v", key, got.IdemKey, err)
		}
	}
	err := db.Write(t.Context(), func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&schema.IdempotencyKey{UserID: "ann", Route: "r", IdemKey: "k"}).Exec(ctx)
		return err
	})
	if !store.IsUnique(err) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the same key: %v", err)
	}
}
