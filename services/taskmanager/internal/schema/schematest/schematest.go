// Package schematest makes task manager databases for tests, on the driver of
// the lane that they run in: SQLite, or MySQL with the build tag backends.
package schematest

import (
	"context"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Open makes an empty database that is removed at the end of the test.
func Open(t testing.TB) *store.DB {
	t.Helper()
	return With(t, storetest.Fresh(t))
}

// With opens a database of the given address, as the task manager would.
func With(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	cfg.Service, cfg.Migrations = "taskmanager", schema.Migrations()
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}
