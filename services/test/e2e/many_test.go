//go:build e2e && figures

package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

// manyMessages are in the conversation that is opened.
const manyMessages = 1000

// addMany writes a conversation of many messages into the database of a server
// that runs; having them said by a model would take minutes.
func addMany(t testing.TB, dataDir string) (conversation string) {
	t.Helper()
	dsn := url.URL{Scheme: "file", Path: filepath.Join(dataDir, "orchestrator.db"), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if conversation, err = insertMany(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return conversation
}

func insertMany(ctx context.Context, db *sql.DB) (conversation string, err error) {
	var owner string
	if err := db.QueryRowContext(ctx, "SELECT id FROM users ORDER BY created_at LIMIT 1").Scan(&owner); err != nil {
		return "", err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	id := func(kind string, i int) string { return fmt.Sprintf("%s_01m8mx%020d", kind, i) }
	now := time.Now().UnixMilli()
	conversation = id("cnv", 0)
	row := func(query string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, args...)
		}
	}
	parent := ""
	for i := range manyMessages {
		role, content, run := "user", fmt.Sprintf("Question %d: what does this part say?", i), ""
		if i%2 == 1 {
			role, content, run = "assistant", prose(fmt.Sprintf("answer %d", i), 600), id("run", i)
			row(`INSERT INTO runs (id, conversation_id, user_id, user_message_id, message_id, model, tools_enabled, status, waiting_for, finish_reason,
				error_code, error_reason, error_message, error_retryable, rounds, last_seq, lease_owner, lease_addr, lease_epoch, lease_until, takeovers,
				cancel_requested, origins, trace_id, trace_parent, created_at, ended_at)
				VALUES (?, ?, ?, ?, ?, 'scripted', TRUE, 'completed', '', 'stop', 0, '', '', FALSE, 1, 4, '', '', 0, 0, 0, FALSE, '', '', '', ?, ?)`,
				run, conversation, owner, parent, id("msg", i), now, now)
			row(`INSERT INTO model_calls (id, run_id, user_id, round, attempt, state, model, text, reasoning, reasoning_field, extra, finish,
				input_tokens, output_tokens, cached_tokens, reasoning_tokens, usage_estimated, request_id, error, started_at, ended_at)
				VALUES (?, ?, ?, 0, 1, 'done', 'scripted', ?, '', '', '', 'stop', 100, 100, 0, 0, FALSE, '', '', ?, ?)`,
				id("mcl", i), run, owner, content, now, now)
		}
		row(`INSERT INTO messages (id, conversation_id, user_id, parent_id, path_length, role, content, run_id, origins, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?)`, id("msg", i), conversation, owner, parent, i+1, role, content, run, now)
		parent = id("msg", i)
	}
	row(`INSERT INTO conversations (id, user_id, title, model, system_prompt, active_leaf, live_run, created_at, updated_at)
		VALUES (?, ?, 'A thousand messages', '', '', ?, '', ?, ?)`, conversation, owner, parent, now, now)
	if err != nil {
		return "", err
	}
	return conversation, tx.Commit()
}
