package schema_test

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

func TestEveryDriverHasTheSameTablesColumnsAndKeys(t *testing.T) {
	storetest.SameShape(t, schema.Migrations(), map[string]string{"crawl_tasks": "INDEX crawl_tasks_user (user_id, id)", "crawl_results": "UNIQUE (task_id, url_key)"})
}
