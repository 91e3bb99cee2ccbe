package provider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readText reads a text in pieces of n bytes and returns the answer and the text
// that was told while it came.
func readText(t testing.TB, p Profile, tools []string, text string, n int, finish string) (Response, string) {
	t.Helper()
	var specs []ToolSpec
	for _, name := range tools {
		specs = append(specs, ToolSpec{Name: name})
	}
	a := newAssembler(Config{Profile: p}.withDefaults(), specs)
	var told strings.Builder
	yield := func(d Delta) error {
		if d.Kind == Text {
			told.WriteString(d.Text)
		}
		return nil
	}
	for len(text) > 0 {
		k := min(n, len(text))
		if err := a.add(&chunk{Choices: choices{{Delta: &delta{Content: content{text: text[:k]}}}}}, yield); err != nil {
			t.Fatal(err)
		}
		text = text[k:]
	}
	a.finish = finish
	if err := a.end(yield); err != nil {
		t.Fatal(err)
	}
	return a.response(), told.String()
}

func TestTextIsReadAsItsProfileSays(t *testing.T) {
	const hermes = `<tool_call>{"name":"f","arguments":{"q":"x"}}</tool_call>`
	dsml := func(s string) string {
		return `<｜DSML｜tool_calls><｜DSML｜invoke name="f">` + s + `</｜DSML｜invoke></｜DSML｜tool_calls>`
	}
	tests := []struct {
		name, in  string
		profile   Profile
		finish    string
		text      string
		reasoning string
		calls     []string // name and arguments
	}{
		{"nothing is found without a profile", "<think>a</think>" + hermes, Profile{}, "", "<think>a</think>" + hermes, "", nil},
		{"white space before what is no call", "\n <tool_call>a</tool_call>", Profile{TextCalls: Hermes, AnyTool: true}, "", "\n <tool_call>a</tool_call>", "", nil},
		{"thoughts", "<think>\na\n</think>\n\nb", Profile{ThinkTags: true}, "", "b", "a", nil},
		{"thoughts whose opening mark is in the prompt", "\na\n</think>\n\nb", Profile{ThinkOpen: true}, "", "b", "a", nil},
		{"an opening mark nevertheless", "<think>a</think>b", Profile{ThinkOpen: true}, "", "b", "a", nil},
		{"a call after thoughts whose opening mark is in the prompt", "a</think>" + hermes, Profile{ThinkOpen: true, TextCalls: Hermes, AnyTool: true}, "", "", "a", []string{`f{"q":"x"}`}},
		{"the closing mark alone is text", "a</think>b", Profile{ThinkTags: true}, "", "a</think>b", "", nil},
		{"white space before thoughts", "\n <think>a</think>b", Profile{ThinkTags: true}, "", "b", "a", nil},
		{"no thoughts in the tags", "<think>\n\n</think>\n\nb", Profile{ThinkTags: true}, "", "b", "", nil},
		{"thoughts that are not closed", "<think>a </thi", Profile{ThinkTags: true}, "length", "", "a </thi", nil},
		{"the tag in the middle is text", "see <think>a</think>", Profile{ThinkTags: true}, "", "see <think>a</think>", "", nil},
		{"another tag is text", "<thing>a", Profile{ThinkTags: true}, "", "<thing>a", "", nil},
		{"a cut tag is text", "<thin", Profile{ThinkTags: true}, "", "<thin", "", nil},
		{"hermes", hermes, Profile{TextCalls: Hermes}, "", "", "", []string{`f{"q":"x"}`}},
		{"hermes after thoughts", "<think>a</think>" + hermes, Profile{ThinkTags: true, TextCalls: Hermes}, "", "", "a", []string{`f{"q":"x"}`}},
		{"two calls on lines", hermes + "\n" + strings.Replace(hermes, "x", "y", 1) + "\n", Profile{TextCalls: Hermes}, "", "", "", []string{`f{"q":"x"}`, `f{"q":"y"}`}},
		{"text before and after", "Let me see.\n" + hermes + "\nWait.", Profile{TextCalls: Hermes}, "", "Let me see.\n\nWait.", "", []string{`f{"q":"x"}`}},
		{"arguments in a string", `<tool_call>{"name":"f","arguments":"{\"q\":\"x\"}"}</tool_call>`, Profile{TextCalls: Hermes}, "", "", "", []string{`f{"q":"x"}`}},
		{"no arguments", `<tool_call>{"name":"f"}</tool_call>`, Profile{TextCalls: Hermes}, "", "", "", []string{`f{}`}},
		{"the closing mark is lost", strings.TrimSuffix(hermes, "</tool_call>"), Profile{TextCalls: Hermes}, "", "", "", []string{`f{"q":"x"}`}},
		{"cut by the limit", strings.TrimSuffix(hermes, "</tool_call>"), Profile{TextCalls: Hermes}, "length", strings.TrimSuffix(hermes, "</tool_call>"), "", nil},
		{"a tool that was not offered", strings.Replace(hermes, `"f"`, `"g"`, 1), Profile{TextCalls: Hermes}, "", strings.Replace(hermes, `"f"`, `"g"`, 1), "", nil},
		{"talk about the mark", "Use <tool_call> tags like this.", Profile{TextCalls: Hermes}, "", "Use <tool_call> tags like this.", "", nil},
		{"talk about the mark, then a call", "A <tool_call> is " + hermes, Profile{TextCalls: Hermes}, "", "A <tool_call> is ", "", []string{`f{"q":"x"}`}},
		{"a block that is no call, then a call", "<tool_call>{oops}</tool_call>" + hermes, Profile{TextCalls: Hermes}, "", "<tool_call>{oops}</tool_call>", "", []string{`f{"q":"x"}`}},
		{"qwen", "<tool_call>\n<function=f>\n<parameter=q>\na\nb\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>", Profile{TextCalls: QwenCoder}, "", "", "", []string{`f{"q":"a\nb","n":5}`}},
		{"a slip that leaves nothing to guess", `<tool_call>{"name":"f","arguments":{"q":"x",}}</tool_call>`, Profile{TextCalls: Hermes}, "", "", "", []string{`f{"q":"x"}`}},
		{"a slip that would have to be guessed at", `<tool_call>{"name":"f","arguments":{q:x}}</tool_call>`, Profile{TextCalls: Hermes}, "", `<tool_call>{"name":"f","arguments":{q:x}}</tool_call>`, "", nil},
		{"qwen without the outer mark", "<function=f>\n<parameter=q>\nx\n</parameter>\n</function>", Profile{TextCalls: QwenCoder}, "", "", "", []string{`f{"q":"x"}`}},
		{"qwen, two functions", "<tool_call><function=f></function>\n<function=f><parameter=q>1</parameter></function></tool_call>", Profile{TextCalls: QwenCoder}, "", "", "", []string{`f{}`, `f{"q":1}`}},
		{"qwen without parameters", "<tool_call><function=f></function></tool_call>", Profile{TextCalls: QwenCoder}, "", "", "", []string{`f{}`}},
		{"glm", "<tool_call>f\n<arg_key>q</arg_key>\n<arg_value>x y</arg_value>\n<arg_key>u</arg_key><arg_value>[1]</arg_value></tool_call>", Profile{TextCalls: GLM}, "", "", "", []string{`f{"q":"x y","u":[1]}`}},
		{"glm without arguments", "<tool_call>f</tool_call>", Profile{TextCalls: GLM}, "", "", "", []string{`f{}`}},
		{"dsml", dsml(`<｜DSML｜parameter name="q" string="true">5</｜DSML｜parameter><｜DSML｜parameter name="n" string="false">5</｜DSML｜parameter>`), Profile{TextCalls: DSML}, "", "", "", []string{`f{"q":"5","n":5}`}},
		{"dsml with narrow bars", strings.ReplaceAll(dsml(`<｜DSML｜parameter name="q" string="true">x</｜DSML｜parameter>`), "｜", "|"), Profile{TextCalls: DSML}, "", "", "", []string{`f{"q":"x"}`}},
		{"dsml, two calls", strings.Replace(dsml(""), "</｜DSML｜tool_calls>", `<｜DSML｜invoke name="f"></｜DSML｜invoke></｜DSML｜tool_calls>`, 1), Profile{TextCalls: DSML}, "", "", "", []string{`f{}`, `f{}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1 << 20} {
				r, told := readText(t, tt.profile, []string{"f"}, tt.in, n, tt.finish)
				var calls []string
				for _, c := range r.Calls {
					calls = append(calls, c.Name+c.Arguments)
				}
				if r.Text != tt.text || told != tt.text || r.Reasoning != tt.reasoning {
					t.Errorf("in pieces of %d: text %q, told %q, reasoning %q", n, r.Text, told, r.Reasoning)
				}
				if diff := cmp.Diff(tt.calls, calls); diff != "" {
					t.Errorf("in pieces of %d: calls (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestWithoutOfferedToolsTextStaysText(t *testing.T) {
	const in = `<tool_call>{"name":"f","arguments":{}}</tool_call>`
	if r, _ := readText(t, Profile{TextCalls: Hermes}, nil, in, 5, ""); r.Text != in || len(r.Calls) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestOrdinaryTextIsNotHeldBack(t *testing.T) {
	a := newAssembler(Config{Profile: Profile{ThinkTags: true, TextCalls: DSML}}.withDefaults(), []ToolSpec{{Name: "f"}})
	var told string
	for _, piece := range []string{"He", "llo <b>you", "</b> < ", "<｜", "x"} {
		told = ""
		err := a.add(&chunk{Choices: choices{{Delta: &delta{Content: content{text: piece}}}}}, func(d Delta) error { told += d.Text; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"<｜": "", "x": "<｜x"}; told != piece && told != want[piece] {
			t.Errorf("%q: told %q", piece, told)
		}
	}
}

func TestACallInTheTextThatCameAsACallIsReadOnce(t *testing.T) {
	a := newAssembler(Config{Profile: Profile{TextCalls: Hermes}}.withDefaults(), []ToolSpec{{Name: "f"}})
	none := func(Delta) error { return nil }
	for _, frame := range []string{
		`{"choices":[{"delta":{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{\"q\": \"x\"}}</tool_call>"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"q\":\"x\"}"}}]}}]}`,
	} {
		c, err := parseChunk([]byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.add(c, none); err != nil {
			t.Fatal(err)
		}
	}
	r := a.response()
	if len(r.Calls) != 1 || r.Calls[0].ID != "c1" || len(r.Warnings) != 1 {
		t.Errorf("calls %+v, warnings %q", r.Calls, r.Warnings)
	}
}

func TestAFloodOfMarksIsReadInLinearTime(t *testing.T) {
	const size = 1 << 20
	for name, unit := range map[string]string{
		"opening marks": "<tool_call>{", "blocks": "<tool_call>{x}</tool_call>", "angles": "<", "marks and blanks": "<tool_call> \n",
	} {
		in := strings.Repeat(unit, size/len(unit))
		for _, n := range []int{64, size} { // a quadratic reader would run into the time limit of the test
			r, told := readText(t, Profile{TextCalls: Hermes}, []string{"f"}, in, n, "")
			if r.Text != in || told != in {
				t.Errorf("%s in pieces of %d: text of %d bytes", name, n, len(r.Text))
			}
		}
	}
}

func FuzzProse(f *testing.F) {
	for _, q := range corpusForFuzz(f) {
		if q.Profile.TextCalls != "" || q.Profile.ThinkTags {
			f.Add(q.Expect.Text, byte(3), byte(1))
		}
	}
	f.Add("<think>a</think> <tool_call>{\"name\":\"f\"}</tool_call>", byte(2), byte(0))
	f.Add("<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", byte(1), byte(2))
	f.Add("<tool_call><function=f><parameter=p>v</parameter></function></tool_call>", byte(1), byte(1))
	f.Add("<|DSML|tool_calls><|DSML|invoke name=\"f\"></|DSML|invoke></|DSML|tool_calls>", byte(1), byte(3))
	list := []Grammar{Hermes, QwenCoder, GLM, DSML}
	f.Fuzz(func(t *testing.T, in string, n, g byte) {
		p := Profile{ThinkTags: g&4 != 0, ThinkOpen: g&16 != 0, TextCalls: list[g%4], AnyTool: g&8 != 0}
		in = strings.ToValidUTF8(in, "?")
		cut, told := readText(t, p, []string{"f"}, in, int(n)+1, "")
		whole, _ := readText(t, p, []string{"f"}, in, len(in)+1, "")
		for i := range cut.Calls {
			cut.Calls[i].ID = ""
		}
		for i := range whole.Calls {
			whole.Calls[i].ID = ""
			if args := whole.Calls[i].Arguments; g%4 != 0 && !json.Valid([]byte(args)) {
				t.Fatalf("arguments %q", args)
			}
		}
		if diff := cmp.Diff(whole, cut); diff != "" || told != cut.Text {
			t.Fatalf("the text reads differently when it is cut:\n%s", diff)
		}
		if len(whole.Calls) == 0 && !p.ThinkTags && !p.ThinkOpen && whole.Text != in {
			t.Fatalf("%q became %q", in, whole.Text)
		}
	})
}

// A listener's error ends the reading at once.
func TestAReaderWhoStopsIsHeard(t *testing.T) {
	a := newAssembler(Config{Profile: Profile{ThinkTags: true, TextCalls: Hermes}}.withDefaults(), []ToolSpec{{Name: "f"}})
	stop := errors.New("enough")
	for _, in := range []string{"<think>a", "</think>b", `<tool_call>{"name":"f"}</tool_call>`} {
		err := a.add(&chunk{Choices: choices{{Delta: &delta{Content: content{text: in}}}}}, func(Delta) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("%q: error %v", in, err)
		}
	}
}
