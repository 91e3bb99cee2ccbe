package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// The owner dies at the nth time that it looks at its clock, which it does at
// every commit and every call: wherever that is, the run ends right.
func TestACrashAtAnyMomentLosesNothingAndRepeatsNothing(t *testing.T) {
	for _, story := range []struct {
		name    string
		moments int32 // more than a run of the story has
		tell    func(w *world)
	}{
		{"a run with two rounds of calls", 60, func(w *world) {
			w.script = []reply{call("pure", "keyed", "opaque"), callAfter("Now the other. ", "queryable"), say("All done.")}
		}},
		{"a run whose arguments are corrected and whose model fails", 90, func(w *world) {
			w.family("m>b", "b")
			w.scripts = map[string][]reply{
				"m": {call("pure", "keyed "+twice, "opaque "+twice), fail("Now ", broke(provider.KindMalformed)), fail("All ", broke(provider.KindMalformed))},
				"b": {nil, callAfter("Now the other. ", "queryable "+twice), say("All done.")},
			}
			w.corrector = say(`{"text":"b"}`)
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			every := int32(sampletest.Count(3, 1))
			first := 1 + int32(sampletest.Seed(t))%every
			var tried, outlived int32
			for n := first; n <= story.moments; n += every {
				tried++
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					in(t, func(t *testing.T) {
						if crashAt(t, n, story.tell) {
							outlived++
						}
					})
				})
			}
			if outlived == 0 || outlived > tried/2 {
				t.Errorf("%d of %d runs outlived their moment: the story has another length now", outlived, tried)
			}
		})
	}
}

// callAfter says something and makes tool calls.
func callAfter(text string, calls ...string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		_, _ = say(text)(ctx, req, yield)
		resp, err := call(calls...)(ctx, req, yield)
		resp.Text = text
		return resp, err
	}
}

// crashAt plays a story with a crash and reports whether it had ended before.
func crashAt(t *testing.T, n int32, tell func(*world)) (outlived bool) {
	var effects [4]atomic.Int32
	w := newWorld(t, counting(&effects)...)
	tell(w)
	var armed atomic.Pointer[engine]
	var looks atomic.Int32
	first := w.engineAt("a", func() time.Time {
		if e := armed.Load(); e != nil && looks.Add(1) == n {
			go e.crash() // not here: this may be inside a commit
		}
		return time.Now()
	})
	conv := w.conversation("ann")
	armed.Store(first)
	st, err := first.Start(t.Context(), w.question(conv))
	synctest.Wait()
	second := w.recovered("b")
	if err != nil { // the message itself was not taken: nothing of it is there
		if runs := w.count("runs", "1=1") + w.count("messages", "1=1"); runs != 0 {
			t.Errorf("%d rows of a message that was refused", runs)
		}
		return false
	}
	before := w.run(st.Run.ID)
	outlived = before.Ended()
	r := second.ended(st.Run)
	if outcome(r) != "completed stop" || w.answer(r) != "All done." {
		t.Errorf("%s %q", outcome(r), w.answer(r))
	}
	for i, c := range w.toolCalls(r) {
		did := effects[map[string]int{"pure": 0, "keyed": 1, "queryable": 2, "opaque": 3}[c.Name]].Load()
		switch {
		case c.Effect == string(toolkit.EffectPure):
		case c.State == schema.CallUnknown && c.Effect == string(toolkit.EffectOpaque) && did <= 1:
		case c.State == schema.CallDone && did == 1:
		default:
			t.Errorf("call %d (%s) is %s and had its effect %d times", i, c.Name, c.State, did)
		}
	}
	if n, calls := w.count("usage_ledger", "kind = 'tool'"), w.count("tool_calls", "attempt > 0"); n != calls {
		t.Errorf("%d tool calls booked of %d", n, calls)
	}
	if n, ended := w.count("usage_ledger", "kind = 'model'"), w.count("model_calls", "input_tokens > 0"); n != ended {
		t.Errorf("%d model calls booked of %d that ended", n, ended)
	}
	w.script, w.scripts = []reply{say("Next.")}, nil
	if next := second.ended(second.ask(conv)); outcome(next) != "completed stop" {
		t.Errorf("the next run: %s", outcome(next))
	}
	return outlived
}
