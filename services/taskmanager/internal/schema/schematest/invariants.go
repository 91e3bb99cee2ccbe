package schematest

import (
	"context"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// broken are queries that find what must never be, with what that is.
var broken = map[string]string{
	"a counter is not what the rows say": `SELECT id FROM crawl_tasks AS t WHERE swept_at = 0 AND (
		succeeded <> (SELECT COUNT(*) FROM crawl_frontier AS f WHERE f.task_id = t.id AND f.state = 2) OR
		failed <> (SELECT COUNT(*) FROM crawl_frontier AS f WHERE f.task_id = t.id AND f.state = 3) OR
		skipped <> (SELECT COUNT(*) FROM crawl_frontier AS f WHERE f.task_id = t.id AND f.state = 4) OR
		total <> (SELECT COUNT(*) FROM crawl_frontier AS f WHERE f.task_id = t.id))`,
	"results are not one for each closed address": `SELECT id FROM crawl_tasks AS t WHERE swept_at = 0 AND (
		succeeded + failed + skipped <> (SELECT COUNT(*) FROM crawl_results AS r WHERE r.task_id = t.id) OR
		succeeded <> (SELECT COUNT(*) FROM crawl_results AS r WHERE r.task_id = t.id AND r.ok) OR
		result_seq <> (SELECT COALESCE(MAX(seq), 0) FROM crawl_results AS r WHERE r.task_id = t.id) OR
		result_seq <> (SELECT COUNT(*) FROM crawl_results AS r WHERE r.task_id = t.id))`,
	"a result is of an open address": `SELECT r.task_id FROM crawl_results AS r JOIN crawl_frontier AS f ON f.task_id = r.task_id AND f.url_key = r.url_key WHERE f.state = 0`,
	"the event log has a gap": `SELECT id FROM crawl_tasks AS t WHERE swept_at = 0 AND (
		last_seq <> (SELECT COUNT(*) FROM crawl_events AS e WHERE e.task_id = t.id) OR
		last_seq <> (SELECT COALESCE(MAX(seq), 0) FROM crawl_events AS e WHERE e.task_id = t.id))`,
	"there is not one page event for each result": `SELECT id FROM crawl_tasks AS t WHERE swept_at = 0 AND
		result_seq <> (SELECT COUNT(*) FROM crawl_events AS e WHERE e.task_id = t.id AND e.type = 'page')`,
	"a task has ended without its last event being done": `SELECT id FROM crawl_tasks AS t WHERE swept_at = 0 AND status NOT IN ('pending', 'running') AND
		NOT EXISTS (SELECT 1 FROM crawl_events AS e WHERE e.task_id = t.id AND e.seq = t.last_seq AND e.type = 'done')`,
	"a task goes on after its done": `SELECT id FROM crawl_tasks AS t WHERE status IN ('pending', 'running') AND
		EXISTS (SELECT 1 FROM crawl_events AS e WHERE e.task_id = t.id AND e.type = 'done')`,
	"a completed task has open addresses": `SELECT id FROM crawl_tasks AS t WHERE status = 'completed' AND
		EXISTS (SELECT 1 FROM crawl_frontier AS f WHERE f.task_id = t.id AND f.state = 0)`,
	"a task without open addresses goes on": `SELECT id FROM crawl_tasks AS t WHERE status IN ('pending', 'running') AND
		NOT EXISTS (SELECT 1 FROM crawl_frontier AS f WHERE f.task_id = t.id AND f.state = 0)`,
	"a task that has ended has a lease": `SELECT l.id FROM crawl_leases AS l JOIN crawl_tasks AS t ON t.id = l.task_id WHERE l.state = 'live' AND t.status NOT IN ('pending', 'running')`,
	"a host is with a lease that has ended": `SELECT host FROM crawl_hosts AS h WHERE lease_id <> '' AND
		NOT EXISTS (SELECT 1 FROM crawl_leases AS l WHERE l.id = h.lease_id AND l.state = 'live' AND l.host = h.host)`,
	"two leases of one host": `SELECT host FROM crawl_leases WHERE state = 'live' GROUP BY host HAVING COUNT(*) > 1`,
	"a lease that its host does not know": `SELECT id FROM crawl_leases AS l WHERE state = 'live' AND
		NOT EXISTS (SELECT 1 FROM crawl_hosts AS h WHERE h.lease_id = l.id)`,
	"more requests at once than the task may have": `SELECT l.id FROM crawl_leases AS l JOIN crawl_tasks AS t ON t.id = l.task_id
		JOIN crawl_leases AS o ON o.task_id = l.task_id AND o.state = 'live' AND o.created_at <= l.created_at AND o.lease_until >= l.created_at
		WHERE l.state = 'live' GROUP BY l.id, t.parallel HAVING SUM(o.parallel) > t.parallel`,
}

// Check fails the test when the database says two things at once.
func Check(t testing.TB, db *store.DB) {
	t.Helper()
	for what, query := range broken {
		var ids []string
		if err := db.Read().NewRaw(query).Scan(context.Background(), &ids); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if len(ids) > 0 {
			t.Errorf("%s: %v", what, ids)
		}
	}
	var outcomes []schema.Task
	err := db.Read().NewSelect().Model(&outcomes).Where("status = ?", schema.StatusCompleted).Scan(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, row := range outcomes {
		want := schema.OutcomePartial
		switch row.Succeeded {
		case row.Total:
			want = schema.OutcomeOK
		case 0:
			want = schema.OutcomeEmpty
		}
		if row.Outcome != want {
			t.Errorf("%s has the outcome %s with %d of %d", row.ID, row.Outcome, row.Succeeded, row.Total)
		}
	}
}
