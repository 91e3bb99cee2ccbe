package schema_test

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestEveryDriverHasTheSameTablesColumnsAndKeys(t *testing.T) {
	storetest.SameShape(t, schema.Migrations(), map[string]string{"runs": "INDEX runs_conversation (conversation_id)", "users": "name NOT NULL UNIQUE"})
}
