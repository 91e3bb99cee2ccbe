package modelcheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// hermesText writes the calls of a case as Hermes models do.
func hermesText(c Case) string {
	var out strings.Builder
	for _, w := range c.Want {
		fmt.Fprintf(&out, "<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>\n", w.Tool, w.Arguments)
	}
	return out.String()
}

func qwenText(Case) string {
	return "<tool_call>\n<function=set>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>"
}

func glmText(Case) string {
	return "<tool_call>set\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n</tool_call>"
}

func dsmlText(Case) string {
	return "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"set\">\n<｜DSML｜parameter name=\"n\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>"
}

func TestSettingsAreSuggestedByWhatTheAnswersShow(t *testing.T) {
	plain := Settings{"plain", "native"}
	text := func(write func(Case) string) func(Case) Answer {
		return func(c Case) Answer {
			return Answer{Response: provider.Response{Text: write(c), Finish: provider.FinishStop}}
		}
	}
	refuse := func(detail string) func(Case) Answer {
		return func(Case) Answer {
			return Answer{Err: &provider.Error{Kind: provider.KindBadRequest, Detail: detail, Message: detail}}
		}
	}
	for _, tc := range []struct {
		name    string
		current Settings
		answer  func(Case) Answer
		want    *Suggestion
	}{
		{"all is well", plain, perfect, nil},
		{"calls as Hermes writes them", plain, text(hermesText), &Suggestion{Settings{"hermes", "native"}, "in 4 of 4 answers without a call the calls stand in the text, in a form that this profile reads", true}},
		{"calls as Qwen-Coder writes them", plain, text(qwenText), &Suggestion{Settings{"qwen-coder", "native"}, "in 4 of 4 answers without a call the calls stand in the text, in a form that this profile reads", true}},
		{"calls as GLM writes them", plain, text(glmText), &Suggestion{Settings{"glm", "native"}, "in 4 of 4 answers without a call the calls stand in the text, in a form that this profile reads", true}},
		{"calls as DeepSeek writes them", plain, text(dsmlText), &Suggestion{Settings{"deepseek", "native"}, "in 4 of 4 answers without a call the calls stand in the text, in a form that this profile reads", true}},
		{"thoughts in the text of calls that are read", plain, func(c Case) Answer {
			a := perfect(c)
			a.Response.Text = "<think>hm</think>I call it."
			return a
		}, &Suggestion{Settings{"think-tags", "native"}, "4 of 4 texts begin with <think>, which this profile reads as thinking", false}},
		{"thoughts whose opening mark is in the prompt", plain, func(c Case) Answer {
			a := perfect(c)
			a.Response.Text = "hm</think>I call it."
			return a
		}, &Suggestion{Settings{"think-open", "native"}, "4 of 4 texts hold </think> without <think>, which this profile reads as the end of thinking", false}},
		{"words alone", plain, text(func(Case) string { return "I cannot do that." }), &Suggestion{Settings{"plain", "prompted"}, "no tool was called in 4 rounds that asked for it", true}},
		{"an endpoint without tools", plain, refuse("registry.ollama.ai/library/gemma:7b does not support tools"), &Suggestion{Settings{"plain", "prompted"}, "the endpoint says that it takes no tools for this model", true}},
		{"an endpoint that wants its own ids", plain, refuse("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."), &Suggestion{Settings{"mistral", "native"}, "the endpoint refused the ids of calls in the history in 4 rounds, as that of Mistral does", true}},
		{"another refusal", plain, refuse("no"), nil},
		{"words alone, prompted already", Settings{"plain", "prompted"}, text(func(Case) string { return "no" }), nil},
		{"an endpoint that wants its own ids, as configured", Settings{"mistral", "native"}, refuse("Tool call id must be of length 9"), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var results []Result
			for range 4 {
				c := one(t)
				results = append(results, Judge(c, tc.answer(c)))
			}
			var want []Suggestion
			if tc.want != nil {
				want = append(want, *tc.want)
			}
			if diff := cmp.Diff(want, Suggest(tc.current, results)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestTwoRoundsWithoutACallSayNothing(t *testing.T) {
	c := one(t)
	r := Judge(c, Answer{Response: provider.Response{Text: "no"}})
	if s := Suggest(Settings{"plain", "native"}, []Result{r, r}); len(s) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestASettingIsRecommendedWhenItDoesBetter(t *testing.T) {
	plain := Settings{"plain", "native"}
	hermes := Suggestion{Settings{"hermes", "native"}, "calls stand in the text", true}
	sum := func(passed, of int) Summary {
		return Summary{Total: Tally{Passed: Count{passed, of}, Called: Count{passed, of}}}
	}
	think := Suggestion{Settings{"think-tags", "native"}, "texts begin with <think>", false}
	for _, tc := range []struct {
		name  string
		all   Summary
		s     []Suggestion
		trial *Trial
		want  Recommendation
	}{
		{"nothing speaks for another", sum(49, 50), nil, nil,
			Recommendation{plain, false, "49 of 50 rounds passed, and nothing in the answers speaks for another setting", []string{}}},
		{"nothing was asked", sum(0, 0), nil, nil, Recommendation{plain, false, "no round was finished, so nothing can be said", []string{}}},
		{"nothing was answered", Summary{Total: Tally{Passed: Count{0, 3}}, Failures: []Failures{{"server", 3, "down"}}}, nil, nil,
			Recommendation{plain, false, "no call was answered, so nothing can be said of the model", []string{}}},
		{"a trial that does better", sum(2, 50), []Suggestion{hermes}, &Trial{sum(0, 6), sum(5, 6)},
			Recommendation{hermes.Settings, true, "calls stand in the text; with profile: hermes 5 of 6 rounds passed, without 0 of 6", []string{}}},
		{"a trial that does better than nothing", Summary{Total: Tally{Passed: Count{0, 3}}}, []Suggestion{hermes}, &Trial{sum(0, 0), sum(1, 6)},
			Recommendation{hermes.Settings, true, "calls stand in the text; with profile: hermes 1 of 6 rounds passed, without 0 of 0", []string{}}},
		{"a trial that does no better", sum(2, 50), []Suggestion{hermes}, &Trial{sum(3, 6), sum(3, 6)},
			Recommendation{plain, false, "calls stand in the text, but with profile: hermes no more passed (3 of 6)", []string{}}},
		{"a model that calls nothing in any way", sum(0, 50), []Suggestion{{Settings{"plain", "prompted"}, "no tool was called in 50 rounds that asked for it", true}}, &Trial{sum(0, 6), sum(0, 6)},
			Recommendation{plain, false, "no tool was called in 50 rounds that asked for it, but with tool_mode: prompted no more passed (0 of 6)",
				[]string{"The model calls no tools in either way: choose another one for everything that needs them."}}},
		{"a trial that was interrupted", sum(0, 50), []Suggestion{hermes}, nil,
			Recommendation{plain, false, "calls stand in the text, but that was not tried: profile: hermes may do better", []string{}}},
		{"what needs no trial", sum(50, 50), []Suggestion{think}, nil,
			Recommendation{Settings{"think-tags", "native"}, true, "texts begin with <think>", []string{}}},
		{"a trial that does no better, and what needs none", sum(50, 50), []Suggestion{hermes, think}, &Trial{sum(6, 6), sum(6, 6)},
			Recommendation{Settings{"think-tags", "native"}, true, "texts begin with <think>", []string{}}},
		{"only one is tried", sum(0, 50), []Suggestion{hermes, {Settings{"plain", "prompted"}, "no tool was called", true}}, &Trial{sum(0, 6), sum(0, 6)},
			Recommendation{plain, false, "calls stand in the text, but with profile: hermes no more passed (0 of 6)", []string{"The model calls no tools in either way: choose another one for everything that needs them."}}},
		{"advice for everything else", Summary{
			Total: Tally{Passed: Count{1, 9}, Repaired: Count{2, 8}, Unreadable: Count{1, 8}}, Parallel: Count{0, 2}, Needless: Count{1, 2}, Cut: Count{3, 9},
			Failures: []Failures{{"rate_limited", 2, "slow down"}},
		}, nil, nil, Recommendation{plain, false, "1 of 9 rounds passed, and nothing in the answers speaks for another setting", []string{
			"3 of 9 answers reached the limit of tokens: raise runs.max_tokens (here --max-tokens), or set thinking: off where the model thinks for long.",
			"The arguments of 1 of 8 calls cannot be read; a run asks the model once to correct such a call.",
			"The arguments of 2 of 8 calls are no exact JSON and were repaired, as in a run; tools that change something take only repairs that guess at nothing.",
			"It makes one call at a time: that works, with more rounds.",
			"It called a tool in 1 of 2 rounds that needed none.",
			"2 calls were refused as too many; runs wait and ask again.",
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(plain, tc.all, tc.s, tc.trial)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
