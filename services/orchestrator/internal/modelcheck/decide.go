package modelcheck

import (
	"fmt"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// Recommendation is what to configure for a model.
type Recommendation struct {
	Settings
	// Change says that this is not what is configured.
	Change bool `json:"change"`
	// Reason is what the rounds show.
	Reason string `json:"reason"`
	// Advice is what else they show that somebody can do something about.
	Advice []string `json:"advice"`
}

// Trial is how some cases went with other settings, and how the same ones went
// before; nil where that is not known.
type Trial struct{ Before, After Summary }

// Decide chooses between the current settings and what was suggested. trial is
// that of the first suggestion which asks for one; nil when it was not tried.
func Decide(current Settings, all Summary, suggestions []Suggestion, trial *Trial) Recommendation {
	r := Recommendation{Settings: current, Advice: advice(all)}
	switch {
	case all.Total.Passed.Of == 0:
		r.Reason = "no round was finished, so nothing can be said"
	case answered(all) == 0:
		r.Reason = "no call was answered, so nothing can be said of the model"
	default:
		r.Reason = fmt.Sprintf("%s passed, and nothing in the answers speaks for another setting", all.Total.Passed.words())
	}
	tried := false
	for i, s := range suggestions {
		take, reason := true, s.Reason
		if s.Trial {
			if tried {
				continue
			}
			take, reason = judgeTrial(current, s, trial)
			tried = true
		}
		if take || i == 0 {
			r.Reason = reason
		}
		if take {
			r.Settings, r.Change = s.Settings, true
			return r
		}
	}
	if tried && trial != nil && all.Total.Called.N == 0 && trial.After.Total.Called.N == 0 {
		r.Advice = append(r.Advice, "The model calls no tools in either way: choose another one for everything that needs them.")
	}
	return r
}

// judgeTrial says whether a trial speaks for its settings, and why.
func judgeTrial(current Settings, s Suggestion, trial *Trial) (better bool, reason string) {
	if trial == nil {
		return false, fmt.Sprintf("%s, but that was not tried: %s may do better", s.Reason, differs(current, s.Settings))
	}
	before, after := trial.Before.Total.Passed, trial.After.Total.Passed
	if after.better(before) {
		return true, fmt.Sprintf("%s; with %s %s passed, without %d of %d", s.Reason, differs(current, s.Settings), after.words(), before.N, before.Of)
	}
	return false, fmt.Sprintf("%s, but with %s no more passed (%d of %d)", s.Reason, differs(current, s.Settings), after.N, after.Of)
}

// answered is how many rounds had an answer.
func answered(s Summary) int {
	n := s.Total.Passed.Of
	for _, f := range s.Failures {
		n -= f.Count
	}
	return n
}

// better compares shares, one of none being the least.
func (c Count) better(other Count) bool {
	return c.Of > 0 && c.N*max(other.Of, 1) > other.N*c.Of
}

// words are "3 of 6 rounds".
func (c Count) words() string { return fmt.Sprintf("%d of %s", c.N, rounds(c.Of)) }

// differs names what other settings change.
func differs(from, to Settings) string {
	var parts []string
	if to.Profile != from.Profile {
		parts = append(parts, "profile: "+to.Profile)
	}
	if to.ToolMode != from.ToolMode {
		parts = append(parts, "tool_mode: "+to.ToolMode)
	}
	return strings.Join(parts, " and ")
}

// advice is what the figures say to somebody who has to live with them.
func advice(s Summary) []string {
	out := []string{}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if s.Cut.N > 0 {
		say("%d of %d answers reached the limit of tokens: raise runs.max_tokens (here --max-tokens), or set thinking: off where the model thinks for long.", s.Cut.N, s.Cut.Of)
	}
	if s.Total.Unreadable.N > 0 {
		say("The arguments of %d of %d calls cannot be read; a run asks the model once to correct such a call.", s.Total.Unreadable.N, s.Total.Unreadable.Of)
	}
	if s.Total.Repaired.N > 0 {
		say("The arguments of %d of %d calls are no exact JSON and were repaired, as in a run; tools that change something take only repairs that guess at nothing.", s.Total.Repaired.N, s.Total.Repaired.Of)
	}
	if s.Parallel.Of > 0 && s.Parallel.N == 0 {
		say("It makes one call at a time: that works, with more rounds.")
	}
	if s.Needless.N > 0 {
		say("It called a tool in %d of %d rounds that needed none.", s.Needless.N, s.Needless.Of)
	}
	for _, f := range s.Failures {
		if f.Kind == string(provider.KindRateLimited) {
			say("%d calls were refused as too many; runs wait and ask again.", f.Count)
		}
	}
	return out
}
