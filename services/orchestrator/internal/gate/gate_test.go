package gate

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

type provider struct {
	toolv1.ToolProviderServiceClient
	tools []*toolv1.Tool
}

func (p provider) ListTools(context.Context, *toolv1.ListToolsRequest, ...grpc.CallOption) (*toolv1.ListToolsResponse, error) {
	return &toolv1.ListToolsResponse{Tools: p.tools}, nil
}

func schema(t testing.TB) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(map[string]any{
		"type": "object", "required": []any{"query"}, "additionalProperties": false,
		"properties": map[string]any{
			"query": map[string]any{"type": "string"},
			"count": map[string]any{"type": "integer", "default": 5, "minimum": 1, "maximum": 10},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// snapshot has our tools r (reads), off (reads, turned off), w (writes), x
// (executes, approved) and the foreign far__r.
func snapshot(t testing.TB) *registry.Snapshot {
	t.Helper()
	tool := func(name, sink string) *toolv1.Tool {
		return &toolv1.Tool{Name: name, Description: "Does it.", Effect: "pure", Sink: sink, Parameters: schema(t)}
	}
	r := registry.New([]*registry.Provider{
		{Name: "own", Client: provider{tools: []*toolv1.Tool{tool("web_search", "read"), tool("off", "read"), tool("write_file", "write"), tool("run_code", "exec")}}},
		{Name: "far", Foreign: true, Client: provider{tools: []*toolv1.Tool{tool("web_search", "read")}}},
	}, registry.Policy{
		Enabled: []string{"web_search", "write_file", "run_code", "far__web_search"}, AutoApprove: []string{"run_code"},
	}, slog.New(slog.DiscardHandler))
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Snapshot()
}

func TestDecisions(t *testing.T) {
	tools := snapshot(t)
	const good = `{"query":"tea"}`
	cases := []struct {
		name    string
		call    Call
		verdict Verdict
		reason  string
		words   []string
		pointer string
	}{
		{"a call that fits", Call{Name: "web_search", Arguments: good}, Allow, "", nil, ""},
		{"the last call that is taken", Call{Name: "web_search", Arguments: good, Ordinal: 3}, Allow, "", nil, ""},
		{"one call more than is taken", Call{Name: "web_search", Arguments: good, Ordinal: 4}, Deny, ReasonTooManyCalls, []string{"At most 4 calls"}, ""},
		{"a tool that is turned off", Call{Name: "off", Arguments: good}, Deny, ReasonDisabled, []string{"off", "tools.enabled"}, ""},
		{"a tool that is turned off, with bad arguments", Call{Name: "off", Arguments: `nonsense`}, Deny, ReasonDisabled, nil, ""},
		{"a tool that writes", Call{Name: "write_file", Arguments: good}, Ask, ReasonNeedsPerson, []string{"write_file", "(write)", "approval"}, ""},
		{"a tool that writes, with bad arguments", Call{Name: "write_file", Arguments: `{}`}, Reject, ReasonBadArguments, []string{"/query"}, "/query"},
		{"a tool that executes and is approved", Call{Name: "run_code", Arguments: good}, Allow, "", nil, ""},
		{"a tool that executes, with arguments that need no guess", Call{Name: "run_code", Arguments: "```json\n" + good + "\n```"}, Allow, "", nil, ""},
		{"a tool that executes, with arguments to be guessed", Call{Name: "run_code", Arguments: `{query:'tea'}`}, Reject, ReasonBadArguments, []string{"guessed", "without quotation marks"}, ""},
		{"a tool that reads, with arguments to be guessed", Call{Name: "web_search", Arguments: `{query:'tea'}`}, Allow, "", nil, ""},
		{"a foreign tool under its own name", Call{Name: "far__web_search", Arguments: good}, Ask, ReasonNeedsPerson, nil, ""},
		{"a name that is near", Call{Name: "web_serach", Arguments: good}, Reject, ReasonUnknownTool, []string{`"web_serach"`, "Did you mean web_search?"}, ""},
		{"a name with other letters", Call{Name: "Web-Search", Arguments: good}, Reject, ReasonUnknownTool, []string{"Did you mean web_search"}, ""},
		{"a name of nothing", Call{Name: "weather", Arguments: good}, Reject, ReasonUnknownTool, []string{"The tools are: far__web_search, run_code, web_search, write_file."}, ""},
		{"no name", Call{Arguments: good}, Reject, ReasonUnknownTool, []string{`""`, "The tools are"}, ""},
		{"an unknown tool beyond the limit", Call{Name: "weather", Ordinal: 9}, Reject, ReasonUnknownTool, nil, ""},
		{"no arguments", Call{Name: "web_search"}, Reject, ReasonBadArguments, []string{"/query"}, "/query"},
		{"a value of another type", Call{Name: "web_search", Arguments: `{"query":"tea","count":"many"}`}, Reject, ReasonBadArguments, []string{"/count", "integer"}, "/count"},
		{"not JSON", Call{Name: "web_search", Arguments: `[[[`}, Reject, ReasonBadArguments, nil, ""},
		{"a list", Call{Name: "web_search", Arguments: `[1,2]`, Exact: true}, Reject, ReasonBadArguments, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(tools, c.call, 4)
			if d.Verdict != c.verdict || d.Reason != c.reason || d.Pointer != c.pointer {
				t.Fatalf("%s %s at %q: %s", d.Verdict, d.Reason, d.Pointer, d.Message)
			}
			for _, w := range c.words {
				if !strings.Contains(d.Message, w) {
					t.Errorf("%q does not say %q", d.Message, w)
				}
			}
			if fits := d.Verdict == Allow || d.Verdict == Ask; fits != (d.Hash != "") || fits != (len(d.Canonical) > 0) {
				t.Errorf("a %s has arguments %q with hash %q", d.Verdict, d.Canonical, d.Hash)
			}
			if fits := d.Verdict == Allow || d.Verdict == Ask; fits && d.Hash != toolkit.Hash(d.Canonical) {
				t.Error("the hash is not toolkit's")
			}
			if (d.Tool == nil) != (d.Reason == ReasonUnknownTool) {
				t.Errorf("tool %v", d.Tool)
			}
		})
	}
}

func TestModelsAreMendedAndPeopleAreNot(t *testing.T) {
	tools := snapshot(t)
	cases := []struct {
		name, arguments string
		model           string // canonical arguments; empty: rejected
		exact           string
		pointer         string // of the exact path's error
	}{
		{"as it should be", `{"count":3,"query":"tea"}`, `{"count":3,"query":"tea"}`, `{"count":3,"query":"tea"}`, ""},
		{"the default is filled in", `{"query":"tea"}`, `{"count":5,"query":"tea"}`, `{"count":5,"query":"tea"}`, ""},
		{"a number as text", `{"count":"3","query":"tea"}`, `{"count":3,"query":"tea"}`, "", "/count"},
		{"out of range", `{"count":99,"query":"tea"}`, `{"count":10,"query":"tea"}`, "", "/count"},
		{"a comma too much", `{"query":"tea",}`, `{"count":5,"query":"tea"}`, "", ""},
		{"text that says two things", `{"query":"tea","query":"milk"}`, "", "", ""},
		{"a list as text", `{"query":["tea"]}`, "", "", "/query"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			model := Decide(tools, Call{Name: "web_search", Arguments: c.arguments}, 1)
			if string(model.Canonical) != c.model {
				t.Errorf("model: %s %s: %s", model.Verdict, model.Canonical, model.Message)
			}
			if mended := c.model != c.exact; mended != (len(model.Changes) > 0) {
				t.Errorf("changes %q", model.Changes)
			}
			exact := Decide(tools, Call{Name: "web_search", Arguments: c.arguments, Exact: true}, 1)
			if string(exact.Canonical) != c.exact || exact.Pointer != c.pointer || len(exact.Changes) > 0 {
				t.Errorf("exact: %s %s at %q: %s", exact.Verdict, exact.Canonical, exact.Pointer, exact.Message)
			}
			again := Decide(tools, Call{Name: "web_search", Arguments: string(model.Canonical), Exact: true}, 1)
			if again.Hash != model.Hash {
				t.Error("what was mended does not keep its hash")
			}
		})
	}
}

func TestWhichArgumentsCouldNotBeRead(t *testing.T) {
	tools := snapshot(t)
	for _, c := range []struct {
		name       string
		call       Call
		unreadable bool
	}{
		{"text that says two things", Call{Name: "web_search", Arguments: `{"query":"tea","query":"milk"}`}, true},
		{"text that is cut off", Call{Name: "web_search", Arguments: `[[[`}, true},
		{"text to be guessed, for a tool that executes", Call{Name: "run_code", Arguments: `{query:'tea'}`}, true},
		{"text to be guessed, for a tool that writes", Call{Name: "write_file", Arguments: `{query:'tea'}`}, true},
		{"text to be guessed, for a tool that reads", Call{Name: "web_search", Arguments: `{query:'tea'}`}, false},
		{"text that is read and does not fit", Call{Name: "web_search", Arguments: `{"query":7,"count":"many"}`}, false},
		{"a guess that does not fit", Call{Name: "web_search", Arguments: `{query:['tea']}`}, false},
		{"nothing", Call{Name: "web_search"}, false},
		{"what a person sends", Call{Name: "web_search", Arguments: `[[[`, Exact: true}, false},
		{"for no tool", Call{Name: "weather", Arguments: `[[[`}, false},
		{"for a tool that is turned off", Call{Name: "off", Arguments: `[[[`}, false},
		{"beyond the limit", Call{Name: "web_search", Arguments: `[[[`, Ordinal: 4}, false},
	} {
		if d := Decide(tools, c.call, 4); d.Unreadable != c.unreadable {
			t.Errorf("%s: unreadable = %v (%s)", c.name, d.Unreadable, d.Message)
		}
	}
}

func TestWithoutToolsTheModelIsToldToDoWithout(t *testing.T) {
	d := Decide(&registry.Snapshot{}, Call{Name: "web_search"}, 1)
	if d.Verdict != Reject || !strings.Contains(d.Message, "Answer without tools") {
		t.Errorf("%s: %s", d.Verdict, d.Message)
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("web_search", `{"query":"tea"}`, 0, false)
	f.Add("搜索"+strings.Repeat("é", 60), `{"query":`, 3, true)
	f.Add("far__web_search", "\xff", 1, false)
	tools := snapshot(f)
	f.Fuzz(func(t *testing.T, name, arguments string, ordinal int, exact bool) {
		d := Decide(tools, Call{Name: name, Arguments: arguments, Ordinal: ordinal, Exact: exact}, 4)
		if (d.Verdict == Allow) != (d.Reason == "") || (d.Verdict == Allow) != (d.Message == "") {
			t.Errorf("%s without a reason or words: %q %q", d.Verdict, d.Reason, d.Message)
		}
		if !utf8.ValidString(d.Message) || len(d.Message) > 4096 {
			t.Errorf("words that cannot be sent: %q", d.Message)
		}
		if again := Decide(tools, Call{Name: name, Arguments: arguments, Ordinal: ordinal, Exact: exact}, 4); again.Verdict != d.Verdict || again.Hash != d.Hash {
			t.Error("the gate changed its mind")
		}
	})
}
