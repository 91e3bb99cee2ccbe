// Package runs has the stories of runs: watched over a bad line, killed in the
// middle, asked for in every wrong way, helped by strangers' tools. Every
// service is real and so is every process; the internet and the model are on
// loopback.
package runs

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// asStranger makes the test binary be a tool provider, see stranger_test.go.
const asStranger = "NANOCLAW_TEST_STRANGER"

func TestMain(m *testing.M) {
	if os.Getenv(asStranger) != "" {
		os.Exit(beStranger())
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		world.RemovePrograms()
		os.Exit(code)
	}))
}

// seeds are n seeds after that of the tests.
func seeds(t testing.TB, n int) []uint64 {
	t.Helper()
	first := sampletest.Seed(t)
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

// checkRun checks that a run has ended and is told in one way only: by its log,
// which has no gap, by every reader, and by the stored message. It returns the
// log.
func checkRun(t testing.TB, c *world.Client, conversation, runID string, readers ...*world.Transcript) *world.Transcript {
	t.Helper()
	log := c.Replay(t, runID)
	for i, id := range log.IDs {
		if id != i+1 {
			t.Fatalf("event %d of the log has id %d: %v", i, id, log.IDs)
		}
	}
	run := c.Data(t, "GET", "/api/runs/"+runID, nil)
	if status := run["status"]; (status != "completed" || log.Done == nil) && (status != "failed" || log.Error == nil) && (status != "cancelled" || log.Done == nil) {
		t.Errorf("the run is %v, its log ended with %v %v", status, log.Done, log.Error)
	}
	if last := int(run["last_seq"].(float64)); last != len(log.IDs) {
		t.Errorf("the run ends at %d, its log at %d", last, len(log.IDs))
	}
	var stored map[string]any
	for _, m := range c.Messages(t, conversation) {
		if m["run_id"] == runID && m["role"] == "assistant" {
			stored = m
		}
	}
	if stored == nil {
		t.Fatal("the run has no message")
	}
	if diff := cmp.Diff(log.Rounds(), world.StoredRounds(stored)); run["status"] == "completed" && diff != "" {
		t.Errorf("text logged (-) and stored (+):\n%s", diff)
	}
	for i, reader := range readers {
		if reader.Err != nil {
			t.Errorf("reader %d: %v", i, reader.Err)
		}
		for _, told := range []struct {
			what      string
			got, want any
		}{
			{"text", reader.Rounds(), log.Rounds()}, {"calls", reader.Calls, log.Calls}, {"results", reader.Results, log.Results},
			{"done", reader.Done, log.Done}, {"error", reader.Error, log.Error}, {"notices", reader.Notices, log.Notices},
		} {
			if diff := cmp.Diff(told.want, told.got); diff != "" {
				t.Errorf("%s as logged (-) and as reader %d has it (+):\n%s", told.what, i, diff)
			}
		}
	}
	if live := c.Data(t, "GET", "/api/conversations/"+conversation, nil)["live_run"]; live != nil {
		t.Errorf("the conversation still has a live run: %v", live)
	}
	return log
}
