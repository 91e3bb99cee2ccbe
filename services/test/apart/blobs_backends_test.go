//go:build backends

package apart

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/s3test"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// blobOutage is longer than a call to an S3 that is away takes to fail, and than
// a lease.
const blobOutage = 16 * time.Second

func TestALongResultWaitsForAnS3ThatIsAway(t *testing.T) {
	w := world.New(t, answering)
	w.StartHands(t)
	s3 := s3test.Start(t)
	l := layLine(t, s3.Addr)
	bucket := s3.Bucket(t)
	at, err := url.Parse(bucket)
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	query.Set("endpoint", "http://"+l.addr)
	at.RawQuery = query.Encode()
	w.Config.Blobs.URL = at.String()
	d := deploy(t, w)
	d.startAll()
	c, b := d.client(), d.backend("orchestrator")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	l.cut()
	begun := time.Now()
	a := b.ask(ctx, t, "recite, please")
	var r reader
	var reading sync.WaitGroup
	reading.Go(func() { r.watch(ctx, a, b) })
	until(t, "the log says that the store is away", func() bool {
		return strings.Contains(d.procs["orchestrator"].Stderr(), "the blob store is not available")
	})
	// Nobody else is held up.
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	time.Sleep(time.Until(begun.Add(blobOutage)))
	if got, err := b.runs.GetRun(ctx, &pb.GetRunRequest{RunId: a.run}); err != nil || got.Run.Status != "running" {
		t.Errorf("after %s without the store the run is %v, %v", blobOutage, got, err)
	}
	l.mend()
	mended := time.Now()
	reading.Wait()
	t.Logf("the run ended %s after the store was back", time.Since(mended).Round(100*time.Millisecond))
	log := c.Replay(t, a.run)
	if log.Done["finish_reason"] != "stop" || len(log.Restarts) > 0 || len(log.Results) != 1 || log.Results[0]["is_error"] == true {
		t.Fatalf("the run ended with %v %v, its results are %v", log.Done, log.Error, log.Results)
	}
	arguments := map[string]any{"result_id": log.Results[0]["result_id"], "offset": 50_000}
	read := func() (int, string) {
		status, answer := c.JSON(t, "POST", "/api/tools/read_result/invoke", map[string]any{"arguments": arguments})
		return status, fmt.Sprint(answer)
	}
	if status, answer := read(); status != http.StatusOK || !strings.Contains(answer, "nanoclaw nanoclaw") {
		t.Errorf("the result, read on: %d %.300s", status, answer)
	}

	// Without the store what is in it cannot be read or deleted for now.
	l.cut()
	if status, answer := read(); status != http.StatusOK || !strings.Contains(answer, "RESULT_STORE_UNAVAILABLE") {
		t.Errorf("the result, read without the store: %d %.300s", status, answer)
	}
	if status, answer := c.JSON(t, "DELETE", "/api/conversations/"+a.conversation, nil); status != http.StatusServiceUnavailable || answer["reason"] != "STORAGE_UNAVAILABLE" {
		t.Errorf("deleting without the store: %d %v", status, answer)
	}
	l.mend()
	if status, answer := c.JSON(t, "DELETE", "/api/conversations/"+a.conversation, nil); status != http.StatusOK {
		t.Errorf("deleting with the store: %d %v", status, answer)
	}
	d.stop()
}
