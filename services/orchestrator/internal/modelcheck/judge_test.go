package modelcheck

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

func call(name, arguments string) provider.Call {
	return provider.Call{Name: name, Arguments: arguments}
}

func TestAnswersAreJudgedByWhatWasAskedFor(t *testing.T) {
	const good = `{"n":5,"s":"it's \"so\""}`
	for _, tc := range []struct {
		name   string
		calls  []provider.Call
		finish provider.Finish
		want   []JudgedCall
		passed bool
		why    string
	}{
		{"exactly", []provider.Call{call("set", good)}, "", []JudgedCall{{Parse: ParseExact, Known: true, Valid: true, Right: true}}, true, ""},
		{"in another order and notation", []provider.Call{call("set", ` {"s":"it\u0027s \"so\"", "n":5.0} `)}, "", []JudgedCall{{Parse: ParseExact, Known: true, Valid: true, Right: true}}, true, ""},
		{"in a code fence", []provider.Call{call("set", "```json\n"+good+"\n```")}, "",
			[]JudgedCall{{Parse: ParseRepaired, Mended: []string{"code fence removed"}, Known: true, Valid: true, Right: true}}, true, ""},
		{"with a number as text", []provider.Call{call("set", `{"n":"5","s":"it's \"so\""}`)}, "",
			[]JudgedCall{{Parse: ParseExact, Mended: []string{"a value read as an integer"}, Known: true, Valid: true, Right: true}}, true, ""},
		{"with another value", []provider.Call{call("set", `{"n":6,"s":"it's \"so\""}`)}, "", []JudgedCall{{Parse: ParseExact, Known: true, Valid: true}}, false, "another call than the one asked for, or with other values"},
		{"with a property missing", []provider.Call{call("set", `{"n":5}`)}, "", []JudgedCall{{Parse: ParseExact, Known: true}}, false, "the arguments do not fit the schema"},
		{"not to be read", []provider.Call{call("set", `{"n":5,"n":6}`)}, "", []JudgedCall{{Parse: ParseFailed, Known: true}}, false, "the arguments cannot be read"},
		{"of a tool that nobody has", []provider.Call{call("get", `{}`)}, "", []JudgedCall{{Parse: ParseExact}}, false, "a tool was called that was not offered"},
		{"twice", []provider.Call{call("set", good), call("set", good)}, "",
			[]JudgedCall{{Parse: ParseExact, Known: true, Valid: true, Right: true}, {Parse: ParseExact, Known: true, Valid: true}}, false, "another call than the one asked for, or with other values"},
		{"in words alone", nil, provider.FinishStop, nil, false, "no tool was called"},
		{"cut by the limit of tokens", nil, provider.FinishLength, nil, false, "the limit of tokens ended the answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Judge(one(t), Answer{Response: provider.Response{Calls: tc.calls, Finish: tc.finish}})
			if diff := cmp.Diff(tc.want, r.Calls); diff != "" || r.Passed != tc.passed || r.Why() != tc.why || r.Cut != (tc.finish == provider.FinishLength) {
				t.Errorf("passed %v, cut %v, %q, -want +got\n%s", r.Passed, r.Cut, r.Why(), diff)
			}
		})
	}
}

func TestAQuestionWithoutAToolPassesWithoutACall(t *testing.T) {
	c := one(t)
	c.Kind, c.Want = NoTool, nil
	if r := Judge(c, Answer{Response: provider.Response{Text: "4"}}); !r.Passed {
		t.Error("an answer in words did not pass")
	}
	if r := Judge(c, Answer{Response: provider.Response{Calls: []provider.Call{call("set", `{"n":1,"s":""}`)}}}); r.Passed || r.Why() != "a tool was called, and none was needed" {
		t.Error("a needless call passed")
	}
}

func TestWhyARoundDidNotPass(t *testing.T) {
	c := one(t)
	c.Want = append(c.Want, Wanted{"set", `{"n":1,"s":"a"}`})
	if why := Judge(c, Answer{Response: provider.Response{Calls: []provider.Call{call("set", c.Want[1].Arguments)}}}).Why(); why != "1 of 2 calls that were asked for" {
		t.Error(why)
	}
	e := &provider.Error{Kind: provider.KindServer, Message: "down. Wait", Hint: "Wait"}
	if why := Judge(c, Answer{Err: e}).Why(); why != "down" {
		t.Error(why)
	}
}

func TestWhatAllRoundsAddUpTo(t *testing.T) {
	c, parallel, none := one(t), one(t), one(t)
	parallel.Kind, parallel.Want = Parallel, []Wanted{{"set", `{"n":1,"s":"a"}`}, {"set", `{"n":2,"s":"b"}`}}
	none.Kind, none.Want = NoTool, nil
	usage := provider.Usage{InputTokens: 100, OutputTokens: 10}
	answer := func(ms int, fragments int, calls ...provider.Call) Answer {
		return Answer{Response: provider.Response{Calls: calls, Usage: usage}, Fragments: fragments, First: time.Duration(ms) * time.Millisecond / 2, Took: time.Duration(ms) * time.Millisecond}
	}
	down := Answer{Err: &provider.Error{Kind: provider.KindServer, Message: "down"}}
	cut := answer(100, 0)
	cut.Response.Finish, cut.Response.Usage.Estimated = provider.FinishLength, true
	var results []Result
	for _, r := range []struct {
		c Case
		a Answer
	}{
		{c, answer(10, 4, call("set", c.Want[0].Arguments))},
		{c, answer(20, 1, call("set", "```\n"+c.Want[0].Arguments+"\n```"))},
		{c, answer(30, 1, call("set", `{"n":`))},
		{c, answer(40, 0)},
		{c, cut},
		{c, down},
		{c, down},
		{c, Answer{Err: errors.New("strange")}},
		{parallel, answer(50, 2, call("set", `{"n":2,"s":"b"}`), call("set", `{"n":1,"s":"a"}`))},
		{parallel, answer(60, 2, call("set", `{"n":1,"s":"a"}`))},
		{none, answer(70, 0)},
		{none, answer(80, 1, call("set", `{"n":1,"s":"a"}`))},
	} {
		results = append(results, Judge(r.c, r.a))
	}
	got := Summarize(results)
	want := Summary{
		Total: Tally{
			Passed: Count{4, 12}, Called: Count{5, 7}, Exact: Count{5, 7}, Repaired: Count{1, 7}, Unreadable: Count{1, 7}, Valid: Count{6, 7}, Right: Count{5, 9},
		},
		Kinds: []Tally{
			{Kind: Flat, Passed: Count{2, 8}, Called: Count{3, 5}, Exact: Count{1, 3}, Repaired: Count{1, 3}, Unreadable: Count{1, 3}, Valid: Count{2, 3}, Right: Count{2, 5}},
			{Kind: Parallel, Passed: Count{1, 2}, Called: Count{2, 2}, Exact: Count{3, 3}, Repaired: Count{0, 3}, Unreadable: Count{0, 3}, Valid: Count{3, 3}, Right: Count{3, 4}},
			{Kind: NoTool, Passed: Count{1, 2}, Exact: Count{1, 1}, Repaired: Count{0, 1}, Unreadable: Count{0, 1}, Valid: Count{1, 1}},
		},
		Parallel: Count{1, 2}, Needless: Count{1, 2}, Streamed: Count{3, 6}, Cut: Count{1, 9},
		FirstToken: Quantiles{25, 50}, Latency: Quantiles{50, 100},
		InputTokens: 900, OutputTokens: 90, Estimated: true,
		Repairs:  []Mended{{"code fence removed", 1}},
		Failures: []Failures{{"server", 2, "down"}, {"malformed", 1, "strange"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestQuantilesOfFewTimes(t *testing.T) {
	ms := func(n ...int) []time.Duration {
		var out []time.Duration
		for _, v := range n {
			out = append(out, time.Duration(v)*time.Millisecond)
		}
		return out
	}
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	for _, tc := range []struct {
		name  string
		times []time.Duration
		want  Quantiles
	}{
		{"none", nil, Quantiles{}},
		{"one", ms(7), Quantiles{7, 7}},
		{"two", ms(9, 1), Quantiles{1, 9}},
		{"three", ms(3, 1, 2), Quantiles{2, 3}},
		{"a hundred", ms(hundred...), Quantiles{50, 95}},
	} {
		if got := quantiles(tc.times); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
