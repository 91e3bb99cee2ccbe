package runs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// silenceAllowed is the time-out of the models here.
const silenceAllowed = 400 * time.Millisecond

// fault is a model endpoint that fails.
type fault struct {
	name string
	// reply is the model's, as the script has it; empty: api is the endpoint.
	reply string
	api   string
	// How the run fails, and whether trying again may help.
	code      int
	reason    string
	retryable bool
	// text that was streamed before, and must be kept.
	text string
	// status of the answer that is not streamed.
	status int
	retry  bool // it carries Retry-After
}

func faults(t testing.TB) []fault {
	return []fault{
		{name: "down", api: closedPort(t), code: 503, reason: "MODEL_UNREACHABLE", retryable: true, status: 503, retry: true},
		{name: "401", reply: `http: {status: 401, body: {error: {message: "Incorrect API key provided", type: invalid_request_error, code: invalid_api_key}}}`,
			code: 503, reason: "MODEL_AUTH_FAILED", status: 503},
		{name: "404", reply: `http: {status: 404, body: {error: {message: "The model does not exist", code: model_not_found}}}`,
			code: 503, reason: "MODEL_NOT_FOUND", status: 503},
		{name: "429 for an hour", reply: `http: {status: 429, headers: {Retry-After: "3600"}, body: {error: {message: "Rate limit reached", code: rate_limit_exceeded}}}`,
			code: 429, reason: "MODEL_RATE_LIMITED", retryable: true, status: 429, retry: true},
		{name: "429 without credit", reply: `http: {status: 429, body: {error: {message: "You exceeded your current quota", code: insufficient_quota}}}`,
			code: 429, reason: "MODEL_QUOTA_EXHAUSTED", status: 429},
		{name: "400 for its length", reply: `http: {status: 400, body: {error: {message: "This model's maximum context length is 8192 tokens", code: context_length_exceeded}}}`,
			code: 400, reason: "CONTEXT_TOO_LONG", status: 400},
		{name: "500", reply: `http: {status: 500, body: "oh no"}`, code: 503, reason: "MODEL_FAILED", retryable: true, status: 503, retry: true},
		{name: "503", reply: `http: {status: 503, body: {error: {message: "overloaded"}}}`, code: 503, reason: "MODEL_OVERLOADED", retryable: true, status: 503, retry: true},
		{name: "a page of HTML", reply: `http: {status: 200, headers: {Content-Type: text/html}, body: "<html><title>Sign in</title></html>"}`,
			code: 503, reason: "MODEL_ANSWER_UNREADABLE", status: 503},
		{name: "a redirect", reply: `http: {status: 307, headers: {Location: "http://169.254.169.254/"}, body: ""}`, code: 503, reason: "MODEL_NOT_FOUND", status: 503},
		{name: "garbage", reply: `steps: [{repeat_raw: {text: "data: {]}\n\n", times: 100}}]`, code: 503, reason: "MODEL_ANSWER_UNREADABLE", status: 503},
		{name: "a line without end", reply: `steps: [{repeat_raw: {text: "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", times: 40000}}]`,
			code: 503, reason: "MODEL_ANSWER_UNREADABLE", status: 503},
		{name: "an error in the stream", reply: `steps: [{text: "Well, "}, {raw: "data: {\"error\":{\"message\":\"the server fell over\",\"code\":500}}\n\n"}]`,
			code: 503, reason: "MODEL_FAILED", retryable: true, text: "Well, ", status: 503, retry: true},
		{name: "silent from the beginning", reply: `steps: [{silence: true}]`, code: 504, reason: "MODEL_TIMEOUT", retryable: true, status: 504},
		{name: "silent in the middle", reply: `steps: [{text: "Well, "}, {silence: true}]`, code: 504, reason: "MODEL_TIMEOUT", retryable: true, text: "Well, ", status: 504},
		{name: "cut off in the middle", reply: `steps: [{text: "Well, "}, {cut: true}]`, code: 503, reason: "MODEL_STREAM_TRUNCATED", retryable: true, text: "Well, ", status: 503, retry: true},
		{name: "ended without an end", reply: `steps: [{text: "Well, "}, {end: true}]`, code: 503, reason: "MODEL_STREAM_TRUNCATED", retryable: true, text: "Well, ", status: 503, retry: true},
		{name: "an empty answer", reply: `steps: []`, code: 503, reason: "EMPTY_ANSWER", retryable: true, status: 503, retry: true},
	}
}

// closedPort is the address of an API that nobody serves.
func closedPort(t testing.TB) string {
	t.Helper()
	return "http://" + addrtest.Reserve(t) + "/v1"
}

func TestARunFailsWithAReasonWhenItsModelDoes(t *testing.T) {
	t.Parallel()
	all := faults(t)
	script := strings.Builder{}
	script.WriteString("turns:\n  - when: {model: scripted}\n    replies:\n      - steps: [{text: \"Here I am.\"}]\n")
	for _, f := range all {
		if f.reply != "" {
			fmt.Fprintf(&script, "  - when: {model: %q}\n    replies:\n      - %s\n", f.name, f.reply)
		}
	}
	w := world.New(t, script.String())
	w.Config.Runs.PerUser = 100
	for i, f := range all {
		api := w.ModelURL
		if f.api != "" {
			api = f.api
		}
		key := config.Secret(fmt.Sprint("sk-secret-of-the-model-", i)) // an account of its own, since one that is refused is left alone
		w.Config.Models = append(w.Config.Models, orchestrator.ModelConfig{ID: f.name, APIURL: api, APIKey: key, Timeout: silenceAllowed})
	}
	c := world.ClientOf(w.Start(t))

	// All runs at once, since most wait before they try again.
	type ending struct {
		conversation string
		run          world.Transcript
		err          error
		whole        *http.Response
		answer       map[string]any
	}
	endings := make([]ending, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		e := &endings[i]
		e.conversation = c.Conversation(t)
		other := c.Conversation(t)
		wg.Go(func() {
			e.err = c.Send(t.Context(), e.conversation, map[string]any{"content": "Are you there?", "model": f.name}, e.run.Take)
		})
		wg.Go(func() {
			var err error
			e.whole, err = c.Do(t.Context(), "POST", "/api/conversations/"+other+"/messages", map[string]any{"content": "Are you there?", "model": f.name, "stream": false})
			if err == nil {
				defer e.whole.Body.Close()
				_ = json.NewDecoder(e.whole.Body).Decode(&e.answer)
			}
		})
	}
	wg.Wait()

	for i, f := range all {
		t.Run(f.name, func(t *testing.T) {
			e := &endings[i]
			if e.err != nil || e.run.Error == nil {
				t.Fatalf("the stream ended with %v, %v, %v", e.run.Done, e.run.Names, e.err)
			}
			log := checkRun(t, c, e.conversation, e.run.RunID, &e.run)
			if log.Reason() != f.reason || log.Error["code"] != float64(f.code) || log.Error["retryable"] != f.retryable {
				t.Errorf("the run failed with %v, not %d %s, retryable %t", log.Error, f.code, f.reason, f.retryable)
			}
			if id, _ := log.Error["trace_id"].(string); len(id) != 32 {
				t.Errorf("its trace is %q", id)
			}
			if message, _ := log.Error["message"].(string); message == "" || strings.Contains(message, "sk-secret") || len(message) > 2000 {
				t.Errorf("its message is %.300q", message)
			}
			if log.Text(1) != f.text {
				t.Errorf("what was streamed before is %q", log.Text(1))
			}
			stored := c.Messages(t, e.conversation)
			if last := stored[len(stored)-1]; last["status"] != "failed" || last["content"] != f.text || last["error"].(map[string]any)["reason"] != f.reason {
				t.Errorf("stored is %v", last)
			}
			if e.whole == nil || e.whole.StatusCode != f.status || e.answer["reason"] != f.reason || e.answer["run_id"] == nil {
				t.Errorf("not streamed: %v %v", e.whole, e.answer)
			} else if got := e.whole.Header.Get("Retry-After") != ""; got != f.retry {
				t.Errorf("not streamed: Retry-After %q", e.whole.Header.Get("Retry-After"))
			}
			if next := c.Ask(t, e.conversation, "And now?"); next.Text(1) != "Here I am." || next.Done["finish_reason"] != "stop" {
				t.Errorf("the next message: %v %v", next.Done, next.Error)
			}
		})
	}
}

func TestARunWaitsForAModelThatFailsOnce(t *testing.T) {
	t.Parallel()
	w := world.New(t, "turns:\n  - replies:\n      - steps: [{text: \"Here I am, whole.\"}]\n")
	for _, tc := range []struct {
		name  string
		first http.HandlerFunc
		// restarts are the rounds whose text was dropped.
		restarts int
	}{
		{"429 with Retry-After", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(http.StatusTooManyRequests)
		}, 0},
		{"502", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }, 0},
		{"cut off", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprint(rw, `data: {"choices":[{"index":0,"delta":{"content":"Here I "}}]}`, "\n\n")
			_ = http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					tc.first(rw, r)
					return
				}
				w.Model.ServeHTTP(rw, r)
			}))
			t.Cleanup(api.Close)
			own := *w
			own.Config.DataDir = t.TempDir()
			own.Config.Models = []orchestrator.ModelConfig{{ID: world.ModelID, APIURL: api.URL}}
			c := world.ClientOf(own.Start(t))
			id := c.Conversation(t)
			began := time.Now()
			run := c.Ask(t, id, "Are you there?")
			log := checkRun(t, c, id, run.RunID, run)
			if log.Text(1) != "Here I am, whole." || log.Done["finish_reason"] != "stop" || len(log.Restarts) != tc.restarts {
				t.Errorf("%q, %v, restarts %v", log.Text(1), log.Done, log.Restarts)
			}
			if len(log.Notices) != 1 || log.Notices[0]["kind"] != "retry" {
				t.Errorf("notices %v", log.Notices)
			}
			if took := time.Since(began); strings.HasPrefix(tc.name, "429") && took < time.Second {
				t.Errorf("it did not wait for a second: %s", took)
			}
		})
	}
}
