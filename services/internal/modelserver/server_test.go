package modelserver

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a chat request and returns the status and the body; a connection
// that breaks while the body is read is returned as its error.
func post(t *testing.T, h http.Handler, body string) (int, string, error) {
	t.Helper()
	ts := httptest.NewServer(h)
	defer ts.Close()
	defer ts.Client().CloseIdleConnections()
	resp, err := ts.Client().Post(ts.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

func mustParse(t *testing.T, script string) Script {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	askLookUp = `{"role":"user","content":"look up geese"}`
	searched  = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"web_search","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"{\"results\":[{\"url\":\"http://127.0.0.1:9/geese?a=1\\u0026b=2\"}]}"}`
	fetched = `{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"fetch_page","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c2","content":"Geese fly."}`
)

func TestTheStoryOfSearchAndFetchFollowsRealResults(t *testing.T) {
	script, err := Load("testdata/search-fetch.yml")
	if err != nil {
		t.Fatal(err)
	}
	s := New(script)
	tests := []struct {
		name     string
		messages string
		text     string
		call     string
		args     map[string]any
		finish   string
	}{
		{"first it searches for the user's words", askLookUp, "I will search for that.", "web_search", map[string]any{"query": "look up geese"}, "tool_calls"},
		{"then it fetches the first address of the results", askLookUp + "," + searched, "", "fetch_page", map[string]any{"url": "http://127.0.0.1:9/geese?a=1&b=2"}, "tool_calls"},
		{"then it answers from the page", askLookUp + "," + searched + "," + fetched, "According to http://127.0.0.1:9/geese?a=1&b=2: Geese fly.", "", nil, "stop"},
		{"other words get the other turn", `{"role":"user","content":"hi"}`, "Ask me to look up something.", "", nil, "stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body, _ := post(t, s, `{"model":"m","messages":[`+tt.messages+`]}`)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, body)
			}
			got := decodeWhole(t, body)
			if got.Model != "scripted-search-fetch" || got.Fingerprint != "nanoclaw-scripted" {
				t.Errorf("not marked as scripted: %q %q", got.Model, got.Fingerprint)
			}
			c := got.Choices[0]
			if c.Message.Content != tt.text || c.FinishReason != tt.finish {
				t.Errorf("content %q, finish %q", c.Message.Content, c.FinishReason)
			}
			if tt.call == "" {
				return
			}
			var args map[string]any
			if len(c.Message.ToolCalls) != 1 || json.Unmarshal([]byte(c.Message.ToolCalls[0].Function.Arguments), &args) != nil {
				t.Fatalf("calls: %+v", c.Message.ToolCalls)
			}
			if diff := cmp.Diff(tt.args, args); c.Message.ToolCalls[0].Function.Name != tt.call || diff != "" {
				t.Errorf("call %s: %s", c.Message.ToolCalls[0].Function.Name, diff)
			}
		})
	}
}

type wholeAnswer struct {
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
	Choices     []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content   string `json:"content"`
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	} `json:"choices"`
}

func decodeWhole(t *testing.T, body string) wholeAnswer {
	t.Helper()
	var got wholeAnswer
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Choices) != 1 {
		t.Fatalf("not an answer: %v: %s", err, body)
	}
	return got
}

func TestAStreamIsWrittenAsTheProtocolSays(t *testing.T) {
	s := New(mustParse(t, `
chunk: 3
turns:
  - replies:
      - steps:
          - comment: wait
          - text: abcd
          - call: {name: f, arguments: {}}
        usage: {prompt_tokens: 7, completion_tokens: 2}`))
	_, body, err := post(t, s, `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	head := `"created":0,"id":"chatcmpl-scripted-1","model":"scripted","object":"chat.completion.chunk","system_fingerprint":"nanoclaw-scripted"`
	frame := func(delta, reason string) string {
		return `data: {"choices":[{"delta":` + delta + `,"finish_reason":` + reason + `,"index":0}],` + head + "}\n\n"
	}
	want := ": wait\n\n" +
		frame(`{"content":"abc","role":"assistant"}`, "null") +
		frame(`{"content":"d"}`, "null") +
		frame(`{"tool_calls":[{"function":{"arguments":"","name":"f"},"id":"call00100","index":0,"type":"function"}]}`, "null") +
		frame(`{"tool_calls":[{"function":{"arguments":"{}"},"index":0}]}`, "null") +
		frame(`{}`, `"tool_calls"`) +
		`data: {"choices":[],` + head + `,"usage":{"completion_tokens":2,"prompt_tokens":7,"total_tokens":9}}` + "\n\n" +
		"data: [DONE]\n\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
}

func TestFaultsArePlayed(t *testing.T) {
	tests := []struct {
		name, reply string
		status      int
		body        string // what must be in it
		broken      bool
	}{
		{"an error answer", `http: {status: 429, headers: {Retry-After: "7"}, body: {error: {message: slow}}}`, 429, `{"error":{"message":"slow"}}`, false},
		{"a page in place of an answer", `http: {status: 200, body: "<html>"}`, 200, "<html>", false},
		{"garbage in the stream", `steps: [{raw: "\x01garbage\n\n"}]`, 200, "\x01garbage", false},
		{"a flood", `steps: [{repeat_raw: {text: ab, times: 3}}, {end: true}]`, 200, "ababab", false},
		{"a cut connection", `steps: [{text: hello}, {cut: true}]`, 200, "hello", true},
		{"an end without finish", `steps: [{text: hello}, {end: true}]`, 200, "hello", false},
		{"malformed arguments", `steps: [{call: {name: f, arguments: "{q:"}}]`, 200, `"arguments":"{q:"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(mustParse(t, "turns: [{replies: [{"+tt.reply+"}]}]"))
			status, body, err := post(t, s, `{"stream":true,"messages":[{"role":"user","content":"x"}]}`)
			if status != tt.status || !strings.Contains(body, tt.body) || (err != nil) != tt.broken {
				t.Errorf("status %d, error %v, body %q", status, err, body)
			}
		})
	}
}

func TestTheNthRequestCanBeRefused(t *testing.T) {
	s := New(mustParse(t, `
turns:
  - when: {request: 1}
    replies: [{http: {status: 503, body: {}}}]
  - replies: [{steps: [{text: hi}]}]`))
	var got []int
	for range 2 {
		status, _, _ := post(t, s, `{"messages":[{"role":"user","content":"x"}]}`)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{503, 200}, got); diff != "" {
		t.Error(diff)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests recorded", n)
	}
}

func TestRequestsThatStrictProvidersRefuseAreRefused(t *testing.T) {
	s := New(mustParse(t, "turns: [{replies: [{steps: [{text: hi}]}], repeat: true}]"))
	call := `{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}`
	tests := []struct{ name, body, want string }{
		{"no message", `{"messages":[]}`, "messages: is empty"},
		{"not JSON", `{`, "not JSON"},
		{"a call without its result", `{"messages":[` + call + `,{"role":"user","content":"x"}]}`, `messages[1]: tool call \"c1\" has no result`},
		{"a call without its result at the end", `{"messages":[` + call + `]}`, `tool call \"c1\" has no result`},
		{"a result without its call", `{"messages":[{"role":"tool","tool_call_id":"zz","content":"x"}]}`, "answers no open tool call"},
		{"a message without content", `{"messages":[{"role":"user"}]}`, "content is missing"},
		{"arguments that are not JSON", `{"messages":[` + strings.Replace(call, `"{}"`, `""`, 1) + `]}`, "arguments is not JSON"},
		{"a tool name with a dot", `{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"a.b","parameters":{"type":"object"}}}]}`, "does not match"},
		{"a tool without a schema", `{"messages":[{"role":"user","content":"x"}],"tools":[{"function":{"name":"a"}}]}`, "JSON Schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body, _ := post(t, s, tt.body)
			if status != http.StatusBadRequest || !strings.Contains(body, tt.want) {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
}

func TestWhatTheScriptDoesNotForeseeIsRefusedWithTheReason(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"no turn matches", `turns: [{when: {user_contains: zebra}, replies: [{}]}]`, "no turn of the script matches request 1"},
		{"no reply is left", `turns: [{replies: [{}]}]`, "asks for number 2"},
		{"a tool without result", `turns: [{repeat: true, replies: [{steps: [{text: "{{result nope}}"}]}]}]`, `no result of tool \"nope\"`},
		{"a result without the value", `turns: [{repeat: true, replies: [{steps: [{text: "{{result web_search results.3.url}}"}]}]}]`, "no element"},
		{"a result without so many addresses", `turns: [{repeat: true, replies: [{steps: [{text: "{{url web_search 5}}"}]}]}]`, "holds 1 addresses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, body, _ := post(t, New(mustParse(t, tt.script)), `{"messages":[`+askLookUp+`,`+searched+`]}`)
			if status != http.StatusNotImplemented || !strings.Contains(body, tt.want) {
				t.Errorf("status %d: %s", status, body)
			}
		})
	}
}

func TestAWrongScriptIsRefusedNamingThePlace(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"empty", ``, "empty"},
		{"no turns", `model: x`, "turns"},
		{"a misspelt member", `turns: [{replys: []}]`, "replys"},
		{"a step that does two things", `turns: [{replies: [{steps: [{text: a, cut: true}]}]}]`, "turns[0].replies[0]: steps[0]"},
		{"a step that does nothing", `turns: [{replies: [{steps: [{}]}]}]`, "has 0 of"},
		{"an answer beside http", `turns: [{replies: [{http: {status: 200}, finish: stop}]}]`, "http is the whole answer"},
		{"no such status", `turns: [{replies: [{http: {status: 99}}]}]`, "http.status"},
		{"a call without a name", `turns: [{replies: [{steps: [{call: {arguments: {}}}]}]}]`, "call.name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse([]byte(tt.script)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestListenServesUntilClosed(t *testing.T) {
	r, err := Listen("127.0.0.1:0", mustParse(t, "{model: demo, turns: [{replies: [{steps: [{silence: true}]}]}]}"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{}
	defer client.CloseIdleConnections()
	resp, err := client.Get(r.URL + "/models")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(body), `"id":"scripted-demo"`) {
		t.Errorf("models: %s", body)
	}
	silent, err := client.Post(r.URL+"/chat/completions", "application/json", strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Body.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
