package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

const resultColumns = "task_id, seq, url_key, url, ok, data, content_key, content_sha256, reason, error, status_code, attempts, duration_ms, fetched_at"

var resultValues = "(?" + strings.Repeat(", ?", strings.Count(resultColumns, ",")) + ")"

// insertResults stores results with their content as arguments of the driver: in
// the text of the query, as bun writes it, a page costs its database more than
// twice as much. tx is that of a Write closure.
func insertResults(ctx context.Context, tx bun.IDB, rows []schema.Result) error {
	args := make([]any, 0, len(rows)*(strings.Count(resultColumns, ",")+1))
	for i := range rows {
		r := &rows[i]
		args = append(args, r.TaskID, r.Seq, r.URLKey, storable.Text(r.URL), r.OK, r.Data, storable.Text(r.ContentKey), storable.Text(r.ContentSHA256),
			storable.Text(r.Reason), storable.Text(r.Error), r.StatusCode, r.Attempts, r.DurationMS, r.FetchedAt)
	}
	query := "INSERT INTO crawl_results (" + resultColumns + ") VALUES " + resultValues + strings.Repeat(", "+resultValues, len(rows)-1)
	if _, err := tx.(bun.Tx).Tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("store results of task %s: %w", rows[0].TaskID, err)
	}
	return nil
}
