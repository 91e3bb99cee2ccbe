package prompt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// round makes a round: the model's text and its calls, each "name" or
// "name=result".
func round(text string, calls ...string) Round {
	r := Round{Call: schema.ModelCall{Text: text, State: schema.ModelCallDone}}
	for i, c := range calls {
		name, text, _ := strings.Cut(c, "=")
		r.Tools = append(r.Tools, schema.ToolCall{
			ID: fmt.Sprintf("call_%d", i), ProviderCallID: fmt.Sprintf("p%d", i), Name: name, Arguments: `{"a":1}`,
			State: schema.CallDone, ModelText: text,
		})
	}
	return r
}

func changed(r Round, change func(*schema.ToolCall)) Round {
	change(&r.Tools[0])
	return r
}

func user(text string) schema.Message { return schema.Message{Role: schema.RoleUser, Content: text} }

func assistant(run, text string) schema.Message {
	return schema.Message{Role: schema.RoleAssistant, RunID: run, Content: text}
}

// transcript writes messages in short: "u:hi", "a:text+name#id{args}", "t#id:text".
func transcript(ms []provider.Message) string {
	var lines []string
	for _, m := range ms {
		line := string(m.Role[0]) + ":" + m.Content
		if m.Role == provider.RoleTool {
			line = "t#" + m.CallID + ":" + m.Content
		}
		for _, c := range m.Calls {
			line += "+" + c.Name + "#" + c.ID + c.Arguments
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestTheHistoryOfEveryEndOfARun(t *testing.T) {
	long := strings.Repeat("i", 65)
	cases := []struct {
		name   string
		branch []schema.Message
		rounds map[string][]Round
		want   []string
	}{
		{"nothing yet", []schema.Message{user("hi")}, nil, []string{"u:hi"}},
		{"a plain answer", []schema.Message{user("hi"), assistant("r", "hello"), user("and?")},
			map[string][]Round{"r": {round("hello")}}, []string{"u:hi", "a:hello", "u:and?"}},
		{"an answer after tools", []schema.Message{user("hi"), assistant("r", "found"), user("and?")},
			map[string][]Round{"r": {round("Looking.", "s=one", "f=two"), round("found")}},
			[]string{"u:hi", `a:Looking.+s#p0{"a":1}+f#p1{"a":1}`, "t#p0:one", "t#p1:two", "a:found", "u:and?"}},
		{"cancelled in the middle of its text", []schema.Message{user("hi"), assistant("r", "hel"), user("and?")},
			nil, []string{"u:hi", "a:hel", "u:and?"}},
		{"cancelled in the middle of the text after tools", []schema.Message{user("hi"), assistant("r", "fou"), user("and?")},
			map[string][]Round{"r": {round("Looking.", "s=one")}},
			[]string{"u:hi", `a:Looking.+s#p0{"a":1}`, "t#p0:one", "a:fou", "u:and?"}},
		{"cancelled between tools and answer", []schema.Message{user("hi"), assistant("r", "Looking."), user("and?")},
			map[string][]Round{"r": {round("Looking.", "s=one")}},
			[]string{"u:hi", `a:Looking.+s#p0{"a":1}`, "t#p0:one", "a:" + unfinished, "u:and?"}},
		{"cancelled while tools ran", []schema.Message{user("hi"), assistant("r", ""), user("and?")},
			map[string][]Round{"r": {changed(round("", "s"), func(c *schema.ToolCall) { c.State = schema.CallCancelled })}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, `t#p0:{"error":{"message":"The call was cancelled.","reason":"CANCELLED","retryable":false},"success":false}`, "a:" + unfinished, "u:and?"}},
		{"failed before anything", []schema.Message{user("hi"), assistant("r", ""), user("again")},
			nil, []string{"u:hi\n\nagain"}},
		{"failed three times before anything", []schema.Message{user("a"), assistant("r", ""), user("b"), assistant("q", ""), user("c")},
			nil, []string{"u:a\n\nb\n\nc"}},
		{"failed after tools", []schema.Message{user("hi"), assistant("r", ""), user("and?")},
			map[string][]Round{"r": {round("", "s=one")}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, "t#p0:one", "a:" + unfinished, "u:and?"}},
		{"an answer of nothing but white space", []schema.Message{user("hi"), assistant("r", " \n"), user("and?")},
			map[string][]Round{"r": {round(" \n")}}, []string{"u:hi\n\nand?"}},
		{"an answer of nothing after tools", []schema.Message{user("hi"), assistant("r", ""), user("and?")},
			map[string][]Round{"r": {round("", "s=one"), round("")}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, "t#p0:one", "a:" + unfinished, "u:and?"}},
		{"a call of which nobody knows the end", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {changed(round("", "s"), func(c *schema.ToolCall) { c.State = schema.CallUnknown }), round("x")}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, `t#p0:{"error":{"message":"What became of the call is not known.","reason":"OUTCOME_UNKNOWN","retryable":false},"success":false}`, "a:x"}},
		{"a call that was never made", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {changed(round("", "s"), func(c *schema.ToolCall) { c.State = schema.CallPlanned }), round("x")}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, `t#p0:{"error":{"message":"The call has no result.","reason":"NO_RESULT","retryable":false},"success":false}`, "a:x"}},
		{"an empty result", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {round("", "s= \n"), round("x")}},
			[]string{"u:hi", `a:+s#p0{"a":1}`, "t#p0:(The tool answered nothing.)", "a:x"}},
		{"calls with one id", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {{Tools: []schema.ToolCall{
				{ID: "call_a", ProviderCallID: "same", Name: "s", ModelText: "1"}, {ID: "call_b", ProviderCallID: "same", Name: "s", ModelText: "2"},
				{ID: "call_c", Name: "s", ModelText: "3"}, {ID: "call_d", ProviderCallID: long, Name: "s", ModelText: "4"},
			}}, round("x")}},
			[]string{"u:hi", "a:+s#same{}+s#call_b{}+s#call_c{}+s#" + long + "{}", "t#same:1", "t#call_b:2", "t#call_c:3", "t#" + long + ":4", "a:x"}},
		{"arguments that are no object", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {
				changed(round("", "s=1"), func(c *schema.ToolCall) { c.Arguments = `{"a":` }),
				changed(round("", "s=2"), func(c *schema.ToolCall) { c.Arguments, c.ArgsCanonical = `[1]`, `{"b":2}` }),
				changed(round("", "s=3"), func(c *schema.ToolCall) { c.Arguments = "null" }),
				changed(round("", "s=4"), func(c *schema.ToolCall) { c.Arguments, c.ArgsCanonical = "{ }", `{"c":3}` }),
				changed(round("", "s=5"), func(c *schema.ToolCall) { c.Arguments, c.ArgsCanonical = `{"a":1,"a":2}`, `{"a":3}` }),
				changed(round("", "s=6"), func(c *schema.ToolCall) { c.Arguments = `{"a":1,"a":2}` }),
				round("x")}},
			[]string{"u:hi", "a:+s#p0{}", "t#p0:1", `a:+s#p0{"b":2}`, "t#p0:2", "a:+s#p0{}", "t#p0:3", "a:+s#p0{ }", "t#p0:4",
				`a:+s#p0{"a":3}`, "t#p0:5", `a:+s#p0{"a":1,"a":2}`, "t#p0:6", "a:x"}},
		{"a call of a name that no tool can have", []schema.Message{user("hi"), assistant("r", "x")},
			map[string][]Round{"r": {round("", "functions.搜索/x=1", "=2", strings.Repeat("n", 70)+"=3"), round("x")}},
			[]string{"u:hi", `a:+functions____x#p0{"a":1}+unnamed#p1{"a":1}+` + strings.Repeat("n", 64) + `#p2{"a":1}`, "t#p0:1", "t#p1:2", "t#p2:3", "a:x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := History(c.branch, c.rounds, everywhere)
			if want := strings.Join(c.want, "\n"); transcript(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", transcript(got), want)
			}
			if err := strict(got); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnotherBranchHasItsOwnRounds(t *testing.T) {
	rounds := map[string][]Round{"r1": {round("first")}, "r2": {round("", "s=one"), round("second")}}
	question := user("hi")
	if got := transcript(History([]schema.Message{question, assistant("r2", "second")}, rounds, everywhere)); strings.Contains(got, "first") || !strings.Contains(got, "t#p0:one") {
		t.Errorf("got %s", got)
	}
}

func TestRoundsOfTheRunAtHandComeAfterTheQuestion(t *testing.T) {
	history := History([]schema.Message{user("a"), assistant("r", "b"), user("c")}, map[string][]Round{"r": {round("b")}}, everywhere)
	before := transcript(history)
	first := WithRounds(history, []Round{round("Looking.", "s=one")}, everywhere)
	second := WithRounds(history, []Round{round("Looking.", "s=one"), round("More.", "f=two")}, everywhere)
	if want := before + "\n" + `a:Looking.+s#p0{"a":1}` + "\nt#p0:one"; transcript(first) != want {
		t.Errorf("got %s", transcript(first))
	}
	if !strings.HasPrefix(transcript(second), transcript(first)) || transcript(history) != before {
		t.Error("a prompt was changed by the next one")
	}
}

func TestRoundsFindTheirTools(t *testing.T) {
	calls := []schema.ModelCall{{RunID: "a", Round: 1}, {RunID: "a", Round: 2}, {RunID: "b", Round: 1}}
	tools := []schema.ToolCall{{ID: "1", RunID: "a", Round: 1}, {ID: "2", RunID: "a", Round: 1}, {ID: "3", RunID: "b", Round: 1}, {ID: "4", RunID: "c", Round: 1}}
	got := ByRun(calls, tools)
	if len(got) != 2 || len(got["a"]) != 2 || len(got["a"][0].Tools) != 2 || got["a"][0].Tools[1].ID != "2" || len(got["a"][1].Tools) != 0 || got["b"][0].Tools[0].ID != "3" {
		t.Errorf("%+v", got)
	}
}

func TestRulesAndInstructionsDoNotShareAMessage(t *testing.T) {
	if got := System(" \n"); len(got) != 1 || got[0].Content != Rules || got[0].Role != provider.RoleSystem {
		t.Errorf("%+v", got)
	}
	if got := System("Speak like a pirate."); len(got) != 2 || got[0].Content != Rules || got[1].Content != "Speak like a pirate." || got[1].Role != provider.RoleSystem {
		t.Errorf("%+v", got)
	}
}

// everywhere says that every model is asked at one endpoint.
func everywhere(string) bool { return true }

func TestReasoningAndUnknownMembersGoBackToTheEndpointThatTheyCameFromAlone(t *testing.T) {
	thought := func(model string) Round {
		r := round("Looking.", "s=one")
		r.Call.Model, r.Call.Reasoning, r.Call.ReasoningField, r.Call.Extra = model, "hm", "reasoning_content", `{"reasoning_details":[1]}`
		r.Tools[0].Extra = `{"extra_content":{"google":{"thought_signature":"x"}}}`
		return r
	}
	own := func(model string) bool { return model == "here" || model == "here too" }
	history := History([]schema.Message{user("hi"), assistant("r", ""), user("on")}, map[string][]Round{"r": {thought("here"), thought("there")}}, own)
	history = WithRounds(history, []Round{thought("here too"), thought("gone from the configuration")}, own)
	for _, tc := range []struct {
		name string
		at   int
		kept bool
	}{
		{"an answer of the model that is asked", 1, true},
		{"an answer of a model at another endpoint", 3, false},
		{"a round of another model at the same endpoint", 7, true},
		{"a round of a model that nobody knows any more", 9, false},
	} {
		got := history[tc.at]
		want := provider.Message{Role: provider.RoleAssistant, Content: "Looking.", Calls: []provider.Call{{ID: "p0", Name: "s", Arguments: `{"a":1}`}}}
		if tc.kept {
			want.Reasoning, want.ReasoningField, want.Extra = "hm", "reasoning_content", json.RawMessage(`{"reasoning_details":[1]}`)
			want.Calls[0].Extra = json.RawMessage(`{"extra_content":{"google":{"thought_signature":"x"}}}`)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", tc.name, got, want)
		}
	}
	if err := strict(history); err != nil {
		t.Error(err)
	}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// strict is what the strictest providers demand of messages after the system's.
func strict(ms []provider.Message) error {
	var open []provider.Call // calls that wait for their results, in order
	for i, m := range ms {
		if len(open) > 0 {
			if m.Role != provider.RoleTool || m.CallID != open[0].ID || m.Name != open[0].Name {
				return fmt.Errorf("message %d: want the result of %s, got %s %s", i, open[0].ID, m.Role, m.CallID)
			}
			if strings.TrimSpace(m.Content) == "" {
				return fmt.Errorf("message %d: an empty result", i)
			}
			open = open[1:]
			continue
		}
		switch m.Role {
		case provider.RoleUser:
			if strings.TrimSpace(m.Content) == "" {
				return fmt.Errorf("message %d: an empty question", i)
			}
			if i > 0 && (ms[i-1].Role == provider.RoleUser || ms[i-1].Role == provider.RoleTool) {
				return fmt.Errorf("message %d: a user speaks after a %s", i, ms[i-1].Role)
			}
		case provider.RoleAssistant:
			if i == 0 {
				return fmt.Errorf("message 0: nobody asked")
			}
			if strings.TrimSpace(m.Content) == "" && len(m.Calls) == 0 {
				return fmt.Errorf("message %d: an empty answer", i)
			}
			ids := map[string]bool{}
			for _, c := range m.Calls {
				var args map[string]json.RawMessage
				if json.Unmarshal([]byte(c.Arguments), &args) != nil || args == nil {
					return fmt.Errorf("message %d: arguments %q", i, c.Arguments)
				}
				if !toolName.MatchString(c.Name) || c.ID == "" || ids[c.ID] {
					return fmt.Errorf("message %d: call %q of %q", i, c.ID, c.Name)
				}
				ids[c.ID] = true
			}
			open = m.Calls
		default:
			return fmt.Errorf("message %d: a %s out of place", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls without a result", len(open))
	}
	return nil
}

// pick is one of the values.
func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomRound is a round of any kind that may be stored.
func randomRound(r *rand.Rand, n *int) Round {
	out := Round{Call: schema.ModelCall{
		Model: pick(r, "here", "there"), Extra: pick(r, "", `{"x":1}`),
		Text: pick(r, "", "", " ", "Looking.", "纳米爪", strings.Repeat("long ", r.IntN(400))), Reasoning: pick(r, "", "hm"), ReasoningField: pick(r, "", "reasoning"),
	}}
	for range r.IntN(4) {
		*n++
		out.Tools = append(out.Tools, schema.ToolCall{
			ID: fmt.Sprintf("call_%d", *n), ProviderCallID: pick(r, "", "x", "y", fmt.Sprintf("p%d", *n), strings.Repeat("z", 90)),
			Name:          pick(r, "web_search", "a.b", "", "搜索", "\xff", strings.Repeat("n", 200)),
			Arguments:     pick(r, "", "{}", `{"a":"\u0000"}`, "null", "[1]", `{"a":`, "\xff", `"text"`),
			ArgsCanonical: pick(r, "", `{"b":2}`),
			Extra:         pick(r, "", `{"y":1}`),
			State:         pick(r, schema.CallPlanned, schema.CallDispatching, schema.CallDone, schema.CallDenied, schema.CallUnknown, schema.CallCancelled, "other"),
			ModelText:     pick(r, "", " ", "ok", strings.Repeat("结果", r.IntN(2000)), strings.Repeat("result ", r.IntN(2000))),
		})
	}
	return out
}

// randomConversation is a conversation whose runs ended in any way.
func randomConversation(r *rand.Rand) (branch []schema.Message, rounds map[string][]Round, live []Round) {
	rounds = map[string][]Round{}
	calls := 0
	for i := range r.IntN(6) {
		run := fmt.Sprintf("run%d", i)
		branch = append(branch, user(fmt.Sprintf("question %d", i)), assistant(run, pick(r, "", " ", "Looking.", "an answer", "纳米爪")))
		for range r.IntN(4) {
			rounds[run] = append(rounds[run], randomRound(r, &calls))
		}
	}
	for range r.IntN(3) {
		// the rounds of a run at hand have their results
		live = append(live, randomRound(r, &calls))
	}
	return append(branch, user("the last question")), rounds, live
}

func FuzzPromptsKeepTheRulesOfProviders(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, 2000)
	}
	f.Fuzz(func(t *testing.T, seed uint64, window int) {
		r := rand.New(rand.NewPCG(seed, 1))
		branch, rounds, live := randomConversation(r)
		history := History(branch, rounds, everywhere)
		if err := strict(history); err != nil {
			t.Fatalf("%v\n%s", err, transcript(history))
		}
		if last := history[len(history)-1]; last.Role != provider.RoleUser || !strings.HasSuffix(last.Content, "the last question") {
			t.Fatalf("the question is not last: %+v", last)
		}
		whole := WithRounds(history, live, everywhere)
		if err := strict(whole); err != nil {
			t.Fatalf("%v\n%s", err, transcript(whole))
		}
		checkOwn(t, branch, rounds, live, whole)
		checkFit(t, whole, r.IntN(500), window%20_000)
	})
}

// checkOwn compares the prompt for another endpoint with the one for the endpoint
// that all came from.
func checkOwn(t *testing.T, branch []schema.Message, rounds map[string][]Round, live []Round, whole []provider.Message) {
	t.Helper()
	bare := func(model string) bool { return false }
	got := WithRounds(History(branch, rounds, bare), live, bare)
	if transcript(got) != transcript(whole) {
		t.Fatalf("another endpoint is told\n%s\nnot\n%s", transcript(got), transcript(whole))
	}
	for i, m := range got {
		if m.Reasoning != "" || m.ReasoningField != "" || m.Extra != nil {
			t.Errorf("message %d tells another endpoint %+v", i, m)
		}
		for _, c := range m.Calls {
			if c.Extra != nil {
				t.Errorf("message %d tells another endpoint the members %s of a call", i, c.Extra)
			}
		}
	}
}

// checkFit holds Fit to its promises.
func checkFit(t *testing.T, whole []provider.Message, fixed, window int) {
	t.Helper()
	before := transcript(whole)
	got, cut := Fit(whole, fixed, window)
	if transcript(whole) != before {
		t.Fatal("Fit changed what it was given")
	}
	if err := strict(got); err != nil {
		t.Fatalf("%v\n%s", err, transcript(got))
	}
	if changed := transcript(got) != before; changed != cut {
		t.Fatalf("cut is %t, changed %t", cut, changed)
	}
	size := func(ms []provider.Message) (n int) {
		for _, m := range ms {
			n += Tokens(m)
		}
		return n
	}
	budget := window*fitPercent/100 - fixed
	if cut && size(got) >= size(whole) {
		t.Errorf("cutting made %d of %d tokens", size(got), size(whole))
	}
	lastTurn := whole[newest(whole, provider.RoleUser, 1):]
	gotTurn := got[newest(got, provider.RoleUser, 1):]
	if len(gotTurn) != len(lastTurn) || gotTurn[0].Content != lastTurn[0].Content {
		t.Fatal("the last turn did not stay")
	}
	if window > 0 && size(got) > budget {
		// Only what must stay may be too much: the last turn, with its old
		// results left out.
		if len(got) != len(gotTurn) {
			t.Errorf("%d tokens of %d, and there is an old turn", size(got), budget)
		}
		for i, m := range gotTurn[:newest(gotTurn, provider.RoleAssistant, 1)] {
			if m.Role == provider.RoleTool && len(m.Content) > smallResult {
				t.Errorf("%d tokens of %d, and result %d is whole", size(got), budget, i)
			}
		}
	}
	again, more := Fit(got, fixed, window)
	if more || transcript(again) != transcript(got) {
		t.Error("fitting twice is not fitting once")
	}
}
