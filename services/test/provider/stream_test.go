package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// startEcho starts a provider whose tools answer with the arguments that reached
// them, and adds it to the world's configuration.
func startEcho(t testing.TB, w *world.World) {
	t.Helper()
	type input struct {
		Q *string `json:"q,omitempty" jsonschema:"what is echoed"`
	}
	p := toolkit.New(toolkit.Config{Name: "echo"})
	trust := map[string]orchestrator.TrustConfig{}
	for _, n := range toolNames {
		tool := toolkit.Tool{Name: n.recorded, Description: "Echoes.", Effect: toolkit.EffectPure, Sink: toolkit.SinkRead}
		err := toolkit.Add(p, tool, func(_ context.Context, _ *toolkit.Call, in input) (toolkit.Result, error) {
			return toolkit.JSON(map[string]any{"success": true, "got": in}), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		trust[n.recorded] = orchestrator.TrustConfig{Effect: "pure", Sink: "read", Trusted: true}
		w.Config.Tools.Enabled = append(w.Config.Tools.Enabled, n.ours)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	p.Register(server)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(lis) })
	t.Cleanup(func() { server.Stop(); _ = p.Close(); served.Wait() })
	w.Config.Providers = []orchestrator.ProviderConfig{{Name: "echo", Address: lis.Addr().String(), Tools: trust}}
}

// atOnce is how many runs are watched at the same time.
const atOnce = 64

// Every recorded shape, whole, byte by byte and cut at random places, is read the
// same by a user who asks over REST: text, thoughts, calls as they reach the tool,
// the reason to stop, failures, usage, and what the next request sends back.
func TestEveryRecordedAnswerIsReadRightByTheRunningSuite(t *testing.T) {
	seed := sampletest.Seed(t)
	var all []*recorded
	for i, s := range corpus(t) {
		for cut := range 2 + sampletest.Count(1, 20) {
			how, next := fmt.Sprintf("cut %d", cut-1), pieces(200, seed+uint64(1000*i+cut))
			switch cut {
			case 0:
				how, next = "whole", pieces(0, 0)
			case 1:
				how, next = "byte by byte", pieces(1, 0)
			}
			all = append(all, &recorded{shape: s, id: s.Name + ", " + how, next: next})
		}
	}
	e := startEndpoint(t, all)
	w := world.New(t, "turns:\n  - replies:\n      - steps: [{text: hi}]\n")
	w.Config.Runs.PerUser, w.Config.Runs.Queued, w.Config.Runs.PerProcess = atOnce, len(all), atOnce
	w.Config.Tools.Enabled = []string{"web_search", "fetch_page"}
	startEcho(t, w)
	w.Config.Models = nil
	for i, r := range all {
		// A key for each: what befalls one account is not for the others.
		w.Config.Models = append(w.Config.Models, orchestrator.ModelConfig{
			ID: r.id, APIURL: e.address(i), APIKey: config.Secret(fmt.Sprintf("a-key-for-tests-%d", i)), Profile: r.profile(),
		})
	}
	w.Config.DefaultModel = all[0].id
	c := world.ClientOf(w.Start(t))

	runs := make([]reader, len(all))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	pace := rate.NewLimiter(rpc.DefaultRatePerSecond/4, rpc.DefaultBurst/4) // a run is two calls and a stream
	for i, r := range all {
		if err := pace.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		conversation := c.Conversation(t)
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			runs[i].err = c.Send(t.Context(), conversation, map[string]any{"content": "Go on.", "model": r.id}, runs[i].take)
		})
	}
	wg.Wait()
	for i, r := range all {
		if bad := judge(r, &runs[i]); len(bad) > 0 {
			t.Errorf("%s: %s", r.id, strings.Join(bad, "; "))
		}
	}
	t.Logf("%d answers were read", len(all))
}

// reader is what a reader has of a run.
type reader struct {
	world.Transcript
	usage map[string]any // of the first round
	err   error
}

func (r *reader) take(e world.Event) bool {
	if e.Name == "usage" && r.usage == nil {
		r.usage, _ = e.Data["round_usage"].(map[string]any)
	}
	return r.Take(e)
}

// reasons are those of failed runs by the corpus's kinds of errors.
var reasons = map[string]string{
	"rate_limit": "MODEL_RATE_LIMITED", "quota": "MODEL_QUOTA_EXHAUSTED", "invalid_request": "MODEL_REFUSED_REQUEST",
	"context_length": "CONTEXT_TOO_LONG", "stream_truncated": "MODEL_STREAM_TRUNCATED", "bad_response": "MODEL_ANSWER_UNREADABLE",
	"provider": "MODEL_FAILED", "upstream_5xx": "MODEL_FAILED",
}

// judge lists what is wrong with a run.
func judge(r *recorded, run *reader) (bad []string) {
	say := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	say(run.err == nil && run.Err == nil && run.Ended(), "the stream ended with %v, %v after %v", run.err, run.Err, run.Names)
	want := r.Expect
	say(run.Text(1) == want.Text, "text %q, not %q", run.Text(1), want.Text)
	say(run.Thinking(1) == want.Reasoning, "thinking %q, not %q", run.Thinking(1), want.Reasoning)

	if want.Error != nil {
		said, _ := run.Error["message"].(string)
		say(run.Reason() == reasons[want.Error.Kind], "failed with %v %v, not for %s", run.Error, run.Done, want.Error.Kind)
		say(strings.Contains(said, want.Error.Message), "said %q, not %q", said, want.Error.Message)
		if want.Error.RetryAfter > 0 {
			waits := fmt.Sprintf("Trying again in %gs", want.Error.RetryAfter)
			told, _ := json.Marshal(run.Notices)
			say(strings.Contains(string(told), waits), "notices %s, without %q", told, waits)
		}
		say(len(run.Calls) == 0, "calls %v", run.Calls)
		return bad
	}

	finish := map[string]string{"length": "length"}[want.Finish]
	if finish == "" {
		finish = "stop"
	}
	say(run.Done["finish_reason"] == finish, "ended with %v %v, not %s", run.Done, run.Error, finish)
	filtered := false
	for _, n := range run.Notices {
		filtered = filtered || n["kind"] == "filter"
	}
	say(filtered == (want.Finish == "content_filter"), "notices %v", run.Notices)
	bad = append(bad, judgeCalls(r, run)...)
	if want.Usage != nil {
		names := map[string]string{"prompt": "input_tokens", "completion": "output_tokens", "cached": "cached_tokens", "reasoning": "reasoning_tokens"}
		for name, n := range want.Usage {
			got, _ := run.usage[names[name]].(float64)
			say(got == n, "%s tokens: %v, not %v", name, got, n)
		}
		say(run.usage["estimated"] != true, "usage is estimated: %v", run.usage)
	}
	return bad
}

// judgeCalls lists what is wrong with the calls of a run: as they are told, as they
// reached the tool, and as they go back.
func judgeCalls(r *recorded, run *reader) (bad []string) {
	say := func(ok bool, format string, args ...any) {
		if !ok {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	want := r.Expect.Calls
	if len(run.Calls) != len(want) || len(run.Results) != len(want) {
		return []string{fmt.Sprintf("%d calls and %d results, not %d", len(run.Calls), len(run.Results), len(want))}
	}
	if len(want) == 0 {
		say(r.sentBack() == nil, "there was a second request")
		return bad
	}
	say(run.Text(2) == "Done.", "after the tools %q", run.Text(2))
	back, _ := r.sentBack()["tool_calls"].([]any)
	if len(back) != len(want) {
		return append(bad, fmt.Sprintf("sent back %v", r.sentBack()))
	}
	ids := map[string]bool{}
	for i, w := range want {
		function, _ := run.Calls[i]["function"].(map[string]any)
		say(function["name"] == w.Name && run.Results[i]["name"] == w.Name, "call %d is of %v, its result of %v, not of %s", i, function["name"], run.Results[i]["name"], w.Name)
		if strings.HasPrefix(w.Name, "echo__") {
			got := run.Result(i)["got"]
			say(reflect.DeepEqual(got, map[string]any(w.Arguments)), "%v reached the tool, not %v", run.Results[i]["content"], w.Arguments)
		} else {
			say(sameJSON(function["arguments"], w.Arguments), "arguments %v, not %v", function["arguments"], w.Arguments)
		}
		id, _ := back[i].(map[string]any)["id"].(string)
		say(id != "" && !ids[id] && (w.ID == "*" || w.ID == id), "id %q goes back, not %q", id, w.ID)
		ids[id] = true
	}
	say(within(r.Expect.Passback, r.sentBack()), "sent back %v, not %v", r.sentBack(), r.Expect.Passback)
	return bad
}

func sameJSON(text any, want map[string]any) bool {
	var got map[string]any
	s, _ := text.(string)
	return json.Unmarshal([]byte(s), &got) == nil && reflect.DeepEqual(got, want)
}

// within reports whether got holds at least want.
func within(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			ok = ok && within(v, g[k])
		}
		return ok || len(w) == 0
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			ok = ok && within(w[i], g[i])
		}
		return ok
	}
	return reflect.DeepEqual(want, got)
}
