package identity

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store over a real database, with a clock that the test moves.
type world struct {
	*Store
	dir string
	now time.Time
}

func open(t *testing.T) *world {
	t.Helper()
	return over(t, schematest.Open(t))
}

func over(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)}
	w.Store = &Store{DB: db, Now: func() time.Time { return w.now }}
	return w
}
