package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// family makes models of a world, told as "m>a,b": m with the fallbacks a and b.

// Each has an account of its own, at an endpoint of its own.

func (w *world) family(models ...string) {
	accounts := account.NewSet(time.Now)
	w.models = map[string]Model{}
	for _, m := range models {
		id, fallback, _ := strings.Cut(m, ">")
		model := Model{Account: accounts.Of(id, "key"), Endpoint: "https://" + id + ".example/v1"}
		if fallback != "" {
			model.Fallback = strings.Split(fallback, ",")
		}
		w.models[id] = model
	}
}

// change changes a model of a world.

func (w *world) change(id string, f func(*Model)) {
	m := w.models[id]
	f(&m)
	w.models[id] = m
}

// notices are the words of a run's notices of a kind.

func (w *world) notices(r schema.Run, kind string) (out []string) {
	for _, e := range w.events(r) {
		if n := e.GetNotice(); n != nil && n.Kind == kind {
			out = append(out, n.Message)
		}
	}
	return out
}

func broke(kind provider.Kind) *provider.Error {
	return &provider.Error{Kind: kind, Message: "It says " + string(kind)}
}

func TestWhereAModelCannotAnswerItsFallbackIsAsked(t *testing.T) {
	for _, tc := range []struct {
		kind  provider.Kind
		asked string // of m and b; m alone where no other model may do better
	}{
		{provider.KindAuth, "m b"},
		{provider.KindNotFound, "m b"},
		{provider.KindQuota, "m b"},
		{provider.KindMalformed, "m b"},
		{provider.KindRateLimited, "m m m b"},
		{provider.KindOverloaded, "m m m b"},
		{provider.KindServer, "m m m b"},
		{provider.KindTimeout, "m m m b"},
		{provider.KindTransport, "m m m b"},
		{provider.KindTruncated, "m m m b"},
		{provider.KindBadRequest, "m"},
		{provider.KindContentFilter, "m"},
		{provider.KindCancelled, "m"},
		{provider.KindContextLength, "m"}, // their windows are alike
	} {
		t.Run(string(tc.kind), func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t)
				w.family("m>b", "b")
				w.scripts = map[string][]reply{"m": {fail("lost ", broke(tc.kind))}, "b": {say("From b.")}}
				r := w.engine("a").finish()
				if got := strings.Join(w.asked, " "); got != tc.asked {
					t.Errorf("asked %s, want %s", got, tc.asked)
				}
				said := w.notices(r, noticeFailover)
				if tc.asked == "m" {
					if r.Status != schema.RunFailed || len(said) != 0 || w.answer(r) != "lost " {
						t.Errorf("%s %q %q", outcome(r), said, w.answer(r))
					}
					return
				}
				want := []string{fmt.Sprintf("m does not answer: It says %s. Asking b instead.", tc.kind)}
				if outcome(r) != "completed stop" || w.answer(r) != "From b." || !slices.Equal(said, want) {
					t.Errorf("%s %q %q", outcome(r), w.answer(r), said)
				}
				if log := w.log(r); !strings.HasSuffix(log, " notice:failover round_restarted message usage done") {
					t.Errorf("log = %s", log)
				}
				calls, err := w.runs.ModelCalls(t.Context(), r.ID)
				if err != nil {
					t.Fatal(err)
				}
				for i, c := range calls {
					if c.Model != w.asked[i] || (c.State == schema.ModelCallDone) != (c.Model == "b") {
						t.Errorf("model call %d: %s by %s", i, c.State, c.Model)
					}
				}
				for _, model := range []string{"m", "b"} {
					asked := 0
					for _, a := range w.asked {
						if a == model {
							asked++
						}
					}
					if n := w.count("usage_ledger", "model = '"+model+"'"); n != asked {
						t.Errorf("%d calls of %s were booked of %d", n, model, asked)
					}
				}
			})
		})
	}
}

func TestWithoutAFallbackAFailureIsWhatItWas(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.script = []reply{fail("part", broke(provider.KindQuota))}
		r := w.engine("a").finish()
		if outcome(r) != "failed MODEL_QUOTA_EXHAUSTED" || w.log(r) != "run_started message error" || len(w.requests) != 1 {
			t.Errorf("%s: %s", outcome(r), w.log(r))
		}
	})
}

func TestWhichFallbackIsAsked(t *testing.T) {
	quota, long := broke(provider.KindQuota), broke(provider.KindContextLength)
	empty := func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
		return provider.Response{Finish: provider.FinishStop}, nil
	}
	for _, tc := range []struct {
		name    string
		models  []string
		windows map[string]int
		replies map[string]reply
		asked   string
		want    string
	}{
		{"the first that answers", []string{"m>a,b", "a", "b"}, nil,
			map[string]reply{"m": fail("", quota), "a": fail("", quota), "b": say("b")}, "m a b", "completed stop"},
		{"the fallback of a fallback, after all of its own", []string{"m>a,b", "a>c", "b", "c"}, nil,
			map[string]reply{"m": fail("", quota), "a": fail("", quota), "b": fail("", quota), "c": say("c")}, "m a b c", "completed stop"},
		{"each once, in a loop", []string{"m>a", "a>m,b", "b>a,m"}, nil,
			map[string]reply{"m": fail("", quota), "a": fail("", quota), "b": fail("", quota)}, "m a b", "failed MODEL_QUOTA_EXHAUSTED"},
		{"one with a larger window, for what is too long", []string{"m>a,b", "a", "b"}, map[string]int{"m": 8000, "a": 8000, "b": 9000},
			map[string]reply{"m": fail("", long), "a": say("a"), "b": say("b")}, "m b", "completed stop"},
		{"none, when what is too long is too long for all", []string{"m>a", "a"}, map[string]int{"m": 8000, "a": 4000},
			map[string]reply{"m": fail("", long), "a": say("a")}, "m", "failed CONTEXT_TOO_LONG"},
		{"none, when one fails in a way that no other mends", []string{"m>a,b", "a", "b"}, nil,
			map[string]reply{"m": fail("", quota), "a": fail("", broke(provider.KindBadRequest)), "b": say("b")}, "m a", "failed MODEL_REFUSED_REQUEST"},
		{"the next, after two empty answers", []string{"m>a", "a"}, nil,
			map[string]reply{"m": empty, "a": say("a")}, "m m a", "completed stop"},
		{"none that is gone from the configuration", []string{"m>gone,a", "a"}, nil,
			map[string]reply{"m": fail("", quota), "a": say("a")}, "m a", "completed stop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t)
				w.family(tc.models...)
				for id, window := range tc.windows {
					w.change(id, func(m *Model) { m.ContextWindow = window })
				}
				w.scripts = map[string][]reply{}
				for id, r := range tc.replies {
					w.scripts[id] = []reply{r}
				}
				r := w.engine("a").finish()
				if got := strings.Join(w.asked, " "); got != tc.asked || outcome(r) != tc.want {
					t.Errorf("%s, asked %s; want %s, asked %s", outcome(r), got, tc.want, tc.asked)
				}
			})
		})
	}
}

func TestLaterRoundsAreAskedOfTheFallbackAsLongAsTheBreakerIsOpen(t *testing.T) {
	for _, tc := range []struct {
		name    string
		failure *provider.Error
		between time.Duration // that the tool of the first round takes
		asked   string
		said    []string
	}{
		{"no credit left", broke(provider.KindQuota), 0, "m b b",
			[]string{"m does not answer: It says quota. Asking b instead."}},
		{"a wait that is over by then", &provider.Error{Kind: provider.KindRateLimited, Message: "Slow down.", RetryAfter: 5 * time.Second}, 10 * time.Second, "m b m",
			[]string{"m does not answer: Slow down. Asking b instead.", "m may be asked again and takes over from b."}},
		{"a failure that no breaker remembers", broke(provider.KindMalformed), 0, "m b b",
			[]string{"m does not answer: It says malformed. Asking b instead."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, tool{name: "slow", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
					time.Sleep(tc.between)
					return text("x"), nil
				}})
				w.family("m>b", "b")
				w.scripts = map[string][]reply{"m": {fail("", tc.failure), say("From m.")}, "b": {call("slow"), say("From b.")}}
				r := w.engine("a").finish()
				if got, said := strings.Join(w.asked, " "), w.notices(r, noticeFailover); outcome(r) != "completed stop" || got != tc.asked || !slices.Equal(said, tc.said) {
					t.Errorf("%s, asked %s, said %q", outcome(r), got, said)
				}
			})
		})
	}
}

func TestWhatAnotherEndpointSignedIsNotSentToAFallback(t *testing.T) {
	signed := func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp, err := call("echo")(ctx, req, yield)
		resp.Reasoning, resp.ReasoningField, resp.Extra = "hm", "reasoning_content", []byte(`{"reasoning_details":[1]}`)
		resp.Calls[0].Extra = []byte(`{"signature":"x"}`)
		return resp, err
	}
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprint("the same endpoint: ", same), func(t *testing.T) {
			in(t, func(t *testing.T) {
				w := newWorld(t, echo)
				w.family("m>b", "b")
				if same {
					w.change("b", func(b *Model) { b.Endpoint = w.models["m"].Endpoint })
				}
				w.scripts = map[string][]reply{
					"m": {signed, tries(fail("", broke(provider.KindQuota)))},
					"b": {say("Next."), say("From b.")},
				}
				e := w.engine("a")
				r := e.finish()
				check := func(when string, sent provider.Message) {
					if got := sent.Reasoning != "" && sent.Extra != nil && sent.Calls[0].Extra != nil; got != same || (sent.Reasoning != "") != same {
						t.Errorf("%s: it was sent: %v: %+v", when, got, sent)
					}
				}
				check("in the run", w.lastPrompt()[1])
				e.ended(e.ask(r.ConversationID))
				check("in the next run", w.lastPrompt()[1])
				if got := strings.Join(w.asked, " "); got != "m m b b" {
					t.Errorf("asked %s", got)
				}
				if m := w.requests[1].Messages[len(w.requests[1].Messages)-2]; m.Reasoning == "" || m.Extra == nil {
					t.Errorf("its own was not sent back to m: %+v", m)
				}
			})
		})
	}
}

// The owner dies in the middle of a failover: when the first model has failed,

// and while the second writes.

func TestARunGoesOnAfterItsOwnerDiedInAFailover(t *testing.T) {
	for _, tc := range []struct {
		name   string
		dies   string // the model that is being asked
		asked  string
		states string
	}{
		{"before the failure was stored", "m", "m m b b", "abandoned failed done done"},
		{"while the second writes", "b", "m b m b b", "failed abandoned failed done done"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				var effects atomic.Int32
				w := newWorld(t, tool{name: "send", effect: toolkit.EffectOpaque, run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
					effects.Add(1)
					return text("sent"), nil
				}})
				w.family("m>b", "b")
				var first *engine
				dying := func(r reply) reply {
					return tries(func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
						first.crash()
						return r(ctx, req, yield)
					}, r)
				}
				m, b := fail("lost ", broke(provider.KindQuota)), call("send")
				if tc.dies == "m" {
					m = dying(m)
				} else {
					b = dying(b)
				}
				w.scripts = map[string][]reply{"m": {m}, "b": {b, say("Done.")}}
				first = w.engine("a")
				r := first.ask("")
				synctest.Wait()
				first.stop()
				w.change("m", func(m *Model) { m.Account = account.NewSet(time.Now).Of("m", "key") }) // of the next process
				r = w.recovered("b").ended(r)
				if outcome(r) != "completed stop" || effects.Load() != 1 {
					t.Errorf("%s, %d effects", outcome(r), effects.Load())
				}
				if got := strings.Join(w.asked, " "); got != tc.asked {
					t.Errorf("asked %s, want %s", got, tc.asked)
				}
				if got := w.modelCalls(r); got != tc.states {
					t.Errorf("model calls are %s, want %s", got, tc.states)
				}
				if n, ended := w.count("usage_ledger", "kind = 'model'"), w.count("model_calls", "state IN ('done', 'failed')"); n != ended {
					t.Errorf("%d model calls were booked of %d that ended", n, ended)
				}
			})
		})
	}
}

func TestACancelledRunIsNotAskedOfAFallback(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("m>b", "b")
		w.scripts = map[string][]reply{"m": {hang("x ")}, "b": {say("From b.")}}
		e := w.engine("a")
		r := e.ask("")
		synctest.Wait()
		if _, err := e.Cancel(t.Context(), "ann", r.ID); err != nil {
			t.Fatal(err)
		}
		if r = e.ended(r); outcome(r) != "cancelled cancelled" || len(w.asked) != 1 {
			t.Errorf("%s, asked %q", outcome(r), w.asked)
		}
		if w.models["m"].Account.Open() {
			t.Error("a cancelled call opened the breaker")
		}
	})
}
