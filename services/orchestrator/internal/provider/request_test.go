package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sentBody is the body of the request that req becomes.
func sentBody(t testing.TB, req Request, c concessions) map[string]any {
	t.Helper()
	w := wiring{model: "real-model"}
	first, err := json.Marshal(w.request(req))
	if err != nil {
		t.Fatal(err)
	}
	body, err := w.rewrite(first, req, c)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, body)
	}
	return out
}

func TestMessagesAreWrittenSoThatProvidersAcceptThem(t *testing.T) {
	call := Call{ID: "c1", Name: "f", Arguments: `{"a":1}`}
	wireCall := func(args string, more ...string) string {
		return `{"id":"c1","type":"function","function":{"name":"f","arguments":` + args + `}` + strings.Join(more, "") + `}`
	}
	tests := []struct {
		name string
		msg  Message
		want string
	}{
		{"a user message", Message{Role: RoleUser, Content: "hi"}, `{"role":"user","content":"hi"}`},
		{"an empty tool result keeps its content", Message{Role: RoleTool, CallID: "c1"}, `{"role":"tool","tool_call_id":"c1","content":""}`},
		{"an empty answer keeps its content", Message{Role: RoleAssistant}, `{"role":"assistant","content":""}`},
		{"calls without text have null content and no index", Message{Role: RoleAssistant, Calls: []Call{call}},
			`{"role":"assistant","content":null,"tool_calls":[` + wireCall(`"{\"a\":1}"`) + `]}`},
		{"empty arguments become an object", Message{Role: RoleAssistant, Calls: []Call{{ID: "c1", Name: "f"}}},
			`{"role":"assistant","content":null,"tool_calls":[` + wireCall(`"{}"`) + `]}`},
		{"broken arguments become an object", Message{Role: RoleAssistant, Calls: []Call{{ID: "c1", Name: "f", Arguments: `{"a":`}}},
			`{"role":"assistant","content":null,"tool_calls":[` + wireCall(`"{}"`) + `]}`},
		{"reasoning goes back with calls under its own name", Message{Role: RoleAssistant, Calls: []Call{call}, Reasoning: "hm", ReasoningField: "reasoning"},
			`{"role":"assistant","content":null,"reasoning":"hm","tool_calls":[` + wireCall(`"{\"a\":1}"`) + `]}`},
		{"empty reasoning goes back too", Message{Role: RoleAssistant, Calls: []Call{call}, ReasoningField: "reasoning_content"},
			`{"role":"assistant","content":null,"reasoning_content":"","tool_calls":[` + wireCall(`"{\"a\":1}"`) + `]}`},
		{"reasoning stays here without calls", Message{Role: RoleAssistant, Content: "x", Reasoning: "hm", ReasoningField: "reasoning"},
			`{"role":"assistant","content":"x"}`},
		{"unknown members of a call go back", Message{Role: RoleAssistant, Calls: []Call{{ID: "c1", Name: "f", Arguments: "{}",
			Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"<S&G>"}},"function":{"strict":true},"id":"other"}`)}}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}","strict":true},"extra_content":{"google":{"thought_signature":"<S&G>"}}}]}`},
		{"members of the answer go back", Message{Role: RoleAssistant, Content: "x", Extra: json.RawMessage(`{"reasoning_details":[1],"content":"other"}`)},
			`{"role":"assistant","content":"x","reasoning_details":[1]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			got := sentBody(t, Request{Messages: []Message{tt.msg}}, concessions{})["messages"].([]any)[0]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReasoningGoesBackAsTheProfileSays(t *testing.T) {
	call := []Call{{ID: "c1", Name: "f", Arguments: "{}"}}
	thought := Message{Role: RoleAssistant, Calls: call, Reasoning: "hm", ReasoningField: "reasoning"}
	foreign := Message{Role: RoleAssistant, Calls: call}
	empty := Message{Role: RoleAssistant, Calls: call, ReasoningField: "reasoning_content"}
	tests := []struct {
		name     string
		profile  string
		thinking Thinking
		msg      Message
		want     map[string]any // reasoning members
	}{
		{"as it came", "plain", "", thought, map[string]any{"reasoning": "hm"}},
		{"none where none came", "plain", "", foreign, map[string]any{}},
		{"empty as it came", "plain", "", empty, map[string]any{"reasoning_content": ""}},
		{"never to OpenAI", "openai", "", thought, map[string]any{}},
		{"never to Mistral", "mistral", "", empty, map[string]any{}},
		{"under the name that DeepSeek demands", "deepseek", "", thought, map[string]any{"reasoning_content": "hm"}},
		{"a space to DeepSeek for an answer of another model", "deepseek", ThinkingOn, foreign, map[string]any{"reasoning_content": " "}},
		{"a space to Kimi for an empty one", "kimi", "", empty, map[string]any{"reasoning_content": " "}},
		{"nothing is demanded of a model that does not think", "kimi", ThinkingOff, foreign, map[string]any{}},
		{"none without calls", "kimi", "", Message{Role: RoleAssistant, Content: "x", Reasoning: "hm", ReasoningField: "reasoning_content"}, map[string]any{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile, err := NamedProfile(tt.profile, "")
			if err != nil {
				t.Fatal(err)
			}
			var body struct {
				Messages []map[string]any `json:"messages"`
			}
			if err := json.Unmarshal(sentTo(t, Config{Profile: profile, Thinking: tt.thinking}, Request{Messages: []Message{tt.msg}}), &body); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for name, v := range body.Messages[0] {
				if strings.HasPrefix(name, "reasoning") {
					got[name] = v
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptionsAreWrittenAsAskedAndAsTheEndpointTakesThem(t *testing.T) {
	zero := 0.0
	full := Request{
		Messages: hello.Messages, MaxTokens: 9, Temperature: &zero, ToolChoiceNone: true,
		Tools: []ToolSpec{{Name: "f", Description: "d"}},
	}
	tools := []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "f", "description": "d", "parameters": map[string]any{"type": "object", "properties": map[string]any{}},
	}}}
	msgs := []any{map[string]any{"role": "user", "content": "hello"}}
	usage := map[string]any{"include_usage": true}
	tests := []struct {
		name string
		req  Request
		c    concessions
		want map[string]any
	}{
		{"nothing asked", hello, concessions{}, map[string]any{"model": "real-model", "stream": true, "messages": msgs, "stream_options": usage}},
		{"everything asked, temperature 0 too", full, concessions{}, map[string]any{
			"model": "real-model", "stream": true, "messages": msgs, "stream_options": usage, "max_tokens": 9.0, "temperature": 0.0, "tools": tools, "tool_choice": "none"}},
		{"everything conceded", full, concessions{without: []string{"stream_options", "temperature"}, otherLength: true}, map[string]any{
			"model": "real-model", "stream": true, "messages": msgs, "max_completion_tokens": 9.0, "tools": tools, "tool_choice": "none"}},
		{"no choice is forced where there are no tools", Request{Messages: hello.Messages, ToolChoiceNone: true}, concessions{}, map[string]any{
			"model": "real-model", "stream": true, "messages": msgs, "stream_options": usage}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sentBody(t, tt.req, tt.c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelNamesThatGoOpenAIRefusesAreSent(t *testing.T) {
	half := 0.5
	for _, name := range []string{"o1-relay", "o3-mini", "gpt-5", "gpt-6-sol", "text-davinci-003"} {
		t.Run(name, func(t *testing.T) {
			var got struct {
				Model       string  `json:"model"`
				Temperature float64 `json:"temperature"`
				MaxTokens   int     `json:"max_tokens"`
				Stream      bool    `json:"stream"`
			}
			var auth string
			c := serve(t, Config{Model: name, APIKey: "  key-123456\n"}, func(w http.ResponseWriter, r *http.Request) {
				auth = r.Header.Get("Authorization")
				_ = json.NewDecoder(r.Body).Decode(&got)
				_, _ = io.WriteString(w, okStream)
			})
			req := hello
			req.MaxTokens, req.Temperature = 5, &half
			req.Tools = []ToolSpec{{Name: "f"}}
			if resp, _, err := ask(c, req); err != nil || resp.Text != "hi" {
				t.Fatalf("%+v %v", resp, err)
			}
			if got.Model != name || got.Temperature != 0.5 || got.MaxTokens != 5 || !got.Stream || auth != "Bearer key-123456" {
				t.Errorf("sent %+v, authorization %q", got, auth)
			}
		})
	}
}

const okStream = `data: {"id":"r1","model":"m","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
