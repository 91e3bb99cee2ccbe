package orchestrator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shape is what a stream is read as: calls as name, arguments.
type shape struct {
	Text, Reasoning string
	Calls           []string
	Finish          string
	Kind            string // of the error
	Usage           StreamUsage
}

func readShape(t *testing.T, in StreamInput) shape {
	t.Helper()
	r, err := InspectStream(in)
	if err != nil {
		t.Fatal(err)
	}
	got := shape{Text: r.Text, Reasoning: r.Reasoning, Finish: r.Finish}
	for _, c := range r.ToolCalls {
		got.Calls = append(got.Calls, c.Name+string(c.Arguments))
	}
	if r.Error != nil {
		got.Kind = r.Error.Kind
	}
	if r.Usage != nil {
		got.Usage = *r.Usage
	}
	return got
}

func quoted(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// pieces is a stream of deltas, and of the finish in the end.
func pieces(finish string, deltas ...string) string {
	var wire strings.Builder
	for _, d := range deltas {
		wire.WriteString(`data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	return wire.String() + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"
}

func TestACallIsPutTogetherHoweverItsPiecesAreMarked(t *testing.T) {
	call := func(members string) string { return `{"tool_calls":[{` + members + `}]}` }
	one := []string{`f{"q":"x"}`}
	two := []string{`f{"q":"x"}`, `g{"q":"y"}`}
	tests := []struct {
		name   string
		deltas []string
		want   []string
	}{
		{"an empty object stands for arguments that come later", []string{
			call(`"index":0,"id":"c","function":{"name":"f","arguments":"{}"}`),
			call(`"index":0,"function":{"arguments":"{\"q\""}`), call(`"index":0,"function":{"arguments":":\"x\"}"}`),
		}, one},
		{"an empty object that is a value stands for them too", []string{
			call(`"index":0,"id":"c","function":{"name":"f","arguments":{}}`), call(`"index":0,"id":"c","function":{"name":"f","arguments":{"q":"x"}}`),
		}, one},
		{"an empty object alone is the arguments", []string{call(`"index":0,"id":"c","function":{"name":"f","arguments":"{}"}`)}, []string{`f{}`}},
		{"an empty object twice is one call", []string{
			call(`"index":0,"id":"c","function":{"name":"f","arguments":"{}"}`), call(`"index":0,"function":{"arguments":"{}"}`),
		}, []string{`f{}`}},
		{"without index a name after an empty object is the next call", []string{
			call(`"function":{"name":"f","arguments":"{}"}`), call(`"function":{"name":"f","arguments":"{\"q\":\"x\"}"}`),
		}, []string{`f{}`, `f{"q":"x"}`}},
		{"an id of its own for each piece", []string{
			call(`"index":0,"id":"a","function":{"name":"f","arguments":""}`),
			call(`"index":0,"id":"b","function":{"name":"","arguments":"{\"q\""}`), call(`"index":0,"id":"d","function":{"arguments":":\"x\"}"}`),
		}, one},
		{"an index that counts pieces", []string{
			call(`"index":0,"id":"c","function":{"name":"f","arguments":"{\"q\""}`),
			call(`"index":1,"function":{"arguments":":"}`), call(`"index":2,"function":{"arguments":"\"x\"}"}`),
		}, one},
		{"one index for calls in turns, told apart by id", []string{
			call(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), call(`"index":0,"id":"b","function":{"name":"g","arguments":""}`),
			call(`"index":0,"id":"a","function":{"arguments":"{\"q\":\"x\"}"}`), call(`"index":0,"id":"b","function":{"arguments":"{\"q\":\"y\"}"}`),
		}, two},
		{"the members of function beside it", []string{call(`"index":0,"id":"c","name":"f","arguments":"{\"q\":\"x\"}"`)}, one},
		{"white space around a name", []string{call(`"index":0,"id":"c","function":{"name":" f\n","arguments":"{\"q\":\"x\"}"}`)}, one},
		{"the old form beside the new one", []string{
			`{"function_call":{"name":"f","arguments":""},"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":""}}]}`,
			`{"function_call":{"arguments":"{\"q\":\"x\"}"},"tool_calls":[{"index":0,"id":"c","function":{"arguments":"{\"q\":\"x\"}"}}]}`,
		}, one},
		{"the old form alone", []string{`{"function_call":{"name":"f"}}`, `{"function_call":{"arguments":"{\"q\":\"x\"}"}}`}, one},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := readShape(t, StreamInput{Wire: pieces("tool_calls", tt.deltas...)})
			if diff := cmp.Diff(shape{Calls: tt.want, Finish: "tool_calls"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnAnswerIsReadInEveryFrameItComesIn(t *testing.T) {
	const (
		hi   = `{"id":"r","choices":[{"index":0,"delta":{"content":"hi"}}]}`
		stop = `{"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
		done = "data: [DONE]\n\n"
	)
	said := shape{Text: "hi", Finish: "stop"}
	thought := shape{Text: "hi", Reasoning: "hm", Finish: "stop"}
	counted := shape{Text: "hi", Finish: "stop", Usage: StreamUsage{Prompt: 3, Completion: 2, Cached: 1}}
	failed := shape{Text: "hi", Finish: "error", Kind: "provider"}
	broken := `{"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"`
	frame := func(f ...string) string { return "data: " + strings.Join(f, "\n\ndata: ") + "\n\n" + done }
	tests := []struct {
		name, wire string
		want       shape
	}{
		{"no empty line between events", "data: " + hi + "\ndata: " + stop + "\ndata: [DONE]\n", said},
		{"an event line before each of them", "event: x\ndata: " + hi + "\nevent: y\ndata: " + stop + "\n", said},
		{"the name of an error is not that of the event before", "data: " + hi + "\nevent: error\ndata: {\"message\":\"boom\"}\n\n", failed},
		{"one object in several lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hi\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n" + done, said},
		{"lines of JSON without data", hi + "\n" + stop + "\n", said},
		{"an error without data before the end", `{"error":{"message":"boom"}}` + "\n\n" + done, shape{Finish: "error", Kind: "provider"}},
		{"an envelope around the answer", `{"success":true,"code":200,"data":{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}}`, said},
		{"the whole answer once more in the end", frame(hi, `{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}`), said},
		{"a message in pieces", frame(`{"choices":[{"message":{"content":"h"}}]}`, `{"choices":[{"message":{"content":"i"},"finish_reason":"stop"}]}`), said},
		{"the only choice has another index", frame(`{"choices":[{"index":1,"delta":{"content":"hi"},"finish_reason":"stop"}]}`), said},
		{"the first choice is not the first of the list", frame(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}`), said},
		{"a choice without a list", frame(`{"choices":{"delta":{"content":"hi"},"finish_reason":"stop"}}`), said},
		{"a part without a list", frame(`{"choices":[{"delta":{"content":{"type":"text","text":"hi"}},"finish_reason":"stop"}]}`), said},
		{"parts that are texts", frame(`{"choices":[{"delta":{"content":["h",{"type":"text","text":"i"}]},"finish_reason":"stop"}]}`), said},
		{"thoughts in details alone", frame(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"h"},{"type":"reasoning.summary","summary":"m"},{"type":"reasoning.encrypted","data":"x"}]}}]}`, hi, stop), thought},
		{"thoughts in details and beside them", frame(`{"choices":[{"delta":{"reasoning":"hm","reasoning_details":[{"text":"hm"}]}}]}`, hi, stop), thought},
		{"thoughts beside details later", frame(`{"choices":[{"delta":{"reasoning_details":[{"text":"hm"}]}}]}`, `{"choices":[{"delta":{"reasoning":"hm"}}]}`, hi, stop), thought},
		{"what was read from a cache, as Anthropic counts", frame(hi, stop, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"cache_read_input_tokens":1}}`), counted},
		{"what was read from a cache, as the Responses API counts", frame(hi, stop, `{"choices":[],"usage":{"input_tokens":3,"output_tokens":2,"input_tokens_details":{"cached_tokens":1}}}`), counted},

		{"a list of errors", frame(hi, `{"errors":[{"message":"boom"}]}`), failed},
		{"a code with a message of three letters", frame(hi, `{"code":"500","msg":"boom"}`), failed},
		{"no success", frame(hi, `{"success":false,"message":"boom"}`), failed},
		{"a base_resp that is not 0", frame(hi, `{"id":"r","base_resp":{"status_code":1013,"status_msg":"boom"}}`), failed},
		{"a base_resp of 0", frame(hi, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"base_resp":{"status_code":0,"status_msg":""}}`), said},
		{"a code that says that all is well", frame(hi, `{"code":0,"message":"success"}`, stop), said},
		{"broken off for want of resources", frame(broken + `insufficient_system_resource"}]}`), failed},
		{"aborted", frame(broken + `abort"}]}`), failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readShape(t, StreamInput{Wire: tt.wire})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCallsInATextAreReadWithEverySlipThatLeavesOneReading(t *testing.T) {
	const param = `parameter name="q" string="true">x</`
	dsml := func(bar string) string {
		return strings.ReplaceAll(`<BARtool_calls><BARinvoke name="f"><BAR`+param+`BARparameter></BARinvoke></BARtool_calls>`, "BAR", bar+"DSML"+bar)
	}
	one := []string{`f{"q":"x"}`}
	tests := []struct {
		name, in, text string
		profile        StreamProfile
		calls          []string
	}{
		{"a closing mark inside a string", `<tool_call>{"name":"f","arguments":{"q":"</tool_call>"}}</tool_call>`, "", StreamProfile{TextCalls: "hermes"}, []string{`f{"q":"</tool_call>"}`}},
		{"a string that is not closed", `<tool_call>{"name":"f</tool_call> and on`, `<tool_call>{"name":"f</tool_call> and on`, StreamProfile{TextCalls: "hermes"}, nil},
		{"a call after one whose string is not closed", `<tool_call>{"name":"f</tool_call><tool_call>{"name":"f","arguments":{"q":"x"}}</tool_call>`, `<tool_call>{"name":"f</tool_call>`, StreamProfile{TextCalls: "hermes"}, one},
		{"two calls between two marks", `<tool_call>{"name":"f","arguments":{"q":"x"}}` + "\n" + `{"name":"g","arguments":{}}</tool_call>`, "", StreamProfile{TextCalls: "hermes"}, []string{`f{"q":"x"}`, `g{}`}},
		{"a call as the protocol has it", `<tool_call>{"type":"function","function":{"name":"f","arguments":"{\"q\":\"x\"}"}}</tool_call>`, "", StreamProfile{TextCalls: "hermes"}, one},
		{"the outer opening mark was forgotten", "<function=f>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>", "", StreamProfile{TextCalls: "qwen-coder"}, one},
		{"a closing mark of a parameter was forgotten", "<tool_call><function=f>\n<parameter=q>\nx\n<parameter=r>\ny\n</parameter>\n</function></tool_call>", "", StreamProfile{TextCalls: "qwen-coder"}, []string{`f{"q":"x","r":"y"}`}},
		{"a value that is not closed is not left out", "<tool_call>f<arg_key>q</arg_key><arg_value>x</tool_call>", "<tool_call>f<arg_key>q</arg_key><arg_value>x</tool_call>", StreamProfile{TextCalls: "glm"}, nil},
		{"bars of full width", dsml("｜"), "", StreamProfile{TextCalls: "dsml"}, one},
		{"plain bars", dsml("|"), "", StreamProfile{TextCalls: "dsml"}, one},
		{"two bars of full width", dsml("｜｜"), "", StreamProfile{TextCalls: "dsml"}, one},
		{"two plain bars", dsml("||"), "", StreamProfile{TextCalls: "dsml"}, one},
		{"a double bar", dsml("‖"), "", StreamProfile{TextCalls: "dsml"}, one},
		{"no marks around the calls", `<｜DSML｜invoke name="f"><｜DSML｜` + param + `｜DSML｜parameter></｜DSML｜invoke>` + "\n</｜DSML｜tool_calls>", "", StreamProfile{TextCalls: "dsml"}, one},
		{"a parameter that is not closed is not left out", `<｜DSML｜tool_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="q">x</｜DSML｜invoke></｜DSML｜tool_calls>`, `<｜DSML｜tool_calls><｜DSML｜invoke name="f"><｜DSML｜parameter name="q">x</｜DSML｜invoke></｜DSML｜tool_calls>`, StreamProfile{TextCalls: "dsml"}, nil},
		{"a tool that was not offered is text", dsml("‖"), dsml("‖"), StreamProfile{TextCalls: "dsml", Tools: []string{"g"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := shape{Text: tt.text, Calls: tt.calls, Finish: "tool_calls"}
			if tt.calls == nil {
				want.Finish = "stop"
			}
			for name, n := range map[string]int{"whole": len(tt.in), "rune by rune": 1} {
				var deltas []string
				for runes := []rune(tt.in); len(runes) > 0; {
					k := min(n, len(runes))
					deltas = append(deltas, `{"content":`+quoted(string(runes[:k]))+`}`)
					runes = runes[k:]
				}
				if diff := cmp.Diff(want, readShape(t, StreamInput{Wire: pieces("stop", deltas...), Profile: &tt.profile})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}
