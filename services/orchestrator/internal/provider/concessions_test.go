package provider

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// picky is an endpoint that refuses a member as long as it is sent, and counts.
type picky struct {
	refuses         func(body map[string]any) (refusal string)
	refused, served int
	last            map[string]any
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.last = nil
	_ = json.NewDecoder(r.Body).Decode(&p.last)
	if words := p.refuses(p.last); words != "" {
		p.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, words)
		return
	}
	p.served++
	_, _ = io.WriteString(w, okStream)
}

// without refuses a member by name.
func without(member, words string) func(map[string]any) string {
	return func(body map[string]any) string {
		if _, has := body[member]; has {
			return words
		}
		return ""
	}
}

// askedAll is a request with everything that can be conceded.
func askedAll() Request {
	half := 0.5
	return Request{Messages: hello.Messages, MaxTokens: 5, Temperature: &half, Tools: []ToolSpec{{Name: "f"}}, ToolChoiceNone: true}
}

func TestAMemberThatTheEndpointRefusesByNameIsLeftOutFromThenOn(t *testing.T) {
	tests := []struct{ name, profile, member, refusal, warning string }{
		{"usage in streams", "", "stream_options", `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`, ""},
		{"usage in streams, by path", "", "stream_options", `{"detail":[{"loc":["body","stream_options","include_usage"],"msg":"extra fields not permitted"}]}`, ""},
		{"the old name of the length limit", "", "max_tokens", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`, ""},
		{"the new name of the length limit", "openai", "max_completion_tokens", `{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens"}}`, ""},
		{"temperature", "", "temperature", `{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model."}}`, "temperature"},
		{"tool choice", "", "tool_choice", `{"error":{"message":"deepseek-reasoner does not support this tool_choice"}}`, "tool_choice"},
		{"parallel calls", "qwen", "parallel_tool_calls", `{"error":{"message":"Unknown parameter: 'parallel_tool_calls'."}}`, "parallel_tool_calls"},
		{"streamed arguments", "glm", "tool_stream", `{"error":{"code":"1210","message":"tool_stream 参数有误"}}`, "tool_stream"},
		{"thinking", "deepseek", "thinking", `{"detail":[{"type":"extra_forbidden","loc":["body","thinking"],"msg":"Extra inputs are not permitted"}]}`, "thinking"},
		{"thinking, in Chinese", "glm", "thinking", `{"error":{"code":"1210","message":"该模型不支持 thinking 参数"}}`, "thinking"},
		{"thinking, by another switch", "qwen", "enable_thinking", `{"error":{"message":"parameter.enable_thinking must be set to false for this model"}}`, "enable_thinking"},
		{"thinking of templates", "vllm", "chat_template_kwargs", `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'chat_template_kwargs')}]"}`, "chat_template_kwargs"},
		{"effort", "openai", "reasoning_effort", `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort"}}`, "reasoning_effort"},
		{"reasoning", "openrouter", "reasoning", `{"error":{"message":"Unknown parameter: 'reasoning'."}}`, "reasoning"},
		{"thoughts apart", "minimax", "reasoning_split", `{"base_resp":{"status_code":2013,"status_msg":"invalid params, reasoning_split"}}`, "reasoning_split"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile, err := NamedProfile(tt.profile, "")
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Profile: profile}
			if profile.ThinkOn != "" {
				cfg.Thinking = ThinkingOn
			}
			p := &picky{refuses: without(tt.member, tt.refusal)}
			c := serve(t, cfg, p.ServeHTTP)
			for range 2 {
				resp, _, err := ask(c, askedAll())
				if err != nil || resp.Text != "hi" {
					t.Fatalf("%+v %v", resp, err)
				}
				told := slices.ContainsFunc(resp.Warnings, func(w string) bool {
					return strings.Contains(w, "the endpoint refuses "+tt.warning+": left out")
				})
				if told != (tt.warning != "") {
					t.Errorf("warnings %q", resp.Warnings)
				}
			}
			if p.refused != 1 || p.served != 2 {
				t.Errorf("refused %d times, served %d times", p.refused, p.served)
			}
		})
	}
}

func TestOnePartOfAMemberIsLeftOutAlone(t *testing.T) {
	glm, _ := NamedProfile("glm", "")
	p := &picky{refuses: func(body map[string]any) string {
		if thinking, _ := body["thinking"].(map[string]any); thinking["clear_thinking"] != nil {
			return `{"error":{"message":"unknown field clear_thinking in thinking"}}`
		}
		return ""
	}}
	c := serve(t, Config{Profile: glm, Thinking: ThinkingOn}, p.ServeHTTP)
	if _, _, err := ask(c, hello); err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(p.last["thinking"]); string(got) != `{"type":"enabled"}` {
		t.Errorf("thinking %s", got)
	}
}

func TestCallsThatNobodySignedAreSignedOnceTheEndpointDemandsIt(t *testing.T) {
	gemini, _ := NamedProfile("gemini", "")
	history := Request{Messages: []Message{
		{Role: RoleUser, Content: "q"},
		{Role: RoleAssistant, Calls: []Call{{ID: "1", Name: "f", Arguments: "{}", Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"S"}}}`)}, {ID: "2", Name: "f", Arguments: "{}"}}},
		{Role: RoleTool, CallID: "1", Content: "r"}, {Role: RoleTool, CallID: "2", Content: "r"},
		{Role: RoleAssistant, Calls: []Call{{ID: "3", Name: "f", Arguments: "{}"}, {ID: "4", Name: "f", Arguments: "{}"}}},
		{Role: RoleTool, CallID: "3", Content: "r"}, {Role: RoleTool, CallID: "4", Content: "r"},
	}}
	signatures := func(body map[string]any) (out []string) {
		for _, m := range body["messages"].([]any) {
			calls, _ := m.(map[string]any)["tool_calls"].([]any)
			for _, c := range calls {
				extra, _ := c.(map[string]any)["extra_content"].(map[string]any)
				google, _ := extra["google"].(map[string]any)
				signature, _ := google["thought_signature"].(string)
				out = append(out, signature)
			}
		}
		return out
	}
	for _, strict := range []bool{true, false} {
		p := &picky{refuses: func(body map[string]any) string {
			if s := signatures(body); strict && s[2] == "" {
				return `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]`
			}
			return ""
		}}
		c := serve(t, Config{Profile: gemini}, p.ServeHTTP)
		for range 2 {
			if _, _, err := ask(c, history); err != nil {
				t.Fatal(err)
			}
		}
		want, refused := []string{"S", "", "", ""}, 0
		if strict {
			want, refused = []string{"S", "", "skip_thought_signature_validator", ""}, 1
		}
		if got := signatures(p.last); !slices.Equal(got, want) || p.refused != refused || p.served != 2 {
			t.Errorf("signed %q, refused %d times, served %d times", got, p.refused, p.served)
		}
	}
}

func TestSeveralMembersAreConcededOneAfterTheOther(t *testing.T) {
	p := &picky{refuses: func(body map[string]any) string {
		for _, member := range []string{"tool_choice", "stream_options", "temperature"} {
			if _, has := body[member]; has {
				return `{"error":{"message":"Unsupported parameter: ` + member + `"}}`
			}
		}
		return ""
	}}
	c := serve(t, Config{}, p.ServeHTTP)
	for range 2 {
		if _, _, err := ask(c, askedAll()); err != nil {
			t.Fatal(err)
		}
	}
	if p.refused != 3 || p.served != 2 {
		t.Errorf("refused %d times, served %d times", p.refused, p.served)
	}
}

func TestARefusalThatStaysIsReportedOnceAndTeachesNothing(t *testing.T) {
	p := &picky{refuses: func(map[string]any) string {
		return `{"error":"stream_options are wrong and so is everything"}`
	}}
	c := serve(t, Config{}, p.ServeHTTP)
	_, _, err := ask(c, hello)
	if e := asError(t, err); e.Kind != KindBadRequest || p.refused != 2 {
		t.Errorf("kind %s after %d calls", e.Kind, p.refused)
	}
	if known := c.memory.get(); len(known.without) != 0 || known.otherLength {
		t.Errorf("learnt %+v of an endpoint that took nothing", known)
	}
}

// Refusals that name a member without being about it.
func TestARefusalOfSomethingElseIsNotConcededTo(t *testing.T) {
	tests := []struct{ name, profile, refusal string }{
		{"Kimi misses reasoning", "kimi", `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`},
		{"DeepSeek misses reasoning", "deepseek", `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API. Unsupported history."}}`},
		{"a part of another name", "openrouter", `{"error":{"message":"Unknown parameter: 'reasoning_budget'."}}`},
		{"a limit that is too high", "", `{"error":{"message":"max_tokens is too large: 5"}}`},
		{"a word of the text", "", `{"error":{"message":"The temperature of the text is fine, the rest is not."}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile, err := NamedProfile(tt.profile, "")
			if err != nil {
				t.Fatal(err)
			}
			cfg := Config{Profile: profile}
			if profile.ThinkOn != "" {
				cfg.Thinking = ThinkingOn
			}
			p := &picky{refuses: func(map[string]any) string { return tt.refusal }}
			c := serve(t, cfg, p.ServeHTTP)
			_, _, err = ask(c, askedAll())
			if e := asError(t, err); e.Kind != KindBadRequest || p.refused != 1 {
				t.Errorf("kind %s after %d calls", e.Kind, p.refused)
			}
		})
	}
}
