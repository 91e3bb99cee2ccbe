package modelcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

const (
	// enoughToTell rounds without any call say that a model calls no tools.
	enoughToTell = 3

	mistralProfile   = "mistral"
	thinkTagsProfile = "think-tags"
	thinkOpenProfile = "think-open"
)

// Settings are what can be configured of how a model is asked.
type Settings struct {
	Profile  string `json:"profile"`
	ToolMode string `json:"tool_mode"`
}

// Suggestion is a setting with which a model may do better.
type Suggestion struct {
	Settings
	// Reason is what in the answers speaks for it.
	Reason string
	// Trial says that only a trial can show whether it is better. Without it the
	// answers show it already.
	Trial bool
}

// Suggest looks in the answers for signs that other settings would do better than
// the current ones. What speaks most for itself stands first.
func Suggest(current Settings, results []Result) []Suggestion {
	var all []Suggestion
	for _, look := range []func(Settings, []Result) *Suggestion{refusedIDs, callsInText, noCalls, thoughtsInText} {
		if s := look(current, results); s != nil && s.Settings != current {
			all = append(all, *s)
		}
	}
	return all
}

func refusedIDs(current Settings, results []Result) *Suggestion {
	n := 0
	for _, r := range results {
		if e := r.Failure(); e != nil && e.RefusesIDs() {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &Suggestion{
		Settings: Settings{mistralProfile, current.ToolMode}, Trial: true,
		Reason: fmt.Sprintf("the endpoint refused the ids of calls in the history in %s, as that of Mistral does", rounds(n)),
	}
}

// callsInText finds the profile that reads the most calls in answers that had none.
func callsInText(current Settings, results []Result) *Suggestion {
	if current.ToolMode == string(provider.ToolsPrompted) {
		return nil // its calls are in the text, and read
	}
	best, most, answers := "", 0, 0
	for _, r := range results {
		if silent(r) {
			answers++
		}
	}
	for _, name := range provider.ProfileNames() {
		p, err := provider.NamedProfile(name, "")
		if err != nil || p.TextCalls == "" {
			continue
		}
		n := 0
		for _, r := range results {
			if silent(r) {
				if calls, _ := reread(r.Answer.Response.Text, p, r.Case.Request.Tools); calls > 0 {
					n++
				}
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	if most == 0 {
		return nil
	}
	return &Suggestion{
		Settings: Settings{best, current.ToolMode}, Trial: true,
		Reason: fmt.Sprintf("in %d of %d answers without a call the calls stand in the text, in a form that this profile reads", most, answers),
	}
}

// silent says that a call was wanted and text came instead.
func silent(r Result) bool {
	return r.Answer.Err == nil && len(r.Case.Want) > 0 && len(r.Calls) == 0 && r.Answer.Response.Text != ""
}

// noCalls finds that a model gets no tools by the protocol, or makes nothing of
// them.
func noCalls(current Settings, results []Result) *Suggestion {
	if current.ToolMode == string(provider.ToolsPrompted) {
		return nil
	}
	refused, asked, called := 0, 0, 0
	for _, r := range results {
		if e := r.Failure(); e != nil && e.RefusesTools() {
			refused++
		}
		if r.Answer.Err == nil && len(r.Case.Want) > 0 {
			asked++
			called += min(1, len(r.Calls))
		}
	}
	s := &Suggestion{Settings: Settings{current.Profile, string(provider.ToolsPrompted)}, Trial: true}
	switch {
	case refused > 0 && called == 0:
		s.Reason = "the endpoint says that it takes no tools for this model"
	case asked >= enoughToTell && called == 0 && callsInText(current, results) == nil:
		s.Reason = fmt.Sprintf("no tool was called in %s that asked for it", rounds(asked))
	default:
		return nil
	}
	return s
}

// thoughtsInText finds thoughts that stand in the text as if they were the answer.
func thoughtsInText(current Settings, results []Result) *Suggestion {
	p, err := provider.NamedProfile(thinkTagsProfile, "")
	if err != nil {
		return nil
	}
	n, open, answers := 0, 0, 0
	for _, r := range results {
		text := r.Answer.Response.Text
		if r.Answer.Err != nil || text == "" {
			continue
		}
		answers++
		if _, thoughts := reread(text, p, nil); thoughts {
			n++
		} else if strings.Contains(text, "</think>") && !strings.Contains(text, "<think>") {
			open++
		}
	}
	switch {
	case n == 0 && open == 0:
		return nil
	case open > n:
		return &Suggestion{
			Settings: Settings{thinkOpenProfile, current.ToolMode},
			Reason:   fmt.Sprintf("%d of %d texts hold </think> without <think>, which this profile reads as the end of thinking", open, answers),
		}
	}
	return &Suggestion{
		Settings: Settings{thinkTagsProfile, current.ToolMode},
		Reason:   fmt.Sprintf("%d of %d texts begin with <think>, which this profile reads as thinking", n, answers),
	}
}

// Retry chooses at most n cases with which to try other settings: those that did
// not pass first, then others, all of them such as want calls.
func Retry(cases []Case, results []Result, n int) []Case {
	var failed, rest []Case
	for i, c := range cases {
		switch {
		case len(c.Want) == 0:
		case i < len(results) && !results[i].Passed:
			failed = append(failed, c)
		default:
			rest = append(rest, c)
		}
	}
	all := append(failed, rest...)
	return all[:min(n, len(all))]
}

// Of are the results of some cases, where there are any.
func Of(cases []Case, results []Result) []Result {
	var of []Result
	for _, r := range results {
		if slices.ContainsFunc(cases, func(c Case) bool { return c.Nth == r.Case.Nth }) {
			of = append(of, r)
		}
	}
	return of
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}
