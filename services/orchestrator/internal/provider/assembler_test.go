package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newTestAssembler numbers the ids that it makes.
func newTestAssembler(tools ...string) *assembler {
	var specs []ToolSpec
	for _, name := range tools {
		specs = append(specs, ToolSpec{Name: name})
	}
	a := newAssembler(Config{}.withDefaults(), specs)
	n := 0
	a.newID = func() string { n++; return fmt.Sprintf("own%d", n) }
	return a
}

// feed adds one chunk for each delta, given as JSON.
func feed(t testing.TB, a *assembler, deltas ...string) []Delta {
	t.Helper()
	var out []Delta
	for _, d := range deltas {
		c, err := parseChunk([]byte(`{"choices":[{"delta":` + d + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.add(c, func(d Delta) error { out = append(out, d); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestCallsAreAssembledFromEveryWayTheyAreSent(t *testing.T) {
	calls := func(elements ...string) string { return `{"tool_calls":[` + strings.Join(elements, ",") + `]}` }
	f := Call{ID: "c1", Name: "f", Arguments: `{"q":1}`}
	g := Call{ID: "c2", Name: "g", Arguments: `{"q":2}`}
	tests := []struct {
		name   string
		deltas []string
		want   []Call
	}{
		{"no index, continued by the open call", []string{calls(`{"id":"c1","function":{"name":"f","arguments":"{\"q\""}}`), calls(`{"function":{"arguments":":1}"}}`)}, []Call{f}},
		{"no index, continued by id", []string{
			calls(`{"id":"c1","function":{"name":"f","arguments":"{\"q\""}}`, `{"id":"c2","function":{"name":"g","arguments":"{\"q\""}}`),
			calls(`{"id":"c2","function":{"arguments":":2}"}}`), calls(`{"id":"c1","function":{"arguments":":1}"}}`)}, []Call{f, g}},
		{"no index, continued by place", []string{
			calls(`{"id":"c1","function":{"name":"f","arguments":"{\"q\""}}`, `{"id":"c2","function":{"name":"g","arguments":"{\"q\""}}`),
			calls(`{"function":{"arguments":":1}"}}`, `{"function":{"arguments":":2}"}}`)}, []Call{f, g}},
		{"no index, no id, a new name opens a call", []string{calls(`{"function":{"name":"f","arguments":"{\"q\":1}"}}`), calls(`{"function":{"name":"g","arguments":"{\"q\":2}"}}`)},
			[]Call{{ID: "own1", Name: "f", Arguments: `{"q":1}`}, {ID: "own2", Name: "g", Arguments: `{"q":2}`}}},
		{"no index, no id, no arguments", []string{calls(`{"function":{"name":"f"}}`), calls(`{"function":{"name":"g"}}`)},
			[]Call{{ID: "own1", Name: "f", Arguments: `{}`}, {ID: "own2", Name: "g", Arguments: `{}`}}},
		{"no index, no id, equal names in one list", []string{calls(`{"function":{"name":"f"}}`, `{"function":{"name":"f"}}`)},
			[]Call{{ID: "own1", Name: "f", Arguments: `{}`}, {ID: "own2", Name: "f", Arguments: `{}`}}},
		{"one index for all calls", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"id":"c2","function":{"name":"g","arguments":"{\"q\""}}`), calls(`{"index":0,"function":{"arguments":":2}"}}`)}, []Call{f, g}},
		{"one index, no id, another name after whole arguments", []string{calls(`{"index":0,"function":{"name":"f","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"function":{"name":"g","arguments":"{\"q\":2}"}}`)},
			[]Call{{ID: "own1", Name: "f", Arguments: `{"q":1}`}, {ID: "own2", Name: "g", Arguments: `{"q":2}`}}},
		{"id, type and name repeated", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\""}}`), calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":":1}"}}`)}, []Call{f}},
		{"id after the name", []string{calls(`{"function":{"name":"f","arguments":"{\"q\""}}`), calls(`{"id":"c1","function":{"arguments":":1}"}}`)}, []Call{f}},
		{"name after the arguments", []string{calls(`{"id":"c1","function":{"arguments":"{\"q\""}}`), calls(`{"function":{"name":"f","arguments":":1}"}}`)}, []Call{f}},
		{"number as id", []string{calls(`{"index":0,"id":7,"function":{"name":"f","arguments":"{\"q\":1}"}}`)}, []Call{{ID: "7", Name: "f", Arguments: `{"q":1}`}}},
		{"object as arguments", []string{calls(`{"id":"c1","function":{"name":"f","arguments":{"q": 1}}}`)}, []Call{f}},
		{"empty object as arguments", []string{calls(`{"id":"c1","function":{"name":"f","arguments":{}}}`)}, []Call{{ID: "c1", Name: "f", Arguments: `{}`}}},
		{"null arguments", []string{calls(`{"id":"c1","function":{"name":"f","arguments":null}}`)}, []Call{{ID: "c1", Name: "f", Arguments: `{}`}}},
		{"arguments sent again, written otherwise", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"function":{"arguments":" {\"q\": 1} "}}`)}, []Call{f}},
		{"each piece holds all before it", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}`), calls(`{"index":0,"function":{"arguments":"{\"q\""}}`), calls(`{"index":0,"function":{"arguments":"{\"q\":1}"}}`)}, []Call{f}},
		{"all sent again before the end", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\""}}`), calls(`{"index":0,"function":{"arguments":":"}}`), calls(`{"index":0,"function":{"arguments":"{\"q\":1}"}}`)}, []Call{f}},
		{"nested arguments that begin alike are no repetition", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":"}}`), calls(`{"index":0,"function":{"arguments":"{\"q\":1}}"}}`)}, []Call{{ID: "c1", Name: "f", Arguments: `{"q":{"q":1}}`}}},
		{"another object in one slot is another call", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`), calls(`{"index":0,"function":{"arguments":"{\"q\":2}"}}`)}, []Call{f, {ID: "own1", Name: "f", Arguments: `{"q":2}`}}},
		{"braces in strings do not end arguments", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":\"}"}}`), calls(`{"index":0,"function":{"arguments":"{\\\"\"}"}}`)}, []Call{{ID: "c1", Name: "f", Arguments: `{"q":"}{\""}`}}},
		{"padding of sparse indexes is no call", []string{calls(`{"index":0,"id":"","function":{"name":"","arguments":""}}`, `{"index":1,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`)}, []Call{f}},
		{"calls come in the provider's order", []string{calls(`{"index":1,"id":"c2","function":{"name":"g","arguments":"{\"q\":2}"}}`), calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`)}, []Call{f, g}},
		{"an object in place of the list", []string{`{"tool_calls":{"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}}`}, []Call{f}},
		{"a call without a name is dropped", []string{calls(`{"index":0,"id":"c9","function":{"arguments":"{}"}}`, `{"index":1,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`)}, []Call{f}},
		{"ids are unique", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":1}"}}`, `{"index":1,"id":"c1","function":{"name":"g","arguments":"{\"q\":2}"}}`)}, []Call{f, {ID: "own1", Name: "g", Arguments: `{"q":2}`}}},
		{"unknown members are kept as they are", []string{calls(`{"index":0,"id":"c1","function":{"name":"f","arguments":"{}","x":[1.0]},"extra_content":{"b":"<&>","a":1e2}}`)},
			[]Call{{ID: "c1", Name: "f", Arguments: `{}`, Extra: json.RawMessage(`{"extra_content":{"b":"<&>","a":1e2},"function":{"x":[1.0]}}`)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newTestAssembler()
			feed(t, a, tt.deltas...)
			got := a.response()
			if diff := cmp.Diff(tt.want, got.Calls); diff != "" || got.Finish != FinishToolCalls {
				t.Errorf("finish %s (-want +got):\n%s", got.Finish, diff)
			}
		})
	}
}

func TestDeltasTellTheStoryInOrder(t *testing.T) {
	a := newTestAssembler("web_search")
	got := feed(t, a,
		`{"role":"assistant","content":""}`,
		`{"reasoning_content":"hm"}`,
		`{"content":"he"}`, `{"content":"llo"}`, `{"refusal":"!"}`,
		`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"web_","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"q\""}}]}`,
		`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"web_search"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`,
	)
	want := []Delta{
		{Kind: Reasoning, Text: "hm"},
		{Kind: Text, Text: "he"}, {Kind: Text, Text: "llo"}, {Kind: Text, Text: "!"},
		{Kind: CallPiece, Call: CallFragment{Ordinal: 0, ID: "c1", Name: "web_search", Arguments: `{"q"`}},
		{Kind: CallPiece, Call: CallFragment{Ordinal: 1, ID: "c2", Name: "web_search"}},
		{Kind: CallPiece, Call: CallFragment{Ordinal: 0, Arguments: `:1}`}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := a.response(); r.Text != "hello!" || r.Reasoning != "hm" || r.ReasoningField != "reasoning_content" {
		t.Errorf("response %+v", r)
	}
}

func TestCallsDecideTheFinishNotTheLabel(t *testing.T) {
	tests := []struct {
		label string
		calls bool
		want  Finish
	}{
		{"stop", false, FinishStop}, {"stop", true, FinishToolCalls},
		{"tool_calls", true, FinishToolCalls}, {"tool_calls", false, FinishStop},
		{"function_call", true, FinishToolCalls}, {"", true, FinishToolCalls}, {"", false, FinishStop},
		{"length", false, FinishLength}, {"length", true, FinishLength}, {"MAX_TOKENS", false, FinishLength},
		{"content_filter", true, FinishContentFilter}, {"sensitive", false, FinishContentFilter},
		{"whatever", false, FinishUnknown}, {"whatever", true, FinishToolCalls},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q calls %v", tt.label, tt.calls), func(t *testing.T) {
			a := newTestAssembler()
			feed(t, a, `{"content":"x"}`)
			if tt.calls {
				feed(t, a, `{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}}]}`)
			}
			a.finish = tt.label
			r := a.response()
			if r.Finish != tt.want || (len(r.Calls) > 0) != (tt.want == FinishToolCalls) {
				t.Errorf("finish %s with %d calls", r.Finish, len(r.Calls))
			}
		})
	}
}

func TestTheLastUsageCounts(t *testing.T) {
	tests := []struct {
		name   string
		frames []string
		want   Usage
	}{
		{"cumulative in each frame", []string{`{"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"usage":{"prompt_tokens":9,"completion_tokens":5}}`}, Usage{InputTokens: 9, OutputTokens: 5}},
		{"zeros at the end say nothing", []string{`{"usage":{"prompt_tokens":9,"completion_tokens":5}}`, `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`}, Usage{InputTokens: 9, OutputTokens: 5}},
		{"null says nothing", []string{`{"usage":{"prompt_tokens":9}}`, `{"usage":null}`}, Usage{InputTokens: 9}},
		{"in the choice", []string{`{"choices":[{"usage":{"prompt_tokens":9,"completion_tokens":5,"cached_tokens":2}}]}`}, Usage{InputTokens: 9, OutputTokens: 5, CachedTokens: 2}},
		{"of Groq", []string{`{"x_groq":{"usage":{"prompt_tokens":9}}}`}, Usage{InputTokens: 9}},
		{"details", []string{`{"usage":{"input_tokens":9,"output_tokens":"5","prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":4}}}`}, Usage{InputTokens: 9, OutputTokens: 5, CachedTokens: 3, ReasoningTokens: 4}},
		{"of a wrong type", []string{`{"usage":"none"}`, `{"usage":{"prompt_tokens":[],"completion_tokens":5.0}}`}, Usage{OutputTokens: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newTestAssembler()
			for _, frame := range tt.frames {
				c, err := parseChunk([]byte(frame))
				if err != nil {
					t.Fatal(err)
				}
				if err := a.add(c, func(Delta) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			if got := a.response().Usage; got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestUsageIsEstimatedAndMarkedWhenTheProviderTellsNone(t *testing.T) {
	c := newTestClient(t, Config{HTTPTransport: answer(200, nil, okStream, whole)})
	resp, _, err := ask(c, Request{Messages: []Message{{Role: RoleUser, Content: "abcd efgh 龙虾"}}})
	if want := (Usage{InputTokens: 9, OutputTokens: 1, Estimated: true}); err != nil || resp.Usage != want {
		t.Errorf("%+v, want %+v (%v)", resp.Usage, want, err)
	}
}

// FuzzAssembler feeds any frames and holds the response to what it promises.
func FuzzAssembler(f *testing.F) {
	for _, q := range corpusForFuzz(f) {
		f.Add(strings.ReplaceAll(q.Wire, "data: ", ""))
	}
	f.Add(`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}},{"function":{"arguments":"{\"a\":1}"}}]}}]}`)
	f.Fuzz(func(t *testing.T, in string) {
		cfg := Config{MaxMessage: 1 << 12, MaxCalls: 4}.withDefaults()
		a := newAssembler(cfg, []ToolSpec{{Name: "web_search"}, {Name: "f"}})
		var text, reasoning strings.Builder
		pieces := map[int]int{}
		for frame := range strings.Lines(in) {
			c, err := parseChunk([]byte(frame))
			if err != nil {
				continue
			}
			err = a.add(c, func(d Delta) error {
				switch d.Kind {
				case Text:
					text.WriteString(d.Text)
				case Reasoning:
					reasoning.WriteString(d.Text)
				case CallPiece:
					if (d.Call.Name != "") != (pieces[d.Call.Ordinal] == 0) {
						t.Fatalf("fragment %d of call %d has name %q", pieces[d.Call.Ordinal], d.Call.Ordinal, d.Call.Name)
					}
					pieces[d.Call.Ordinal]++
				}
				return nil
			})
			if err != nil {
				if !errors.Is(err, errTooLarge) {
					t.Fatalf("unexpected error: %v", err)
				}
				break
			}
		}
		r := a.response()
		if r.Text != text.String() || r.Reasoning != reasoning.String() {
			t.Fatal("the deltas and the response tell different texts")
		}
		if len(r.Text)+len(r.Reasoning) > cfg.MaxMessage || len(r.Calls) > cfg.MaxCalls {
			t.Fatal("over the limits")
		}
		if (r.Finish == FinishToolCalls) != (len(r.Calls) > 0) {
			t.Fatalf("finish %s with %d calls", r.Finish, len(r.Calls))
		}
		ids := map[string]bool{}
		for _, c := range r.Calls {
			if c.ID == "" || ids[c.ID] || c.Name == "" || c.Arguments == "" || len(c.Extra) > 0 && !json.Valid(c.Extra) {
				t.Fatalf("bad call %+v", c)
			}
			ids[c.ID] = true
		}
		sentBody(t, Request{Messages: []Message{{Role: RoleAssistant, Content: r.Text, Calls: r.Calls, Extra: r.Extra, Reasoning: r.Reasoning, ReasoningField: r.ReasoningField}}}, concessions{})
	})
}

func TestTheNamespaceOfToolsIsNoPartOfTheirNames(t *testing.T) {
	for _, tt := range []struct{ said, offered, want string }{
		{"functions.f", "f", "f"},
		{"functions.f", "functions.f", "functions.f"},
		{"functions.g", "f", "functions.g"},
	} {
		a := newAssembler(Config{}.withDefaults(), []ToolSpec{{Name: tt.offered}})
		c, err := parseChunk([]byte(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"` + tt.said + `","arguments":"{}"}}]}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.add(c, func(Delta) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := a.response().Calls; len(got) != 1 || got[0].Name != tt.want {
			t.Errorf("%s with %s offered: %+v", tt.said, tt.offered, got)
		}
	}
}
