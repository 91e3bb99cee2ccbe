package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// The Berkeley function-calling questions and answers: every call of a true
// answer goes out under a name that providers take, comes back in pieces, and
// has its own name and the same arguments again.

// bfclCase is one question with the calls that answer it.
type bfclCase struct {
	id    string
	tools []ToolSpec
	calls []Call
}

var bfclSets = []string{"simple_python", "multiple", "parallel", "parallel_multiple", "live_simple"}

const bfclCalls = 2005

// bfclLoose are the recorded answers that do not keep the schema they were
// recorded for, and why. An argument whose first accepted value is "" is left out
// here; written as "", more of them would not.
var bfclLoose = map[string]string{
	"simple_python_200":    "/fuel_efficiency: expected a number (required), got nothing",
	"parallel_multiple_21": "/x: expected an array, got \"data['sales']\"",
	"parallel_multiple_94": "/elements/0: expected an integer, got \"apple\"",
	"live_simple_71-35-0":  "/metrics: expected one of",
	"live_simple_106-63-0": "/auto_loan_payment_start: expected an array (required), got nothing",
	"live_simple_112-68-0": "/acc_routing_start: expected an array (required), got nothing",
}

func TestEveryRecordedCallComesBackAsItWas(t *testing.T) {
	total, odd, loose := 0, 0, 0
	for _, set := range bfclSets {
		for i, c := range bfcl(t, set) {
			validators := map[string]*toolkit.Validator{}
			for _, tool := range c.tools {
				odd += count(outbound(tool.Name) != tool.Name)
				v, err := toolkit.NewValidator(tool.Parameters)
				if err != nil {
					t.Fatalf("%s: %s: %v", c.id, tool.Name, err)
				}
				validators[tool.Name] = v
			}
			req := hello
			req.Tools = c.tools
			client := newTestClient(t, Config{HTTPTransport: replay(t, c, i)})
			resp, deltas, err := ask(client, req)
			if err != nil || len(resp.Calls) != len(c.calls) || resp.Finish != FinishToolCalls && len(c.calls) > 0 {
				t.Fatalf("%s: %d calls of %d, finish %s, error %v", c.id, len(resp.Calls), len(c.calls), resp.Finish, err)
			}
			var announced []string
			for _, d := range deltas {
				if d.Kind == CallPiece && d.Call.Name != "" {
					announced = append(announced, d.Call.Name)
				}
			}
			for j, want := range c.calls {
				got := resp.Calls[j]
				if got.Name != want.Name || got.Arguments != want.Arguments || announced[j] != want.Name {
					t.Errorf("%s: call %d is %s(%s), was %s(%s)", c.id, j, got.Name, got.Arguments, want.Name, want.Arguments)
				}
				v := validators[got.Name]
				exact, exactErr := v.CheckExact([]byte(want.Arguments))
				canonical, changes, err := arguments.Check(v, got.Arguments, false)
				total++
				if exactErr != nil {
					loose++
					if why := bfclLoose[c.id]; why == "" || !strings.HasPrefix(exactErr.Error(), why) {
						t.Errorf("%s: %s(%s) is refused: %v", c.id, got.Name, want.Arguments, exactErr)
					}
				} else if err != nil || !bytes.Equal(exact, canonical) || len(changes) > 0 {
					t.Errorf("%s: %s(%s) is read as %s, %v, %v", c.id, got.Name, got.Arguments, canonical, changes, err)
				}
			}
		}
	}
	t.Logf("%d calls, %d names that providers refuse, %d answers that do not keep their schema", total, odd, loose)
	if total != bfclCalls || loose != len(bfclLoose) {
		t.Errorf("%d calls and %d loose answers, want %d and %d", total, loose, bfclCalls, len(bfclLoose))
	}
}

func TestAnAnswerWithoutACallStaysOne(t *testing.T) {
	for i, c := range bfcl(t, "irrelevance") {
		req := hello
		req.Tools = c.tools
		client := newTestClient(t, Config{HTTPTransport: replay(t, c, i), Profile: Profile{ThinkTags: true, TextCalls: Hermes}})
		resp, _, err := ask(client, req)
		if err != nil || len(resp.Calls) > 0 || resp.Finish != FinishStop || resp.Text != "None of the tools helps." {
			t.Errorf("%s: %+v, %v", c.id, resp, err)
		}
	}
}

// replay answers with the calls of c, in one of the ways that providers have.
func replay(t *testing.T, c bfclCase, way int) transport {
	return func(r *http.Request) (*http.Response, error) {
		var sent struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		for _, tool := range sent.Tools {
			if !wireName.MatchString(tool.Function.Name) {
				t.Errorf("%s: the request names a tool %q", c.id, tool.Function.Name)
			}
		}
		var body strings.Builder
		frame := func(delta any) {
			b, err := json.Marshal(map[string]any{"id": "r", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}})
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(&body, "data: %s\n\n", b)
		}
		for i, call := range c.calls {
			for from := 0; from == 0 || from < len(call.Arguments); {
				to := min(len(call.Arguments), from+1+(way+i)%17)
				if way%4 == 3 {
					to = len(call.Arguments)
				}
				for to < len(call.Arguments) && !utf8.RuneStart(call.Arguments[to]) {
					to++
				}
				fn := map[string]any{"arguments": call.Arguments[from:to]}
				piece := map[string]any{"function": fn}
				if way%4 != 1 { // some send no index
					piece["index"] = i
				}
				if from == 0 || way%4 == 2 { // some repeat id and name
					piece["id"], fn["name"] = fmt.Sprintf("call-%d", i), outbound(call.Name)
				}
				frame(map[string]any{"tool_calls": []any{piece}})
				from = to
			}
		}
		finish := "tool_calls"
		if len(c.calls) == 0 {
			frame(map[string]any{"content": "None of the tools"})
			frame(map[string]any{"content": " helps."})
			finish = "stop"
		}
		fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body.String()))}, nil
	}
}

// bfcl reads one set; without the corpus the test is skipped.
func bfcl(t *testing.T, set string) (cases []bfclCase) {
	t.Helper()
	answers := map[string][]map[string]map[string][]any{}
	if set != "irrelevance" {
		for _, line := range bfclLines(t, "answer_BFCL_v4_"+set+".json") {
			var a struct {
				ID          string                        `json:"id"`
				GroundTruth []map[string]map[string][]any `json:"ground_truth"`
			}
			decodeNumbers(t, line, &a)
			answers[a.ID] = a.GroundTruth
		}
	}
	for _, line := range bfclLines(t, "BFCL_v4_"+set+".json") {
		var q struct {
			ID       string `json:"id"`
			Function []struct {
				Name        string         `json:"name"`
				Description string         `json:"description"`
				Parameters  map[string]any `json:"parameters"`
			} `json:"function"`
		}
		decodeNumbers(t, line, &q)
		c := bfclCase{id: q.ID}
		for _, f := range q.Function {
			schema, err := json.Marshal(standard(f.Parameters))
			if err != nil {
				t.Fatal(err)
			}
			c.tools = append(c.tools, ToolSpec{Name: f.Name, Description: f.Description, Parameters: schema})
		}
		for _, call := range answers[q.ID] {
			for name, params := range call {
				args, err := marshalPlain(first(params))
				if err != nil {
					t.Fatal(err)
				}
				c.calls = append(c.calls, Call{Name: name, Arguments: string(args)})
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// first takes the first accepted value of each argument; "" says that it may be
// left out.
func first(params map[string][]any) map[string]any {
	out := map[string]any{}
	for name, accepted := range params {
		if len(accepted) > 0 && accepted[0] != "" {
			out[name] = plain(accepted[0])
		}
	}
	return out
}

// plain does the same inside objects.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		params := map[string][]any{}
		for name, accepted := range v {
			list, ok := accepted.([]any)
			if !ok {
				return v
			}
			params[name] = list
		}
		return first(params)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	}
	return v
}

// standard gives the types of a schema the names of JSON Schema.
func standard(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			kind, isText := value.(string)
			switch {
			case name != "type" || !isText:
				out[name] = standard(value)
			case kind == "any":
			default:
				out[name] = map[string]string{"dict": "object", "float": "number", "tuple": "array"}[kind]
				if out[name] == "" {
					out[name] = kind
				}
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = standard(v[i])
		}
		return out
	}
	return v
}

func decodeNumbers(t *testing.T, line []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func bfclLines(t *testing.T, name string) (out [][]byte) {
	t.Helper()
	root, err := repositoryRoot()
	if err != nil {
		t.Skip(err)
	}
	f, err := os.Open(filepath.Join(root, "..", "shared", "data", "agent", "bfcl", name))
	if err != nil {
		t.Skipf("the recorded calls are not at hand: %v", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		out = append(out, slices.Clone(lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNamesOfToolsGoOutAsProvidersTakeThem(t *testing.T) {
	long := strings.Repeat("a", 65)
	tests := []struct{ name, wire string }{
		{"web_search", "web_search"},
		{"math.sum", "math_sum_7f0cf20a"},
		{"math/sum", ""},
		{long, ""},
		{"名前", ""},
		{"", ""},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		got := outbound(tt.name)
		if tt.name != "" && !wireName.MatchString(got) || seen[got] || outbound(got) != got || tt.wire != "" && got != tt.wire {
			t.Errorf("%q goes out as %q", tt.name, got)
		}
		seen[got] = true
	}
	req := Request{
		Tools: []ToolSpec{{Name: "math.sum"}, {Name: "now"}},
		Messages: []Message{
			{Role: RoleAssistant, Calls: []Call{{ID: "c", Name: "math.sum", Arguments: "{}"}}},
			{Role: RoleTool, CallID: "c", Name: "math.sum"},
			{Role: RoleUser, Name: "Ann B."},
		},
	}
	before := fmt.Sprintf("%+v", req)
	out, names := rename(req)
	wire := outbound("math.sum")
	if out.Tools[0].Name != wire || out.Tools[1].Name != "now" || out.Messages[0].Calls[0].Name != wire || out.Messages[1].Name != wire || out.Messages[2].Name != "Ann B." {
		t.Errorf("%+v", out)
	}
	if diff := cmp.Diff(before, fmt.Sprintf("%+v", req)); diff != "" {
		t.Errorf("the caller's request was changed:\n%s", diff)
	}
	if names.inbound(wire) != "math.sum" || names.inbound("now") != "now" || names.inbound("other") != "other" {
		t.Errorf("%v", names)
	}
}
