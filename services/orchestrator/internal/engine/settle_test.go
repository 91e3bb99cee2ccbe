package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// long is a result that does not fit into the database.
var long = strings.Repeat("0123456789", 5000)

// bucket is a blob store that answers what a test says.
type bucket struct {
	blob.Bucket
	mu   sync.Mutex
	put  func(ctx context.Context) error // nil: as the store itself does
	puts int
}

func (b *bucket) Put(ctx context.Context, key string, data []byte, contentType string) error {
	b.mu.Lock()
	b.puts++
	put := b.put
	b.mu.Unlock()
	if put != nil {
		if err := put(ctx); err != nil {
			return err
		}
	}
	return b.Bucket.Put(ctx, key, data, contentType)
}

func (b *bucket) set(put func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put = put
}

func away(context.Context) error { return fmt.Errorf("dial: %w", blob.ErrUnavailable) }

// silent is a store that takes a connection and never answers.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// withLongResult is a world whose model calls a tool that answers at length, and
// whose blob store does as told.
func withLongResult(t *testing.T, effect toolkit.Effect, put func(context.Context) error) (*world, *bucket) {
	t.Helper()
	w := newWorld(t, tool{name: "recite", effect: effect, run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
		return text(long), nil
	}})
	w.script = []reply{call("recite"), say("Done.")}
	b := &bucket{Bucket: w.results.Bucket, put: put}
	w.results = &result.Keeper{Bucket: b}
	return w, b
}

func TestARunWaitsForABlobStoreThatIsAwayAndGoesOn(t *testing.T) {
	for name, put := range map[string]func(context.Context) error{"away": away, "silent": silent} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w, b := withLongResult(t, toolkit.EffectOpaque, put)
				e := w.engine("a")
				r := e.ask("")
				time.Sleep(w.cfg.ResultPatience / 2) // many times as long as a lease
				if got := w.run(r.ID); got.Status != schema.RunRunning {
					t.Fatalf("the run is %s while the store is away", got.Status)
				}
				b.set(nil)
				if r = e.ended(r); outcome(r) != "completed stop" || r.LeaseEpoch != 1 || r.Takeovers != 0 {
					t.Errorf("%s in epoch %d after %d takeovers", outcome(r), r.LeaseEpoch, r.Takeovers)
				}
				c := w.toolCalls(r)[0]
				if whole, err := w.results.Whole(t.Context(), c); err != nil || !strings.Contains(whole, long) || c.IsError || c.Attempt != 1 {
					t.Errorf("%d bytes are stored of the result, %v; it is an error: %v, after attempt %d", len(whole), err, c.IsError, c.Attempt)
				}
				if took := time.Duration(c.EndedAt-c.StartedAt) * time.Millisecond; took > time.Second {
					t.Errorf("the call is said to have taken %s", took)
				}
			})
		})
	}
}

func TestACallFailsWhenTheBlobStoreStaysAway(t *testing.T) {
	for _, tc := range []struct {
		name  string
		put   func(context.Context) error
		takes [2]time.Duration
		says  string
	}{
		{"away", away, [2]time.Duration{2 * time.Minute, 3 * time.Minute}, "the store of long results is not reachable"},
		{"silent", silent, [2]time.Duration{2 * time.Minute, 3 * time.Minute}, "the store of long results is not reachable"},
		{"it refuses", func(context.Context) error { return errors.New("AccessDenied: hunter2") }, [2]time.Duration{0, time.Second}, "the store of long results refuses it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w, _ := withLongResult(t, toolkit.EffectPure, tc.put)
				begun := time.Now()
				r := w.engine("a").finish()
				if took := time.Since(begun); outcome(r) != "completed stop" || took < tc.takes[0] || took > tc.takes[1] {
					t.Errorf("%s after %s", outcome(r), took)
				}
				c := w.toolCalls(r)[0]
				if !c.IsError || c.Reason != "RESULT_NOT_STORED" || c.State != schema.CallDone || !c.Truncated || c.ResultBlob != "" {
					t.Errorf("the call is %.500s", fmt.Sprintf("%+v", c))
				}
				told := w.lastPrompt()[2].Content
				for what, text := range map[string]string{"the model is told": told, "a reader is told": c.Result} {
					if !strings.Contains(text, tc.says) || !strings.Contains(text, long[:1000]) || strings.Contains(text, "hunter2") {
						t.Errorf("%s %.300q", what, text)
					}
				}
				if whole, err := w.results.Whole(t.Context(), c); err != nil || !strings.Contains(whole, long[:24_000]) {
					t.Errorf("%d bytes are kept, %v", len(whole), err)
				}
			})
		})
	}
}

func TestWhoeverCancelsDoesNotWaitForTheBlobStore(t *testing.T) {
	in(t, func(t *testing.T) {
		w, _ := withLongResult(t, toolkit.EffectOpaque, away)
		e := w.engine("a")
		r := e.ask("")
		time.Sleep(10 * time.Second)
		begun := time.Now()
		if _, err := e.Cancel(t.Context(), "ann", r.ID); err != nil {
			t.Fatal(err)
		}
		r = e.ended(r)
		if took := time.Since(begun); outcome(r) != "cancelled cancelled" || took > time.Second {
			t.Errorf("%s after %s", outcome(r), took)
		}
		// What the tool did is known, and not lost.
		if c := w.toolCalls(r)[0]; c.State != schema.CallDone || c.Reason != "RESULT_NOT_STORED" || !strings.Contains(c.Result, long[:1000]) {
			t.Errorf("the call is %.500s", fmt.Sprintf("%+v", c))
		}
	})
}

func TestAnOwnerThatStopsLeavesALongResultToTheNext(t *testing.T) {
	for _, tc := range []struct {
		effect toolkit.Effect
		whole  bool // the call can be made, or asked for, once more
	}{
		{toolkit.EffectPure, true},
		{toolkit.EffectKeyed, true},
		{toolkit.EffectOpaque, false},
	} {
		t.Run(string(tc.effect), func(t *testing.T) {
			in(t, func(t *testing.T) {
				w, b := withLongResult(t, tc.effect, away)
				first := w.engine("a")
				r := first.ask("")
				time.Sleep(10 * time.Second)
				first.stop()
				b.set(nil)
				r = w.engine("b").ended(r)
				c := w.toolCalls(r)[0]
				whole, err := w.results.Whole(t.Context(), c)
				if outcome(r) != "completed stop" || err != nil || strings.Contains(whole, long) != tc.whole || !strings.Contains(whole, long[:1000]) {
					t.Errorf("%s: %d bytes, %v", outcome(r), len(whole), err)
				}
				if !tc.whole && (c.Reason != "RESULT_NOT_STORED" || c.State != schema.CallDone || c.Attempt != 1) {
					t.Errorf("the call is %.500s", fmt.Sprintf("%+v", c))
				}
			})
		})
	}
}

func TestALongResultOfAnotherOwnersRunIsNotStored(t *testing.T) {
	in(t, func(t *testing.T) {
		w, b := withLongResult(t, toolkit.EffectOpaque, away)
		first := w.engine("a")
		r := first.ask("")
		time.Sleep(10 * time.Second)
		first.crash() // it renews nothing any more
		time.Sleep(2 * run.LeaseTime)
		b.set(nil)
		r = w.engine("b").ended(r)
		if c := w.toolCalls(r)[0]; c.State != schema.CallUnknown {
			t.Errorf("what became of the call is not known, and it is %s", c.State)
		}
	})
}
