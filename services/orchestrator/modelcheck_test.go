package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/modelserver"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/modelcheck"
)

// stressSeed makes the cases of these tests.
const stressSeed = 11

// player is a model that answers each case of the tests in some way.
func player(t *testing.T, rounds int, answer func(modelcheck.Case) modelserver.Reply) (*modelserver.Running, ModelConfig) {
	t.Helper()
	cases := modelcheck.Generate(stressSeed, rounds, 4096)
	s := modelserver.Script{Model: "player"}
	for _, c := range cases {
		last := c.Request.Messages[len(c.Request.Messages)-1]
		turn := modelserver.Turn{When: modelserver.Condition{LastRole: string(last.Role)}, Replies: []modelserver.Reply{answer(c)}, Repeat: true}
		for _, m := range c.Request.Messages {
			if m.Role == "user" {
				turn.When.UserContains = m.Content
			}
		}
		s.Turns = append(s.Turns, turn)
	}
	r, err := modelserver.Listen("127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r, ModelConfig{ID: "p", Model: "player", APIURL: r.URL, APIKey: "sk-never-shown-123"}
}

// calls are those that a case asks for, with their arguments written in some way.
func calls(c modelcheck.Case, write func(string) string) modelserver.Reply {
	r := modelserver.Reply{Usage: &modelserver.Usage{PromptTokens: 100, CompletionTokens: 20}}
	for _, w := range c.Want {
		r.Steps = append(r.Steps, modelserver.Step{Call: &modelserver.Call{Name: w.Tool, Arguments: strings.ReplaceAll(write(w.Arguments), "{{", "{ {")}})
	}
	if len(c.Want) == 0 {
		r.Steps = []modelserver.Step{{Text: "5"}}
	}
	return r
}

func asIs(text string) string { return text }

// inText writes the calls as Hermes models do.
func inText(c modelcheck.Case) modelserver.Reply {
	var text strings.Builder
	for _, w := range c.Want {
		fmt.Fprintf(&text, "<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>\n", w.Tool, strings.ReplaceAll(w.Arguments, "{{", "{ {"))
	}
	if len(c.Want) == 0 {
		text.WriteString("5")
	}
	return modelserver.Reply{Steps: []modelserver.Step{{Text: text.String()}}}
}

func refusal(status int, headers map[string]string, message string) func(modelcheck.Case) modelserver.Reply {
	return func(modelcheck.Case) modelserver.Reply {
		return modelserver.Reply{HTTP: &modelserver.HTTP{Status: status, Headers: headers, Body: map[string]any{"error": map[string]any{"message": message}}}}
	}
}

func TestAModelIsPutToTheTestThroughItsRealProtocol(t *testing.T) {
	const rounds = 36 // each kind twice
	for _, tc := range []struct {
		name   string
		answer func(modelcheck.Case) modelserver.Reply
		asked  int
		check  func(*testing.T, StressReport)
	}{
		{"one that answers well", func(c modelcheck.Case) modelserver.Reply { return calls(c, asIs) }, rounds, func(t *testing.T, r StressReport) {
			if r.Total.Passed != (StressCount{N: rounds, Of: rounds}) || r.Total.Exact.N != r.Total.Exact.Of || r.Parallel != (StressCount{N: 2, Of: 2}) || len(r.Kinds) != 18 {
				t.Errorf("%+v", r.StressSummary)
			}
			if r.InputTokens != 100*(rounds-2)+200 || r.OutputTokens != 20*rounds || r.Estimated || r.Streamed.N < 30 || r.Recommendation.Change {
				t.Errorf("%+v", r.StressSummary)
			}
		}},
		{"one that writes broken JSON", func(c modelcheck.Case) modelserver.Reply {
			return calls(c, func(text string) string { return "```json\n" + text + "\n```" })
		}, rounds, func(t *testing.T, r StressReport) {
			if r.Total.Passed.N != rounds || r.Total.Exact.N != 0 || r.Total.Repaired.N != r.Total.Repaired.Of || r.Repairs[0].What != "code fence removed" || len(r.Recommendation.Advice) != 1 {
				t.Errorf("%+v\n%+v", r.StressSummary, r.Recommendation)
			}
		}},
		{"one that cuts its JSON off", func(c modelcheck.Case) modelserver.Reply {
			return calls(c, func(text string) string {
				if i := strings.LastIndex(text, ":"); i > 0 {
					return text[:i+1]
				}
				return text
			})
		}, rounds, func(t *testing.T, r StressReport) {
			if r.Total.Unreadable.N < 30 || r.Total.Passed.N > 5 || r.Total.Valid.N > 5 {
				t.Errorf("%+v", r.StressSummary)
			}
			first := r.Misses[0]
			if len(r.Misses) != 20 || first.Round != 1 || first.Kind != "flat arguments" || first.Why != "the arguments cannot be read" || first.Calls[0].Name != "set_reminder" || !strings.HasSuffix(first.Calls[0].Arguments, `"urgent":`) {
				t.Errorf("%+v", r.Misses)
			}
		}},
		{"one whose calls are in its text", inText, rounds, func(t *testing.T, r StressReport) {
			want := StressRecommendation{
				Settings: modelcheck.Settings{Profile: "hermes", ToolMode: "native"}, Change: true, Advice: []string{},
				Reason: "in 34 of 34 answers without a call the calls stand in the text, in a form that this profile reads; with profile: hermes 6 of 6 rounds passed, without 0 of 6",
			}
			if diff := cmp.Diff(want, r.Recommendation); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if r.Total.Called != (StressCount{N: 0, Of: 34}) || r.Total.Passed.N != 2 {
				t.Errorf("%+v", r.Total)
			}
		}},
		{"one that refuses tools", refusal(400, nil, "player does not support tools"), 3, func(t *testing.T, r StressReport) {
			if r.Stopped != "3 calls in a row failed" || r.Failures[0].Kind != "bad_request" || !strings.HasPrefix(r.Recommendation.Reason, "the endpoint says that it takes no tools for this model, but with tool_mode: prompted no more passed") {
				t.Errorf("%q, %+v", r.Stopped, r.Recommendation)
			}
		}},
		{"one whose key is refused", refusal(401, nil, "no such key"), 1, func(t *testing.T, r StressReport) {
			kind, err := r.Failure()
			if kind != "auth" || !strings.Contains(err.Error(), "The API key was refused") || r.Stopped == "" {
				t.Errorf("%s, %v", kind, err)
			}
		}},
		{"one whose account is empty", refusal(402, nil, "pay"), 1, func(t *testing.T, r StressReport) {
			if kind, err := r.Failure(); kind != "quota" || !strings.Contains(err.Error(), "top it up") {
				t.Errorf("%s, %v", kind, err)
			}
		}},
		{"one that asks to wait for an hour", refusal(429, map[string]string{"Retry-After": "3600"}, "slow down"), 1, func(t *testing.T, r StressReport) {
			if kind, _ := r.Failure(); kind != "rate_limited" || r.Stopped != "the provider asks to wait 1h0m0s" {
				t.Errorf("%s, %q", kind, r.Stopped)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, m := player(t, rounds, tc.answer)
			told := 0
			r, err := StressModel(t.Context(), m, StressOptions{Rounds: rounds, Seed: stressSeed, Progress: func(p StressProgress) {
				if !p.Trial {
					told++
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if r.Asked != tc.asked || told != tc.asked || r.Rounds != rounds || r.Model != "p" || r.Name != "player" || r.Profile != "plain" || r.ProfileFrom != "default" || r.ToolMode != "native" || "http://"+r.Endpoint+"/v1" != server.URL {
				t.Errorf("%d asked, %d told: %+v", r.Asked, told, r)
			}
			tc.check(t, r)
			text, err := json.Marshal(r)
			if err != nil || strings.Contains(string(text), "never-shown") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// picky is an endpoint that takes no request which fault finds something wrong
// with, and answers all others as they were asked: by calls, or in the text where
// no tools came with the request.
func picky(t *testing.T, rounds int, fault func(body []byte) string) ModelConfig {
	t.Helper()
	cases := modelcheck.Generate(stressSeed, rounds, 4096)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if said := fault(body); said != "" {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": said}})
			return
		}
		var asked struct {
			Messages []struct{ Content any }
			Tools    []any
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Errorf("%s: %v", body, err)
			return
		}
		c := cases[slices.IndexFunc(cases, func(c modelcheck.Case) bool {
			return slices.ContainsFunc(asked.Messages, func(m struct{ Content any }) bool {
				text, _ := m.Content.(string)
				return strings.Contains(text, c.Request.Messages[1].Content)
			})
		})]
		delta := map[string]any{"content": inText(c).Steps[0].Text}
		if len(asked.Tools) > 0 && len(c.Want) > 0 {
			var calls []any
			for i, want := range c.Want {
				calls = append(calls, map[string]any{"index": i, "id": fmt.Sprintf("call%05d", i), "type": "function", "function": map[string]string{"name": want.Tool, "arguments": want.Arguments}})
			}
			delta = map[string]any{"tool_calls": calls}
		}
		chunk, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": "stop"}}})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	t.Cleanup(server.Close)
	return ModelConfig{ID: "p", APIURL: server.URL}
}

func TestSettingsWithWhichAModelWorksAreFound(t *testing.T) {
	mistralIDs := regexp.MustCompile(`"tool_call_id":"[a-zA-Z0-9]{9}"`)
	for _, tc := range []struct {
		name   string
		rounds int
		fault  func(body []byte) string
		want   StressRecommendation
	}{
		{"an endpoint without tools", 18, func(body []byte) string {
			if bytes.Contains(body, []byte(`"tools":`)) {
				return "p does not support tools"
			}
			return ""
		}, StressRecommendation{
			Settings: modelcheck.Settings{Profile: "plain", ToolMode: "prompted"}, Change: true, Advice: []string{},
			Reason: "the endpoint says that it takes no tools for this model; with tool_mode: prompted 6 of 6 rounds passed, without 0 of 3",
		}},
		{"an endpoint that takes its own ids alone", 18, func(body []byte) string {
			if bytes.Contains(body, []byte(`"tool_call_id"`)) && !mistralIDs.Match(body) {
				return "Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9."
			}
			return ""
		}, StressRecommendation{
			Settings: modelcheck.Settings{Profile: "mistral", ToolMode: "native"}, Change: true, Advice: []string{},
			Reason: "the endpoint refused the ids of calls in the history in 1 round, as that of Mistral does; with profile: mistral 6 of 6 rounds passed, without 5 of 6",
		}},
		{"an endpoint that takes everything", 18, func([]byte) string { return "" }, StressRecommendation{
			Settings: modelcheck.Settings{Profile: "plain", ToolMode: "native"}, Advice: []string{},
			Reason: "18 of 18 rounds passed, and nothing in the answers speaks for another setting",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := StressModel(t.Context(), picky(t, tc.rounds, tc.fault), StressOptions{Rounds: tc.rounds, Seed: stressSeed})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.Recommendation); diff != "" {
				t.Errorf("-want +got\n%s\n%+v", diff, r.Failures)
			}
		})
	}
}

func TestAModelThatHangsIsLeftWithWhatWasFound(t *testing.T) {
	_, m := player(t, 4, func(c modelcheck.Case) modelserver.Reply {
		if c.Nth == 2 {
			return modelserver.Reply{Steps: []modelserver.Step{{Text: "Let me"}, {Silence: true}}}
		}
		return calls(c, asIs)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := StressModel(ctx, m, StressOptions{Rounds: 4, Seed: stressSeed, Progress: func(p StressProgress) {
		if p.Round == 2 {
			time.AfterFunc(20*time.Millisecond, cancel)
		}
	}})
	if err != nil || r.Asked != 2 || r.Total.Passed.N != 2 || r.Stopped != "interrupted" {
		t.Errorf("%+v, %v", r, err)
	}
	if kind, err := r.Failure(); kind != "" || err != nil {
		t.Errorf("%s, %v", kind, err)
	}
	m.Timeout = 50 * time.Millisecond
	r, err = StressModel(t.Context(), m, StressOptions{Rounds: 4, Seed: stressSeed})
	if err != nil || r.Asked != 4 || r.Total.Passed.N != 3 || len(r.Failures) != 1 || r.Failures[0].Kind != "timeout" || r.Stopped != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A run, doctor and a check of a model tell the same words of the same failure.
func TestAFailureIsToldInTheSameWordsEverywhere(t *testing.T) {
	for name, answer := range map[string]func(modelcheck.Case) modelserver.Reply{
		"a refused key":      refusal(401, nil, "no such key"),
		"an empty account":   refusal(402, nil, "pay"),
		"a key that may not": refusal(403, nil, "not for you"),
	} {
		t.Run(name, func(t *testing.T) {
			reply := answer(modelcheck.Case{})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(reply.HTTP.Status)
				_ = json.NewEncoder(w).Encode(reply.HTTP.Body)
			}))
			defer web.Close()
			m := ModelConfig{ID: "p", APIURL: web.URL, APIKey: "sk-never-shown-123", KeyOrigin: config.SecretOrigin{Place: "config.yml:3", Variables: []string{"THE_KEY"}, Trimmed: true}}

			_, err := CheckModel(t.Context(), m)
			_, want := AdviceOf(err)
			if want == "" || reply.HTTP.Status != 402 && !strings.Contains(want, "It came from environment variable THE_KEY, named in config.yml:3") {
				t.Fatalf("doctor says %q", want)
			}
			report, err := StressModel(t.Context(), m, StressOptions{Rounds: 1, Seed: stressSeed})
			if err != nil {
				t.Fatal(err)
			}
			_, failure := report.Failure()
			if _, got := AdviceOf(failure); got != want {
				t.Errorf("the check says %q, doctor %q", got, want)
			}
			w := newWorld(t, story, func(b *bed) { b.cfg.Models = []ModelConfig{m} })
			_, failed := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: w.conversation(), Content: "hi"})
			if failed == nil || !strings.Contains(failed.Error(), want) {
				t.Errorf("a run says %v, doctor %q", failed, want)
			}
		})
	}
}

func TestWhatAStressTestWillAskIsKnownBefore(t *testing.T) {
	p, err := PlanStress(StressOptions{Seed: stressSeed})
	if err != nil || p.Calls != 50 || p.Trials != 6 || p.OutputTokens != 56*4096 || p.InputTokens < 50*100 || p.InputTokens > 50*1000 || len(p.Kinds) != 18 {
		t.Errorf("%+v, %v", p, err)
	}
	for words, o := range map[string]StressOptions{
		"rounds: -1 is not between 1 and 500":   {Rounds: -1},
		"rounds: 501 is not between 1 and 500":  {Rounds: 501},
		"max_tokens: -1 is too low; at least 1": {MaxTokens: -1},
	} {
		if _, err := PlanStress(o); err == nil || err.Error() != words {
			t.Errorf("%v, want %s", err, words)
		}
		if _, err := StressModel(t.Context(), ModelConfig{}, o); err == nil || err.Error() != words {
			t.Errorf("%v, want %s", err, words)
		}
	}
	_, err = StressModel(t.Context(), ModelConfig{ID: "x", APIURL: "http://" + addrtest.Reserve(t), Profile: "none"}, StressOptions{Rounds: 1})
	if err == nil || !strings.Contains(err.Error(), `there is no profile "none"`) {
		t.Errorf("%v", err)
	}
}
