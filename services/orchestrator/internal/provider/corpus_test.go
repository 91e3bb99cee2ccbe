package provider

import (
	"bufio"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
)

// quirk is one recorded stream shape of the corpus.
type quirk struct {
	Name    string            `json:"name"`
	Class   string            `json:"class"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Wire    string            `json:"wire"`
	Profile struct {
		Tools     []string `json:"tools"`
		ThinkTags bool     `json:"think_tags"`
		TextCalls Grammar  `json:"text_calls"`
	} `json:"profile"`
	Expect struct {
		Text      string `json:"text"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			Arguments any    `json:"arguments"`
		} `json:"tool_calls"`
		Finish string `json:"finish"`
		Error  *struct {
			Kind       string  `json:"kind"`
			Message    string  `json:"message"`
			RetryAfter float64 `json:"retry_after_s"`
		} `json:"error"`
		Usage    map[string]int `json:"usage"`
		Passback map[string]any `json:"passback"`
	} `json:"expect"`
}

func TestEveryRecordedStreamShapeIsReadRight(t *testing.T) {
	var wire, wireOK, policy, policyOK int
	for _, q := range corpus(t) {
		passed := t.Run(q.Name, func(t *testing.T) {
			if bad := judge(t, q, whole); len(bad) > 0 {
				t.Errorf("wrong: %v", bad)
			}
		})
		if q.Class == "wire" {
			wire++
			wireOK += count(passed)
		} else {
			policy++
			policyOK += count(passed)
		}
	}
	t.Logf("stream shapes read right: wire %d/%d, policy %d/%d", wireOK, wire, policyOK, policy)
}

func TestAStreamShapeReadsTheSameHoweverItIsCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, q := range corpus(t) {
		t.Run(q.Name, func(t *testing.T) {
			if bad := judge(t, q, one); len(bad) > 0 {
				t.Errorf("byte by byte: %v", bad)
			}
			for range 20 {
				if bad := judge(t, q, func() int { return 1 + rnd.IntN(200) }); len(bad) > 0 {
					t.Errorf("cut at random: %v", bad)
				}
			}
		})
	}
}

// judge runs one case and returns what is wrong.
func judge(t *testing.T, q quirk, next func() int) []string {
	t.Helper()
	c := newTestClient(t, Config{
		HTTPTransport: answer(q.Status, q.Headers, q.Wire, next),
		Profile:       Profile{ThinkTags: q.Profile.ThinkTags, TextCalls: q.Profile.TextCalls, AnyTool: len(q.Profile.Tools) == 0},
	})
	req := hello
	for _, name := range q.Profile.Tools {
		req.Tools = append(req.Tools, ToolSpec{Name: name})
	}
	resp, _, err := ask(c, req)

	var bad []string
	check := func(ok bool, what string) {
		if !ok {
			bad = append(bad, what)
		}
	}
	check(resp.Text == q.Expect.Text, "text "+resp.Text)
	check(resp.Reasoning == q.Expect.Reasoning, "reasoning "+resp.Reasoning)
	check(sameCalls(q, resp.Calls), "calls")
	checkError(q, err, check)
	if err == nil {
		check(string(resp.Finish) == q.Expect.Finish, "finish "+string(resp.Finish))
	}
	checkUsage(q, resp.Usage, check)
	checkPassback(t, q, resp, check)
	return bad
}

func checkError(q quirk, err error, check func(bool, string)) {
	want := q.Expect.Error
	if want == nil {
		check(err == nil, "unexpected error")
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		check(false, "no error")
		return
	}
	kinds := map[Kind]string{
		KindRateLimited: "rate_limit", KindQuota: "quota", KindBadRequest: "invalid_request",
		KindContextLength: "context_length", KindTruncated: "stream_truncated",
		KindMalformed: "bad_response", KindServer: "provider",
	}
	got := kinds[e.Kind]
	if e.Kind == KindServer && e.Status >= 500 {
		got = "upstream_5xx"
	}
	check(got == want.Kind, "error kind "+got)
	check(want.Message == "" || e.Detail == want.Message, "error detail "+e.Detail)
	check(want.RetryAfter == 0 || e.RetryAfter.Seconds() == want.RetryAfter, "retry after")
}

func checkUsage(q quirk, got Usage, check func(bool, string)) {
	if q.Expect.Usage == nil {
		return
	}
	have := map[string]int{
		"prompt": got.InputTokens, "completion": got.OutputTokens,
		"cached": got.CachedTokens, "reasoning": got.ReasoningTokens,
	}
	for name, n := range q.Expect.Usage {
		check(have[name] == n, "usage "+name)
	}
	check(!got.Estimated, "usage estimated")
}

// checkPassback asks what the next request sends back of this answer.
func checkPassback(t *testing.T, q quirk, resp Response, check func(bool, string)) {
	t.Helper()
	if q.Expect.Passback == nil {
		return
	}
	calls := resp.Calls
	if len(calls) == 0 { // reasoning goes back with calls only
		calls = []Call{{ID: "x", Name: "f", Arguments: "{}"}}
	}
	sent := sentBody(t, Request{Messages: []Message{{
		Role: RoleAssistant, Content: resp.Text, Reasoning: resp.Reasoning,
		ReasoningField: resp.ReasoningField, Calls: calls, Extra: resp.Extra,
	}}}, concessions{})
	message := sent["messages"].([]any)[0]
	check(within(q.Expect.Passback, message), "passback")
}

func sameCalls(q quirk, got []Call) bool {
	if len(got) != len(q.Expect.Calls) {
		return false
	}
	ids := map[string]bool{}
	for i, want := range q.Expect.Calls {
		var args any
		object, err := arguments.Read(got[i].Arguments)
		if err != nil || json.Unmarshal([]byte(object.JSON), &args) != nil || !reflect.DeepEqual(args, want.Arguments) {
			return false
		}
		if got[i].Name != want.Name || want.ID != "*" && got[i].ID != want.ID || got[i].ID == "" {
			return false
		}
		ids[got[i].ID] = true
	}
	return len(ids) == len(got)
}

// within reports whether got holds at least want.
func within(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			ok = ok && within(v, g[k])
		}
		return ok
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

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// corpus returns the recorded stream shapes; without them the test is skipped.
func corpus(t testing.TB) []quirk {
	t.Helper()
	out, err := readCorpus(t)
	if err != nil {
		t.Skipf("corpus of stream shapes not at hand: %v", err)
	}
	return out
}

func readCorpus(t testing.TB) ([]quirk, error) {
	t.Helper()
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(root, "..", "shared", "data", "agent", "sse-quirks.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []quirk
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var q quirk
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatalf("corpus line %d: %v", len(out)+1, err)
		}
		out = append(out, q)
	}
	return out, lines.Err()
}

// repositoryRoot is the nearest folder above the test with a go.work.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, statErr := os.Stat(filepath.Join(dir, "go.work")); statErr == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.Join(err, errors.New("no go.work above the test"))
}
