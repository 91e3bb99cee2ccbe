package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/modelcheck"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// Limits of a stress test.
const (
	DefaultStressRounds = 50
	MaxStressRounds     = 500
	// stressTrials is how many rounds show whether other settings do better.
	stressTrials = 6
)

// Types of a stress test's report.
type (
	StressSummary        = modelcheck.Summary
	StressTally          = modelcheck.Tally
	StressCount          = modelcheck.Count
	StressRecommendation = modelcheck.Recommendation
)

// StressOptions are what a stress test can be told.
type StressOptions struct {
	// Rounds are model calls, 1 to MaxStressRounds; 0: DefaultStressRounds.
	Rounds int
	// Seed makes the cases: the same seed, the same cases.
	Seed uint64
	// MaxTokens of one answer; 0: that of runs by default.
	MaxTokens int
	// Progress is told how it goes; nil: nobody is.
	Progress func(StressProgress)
}

// withDefaults fills what was left zero, or says what cannot be.
func (o StressOptions) withDefaults() (StressOptions, error) {
	o.Rounds, o.MaxTokens = cmp.Or(o.Rounds, DefaultStressRounds), cmp.Or(o.MaxTokens, DefaultConfig().Runs.MaxTokens)
	switch {
	case o.Rounds < 1 || o.Rounds > MaxStressRounds:
		return o, fmt.Errorf("rounds: %d is not between 1 and %d", o.Rounds, MaxStressRounds)
	case o.MaxTokens < 1:
		return o, fmt.Errorf("max_tokens: %d is too low; at least 1", o.MaxTokens)
	}
	if o.Progress == nil {
		o.Progress = func(StressProgress) {}
	}
	return o, nil
}

// StressPlan is what a stress test will ask of a model, before it does.
type StressPlan struct {
	// Calls are made for certain, unless it stops early; Trials more where the
	// answers speak for another setting.
	Calls  int `json:"calls"`
	Trials int `json:"trials"`
	// InputTokens of all these, estimated; OutputTokens is the most that they may
	// be answered with.
	InputTokens  int `json:"input_tokens_estimated"`
	OutputTokens int `json:"output_tokens_at_most"`
	// Kinds of cases, in the order in which they are asked.
	Kinds []string `json:"kinds"`
}

// StressProgress is one step of a stress test.
type StressProgress struct {
	// Trial says that this is a round with other settings.
	Trial bool
	// Round is the number of rounds done, of Rounds.
	Round, Rounds int
	// Kind is that of the round just done, and Problem why it did not pass; both
	// are empty before a wait, Problem also of a round that passed.
	Kind, Problem string
	// Wait is how long the provider asked to wait before the next call.
	Wait time.Duration
}

// StressReport is what a stress test has found. With its seed and the number of
// rounds the same questions can be asked again.
type StressReport struct {
	Model    string `json:"model"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Profile  string `json:"profile"`
	// ProfileFrom is as in ListModels.
	ProfileFrom string `json:"profile_from"`
	ToolMode    string `json:"tool_mode"`
	Seed        uint64 `json:"seed,string"` // a double does not hold it
	// Rounds were asked for; Asked were done.
	Rounds int `json:"rounds"`
	Asked  int `json:"asked"`
	// Stopped says why it stopped early; empty when it did not.
	Stopped string `json:"stopped,omitempty"`
	StressSummary
	Recommendation StressRecommendation `json:"recommendation"`
	// Misses are the first rounds that did not pass, at most maxMisses.
	Misses []StressMiss `json:"misses"`

	failed *provider.Error // see Failure
}

// StressMiss is a round that did not pass, with what came back.
type StressMiss struct {
	// Round counts from 1.
	Round int    `json:"round"`
	Kind  string `json:"kind"`
	Why   string `json:"why"`
	// Text and the arguments of Calls are cut at maxMissChars.
	Text  string           `json:"text,omitempty"`
	Calls []StressMissCall `json:"calls,omitempty"`
}

// StressMissCall is a call as the model wrote it.
type StressMissCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Limits of what is told of rounds that did not pass.
const (
	maxMisses    = 20
	maxMissChars = 500
)

// misses are the rounds that did not pass.
func misses(results []modelcheck.Result) []StressMiss {
	out := []StressMiss{}
	for _, r := range results {
		if r.Passed || len(out) == maxMisses {
			continue
		}
		m := StressMiss{Round: r.Case.Nth + 1, Kind: string(r.Case.Kind), Why: r.Why(), Text: clip(r.Answer.Response.Text)}
		for _, c := range r.Answer.Response.Calls {
			m.Calls = append(m.Calls, StressMissCall{clip(c.Name), clip(c.Arguments)})
		}
		out = append(out, m)
	}
	return out
}

// clip cuts a text that is shown.
func clip(text string) string {
	if runes := []rune(text); len(runes) > maxMissChars {
		return string(runes[:maxMissChars-1]) + "…"
	}
	return text
}

// Failure is the failure of a model's call at which the test stopped, or with which
// it ended when none was answered; nil in all other cases. Its kind is one of auth,
// not_found, bad_request, context_length, rate_limited, quota, overloaded, server,
// timeout, transport, truncated, malformed, content_filter.
func (r StressReport) Failure() (kind string, err error) {
	if r.failed == nil {
		return "", nil
	}
	return string(r.failed.Kind), r.failed
}

// PlanStress says what StressModel will ask, without asking anything.
func PlanStress(o StressOptions) (StressPlan, error) {
	o, err := o.withDefaults()
	if err != nil {
		return StressPlan{}, err
	}
	cases := modelcheck.Generate(o.Seed, o.Rounds, o.MaxTokens)
	trials := modelcheck.Retry(cases, nil, stressTrials)
	p := StressPlan{Calls: len(cases), Trials: len(trials), OutputTokens: (len(cases) + len(trials)) * o.MaxTokens}
	for _, c := range slices.Concat(cases, trials) {
		p.InputTokens += provider.EstimateInput(c.Request)
		if kind := string(c.Kind); !slices.Contains(p.Kinds, kind) {
			p.Kinds = append(p.Kinds, kind)
		}
	}
	return p, nil
}

// StressModel finds out how well a model calls tools. It asks it directly, by the
// client that runs use, so that nothing is stored and no tool is run. When ctx
// ends the report tells what was found so far. The error is one of the options or
// of the model's configuration; a model that fails is part of the report.
func StressModel(ctx context.Context, m ModelConfig, o StressOptions) (StressReport, error) {
	o, err := o.withDefaults()
	if err != nil {
		return StressReport{}, err
	}
	cfg, err := clientConfig(m)
	if err != nil {
		return StressReport{}, fmt.Errorf("model %s: %w", m.ID, err)
	}
	shown := listed(m, cfg, "")
	report := StressReport{
		Model: shown.Id, Name: shown.Model, Endpoint: shown.Endpoint, Profile: shown.Profile, ProfileFrom: shown.ProfileFrom, ToolMode: shown.ToolMode,
		Seed: o.Seed, Rounds: o.Rounds,
	}
	cases := modelcheck.Generate(o.Seed, o.Rounds, o.MaxTokens)
	results, stopped, err := stress(ctx, m, cases, o, false)
	if err != nil {
		return StressReport{}, err
	}
	report.Asked, report.Stopped, report.StressSummary, report.Misses = len(results), stopped, modelcheck.Summarize(results), misses(results)
	unanswered := !slices.ContainsFunc(results, func(r modelcheck.Result) bool { return r.Failure() == nil })
	if len(results) > 0 && ctx.Err() == nil && (stopped != "" || unanswered) {
		report.failed = results[len(results)-1].Failure()
	}

	current := modelcheck.Settings{Profile: report.Profile, ToolMode: report.ToolMode}
	suggestions := modelcheck.Suggest(current, results)
	trial := tryOut(ctx, m, suggestions, cases, results, o)
	if ctx.Err() != nil {
		report.Stopped = cmp.Or(report.Stopped, "interrupted")
	}
	report.Recommendation = modelcheck.Decide(current, report.StressSummary, suggestions, trial)
	return report, nil
}

// stress asks the cases of a model as it is configured.
func stress(ctx context.Context, m ModelConfig, cases []modelcheck.Case, o StressOptions, trial bool) ([]modelcheck.Result, string, error) {
	client, err := newClient(m)
	if err != nil {
		return nil, "", err
	}
	defer client.Close()
	results, stopped := modelcheck.Run(ctx, client, cases, func(p modelcheck.Progress) {
		step := StressProgress{Trial: trial, Round: p.Round, Rounds: p.Rounds, Wait: p.Wait}
		if p.Wait == 0 {
			step.Kind, step.Problem = string(p.Result.Case.Kind), p.Result.Why()
		}
		o.Progress(step)
	})
	return results, stopped, nil
}

// tryOut asks some cases with the first settings that want a trial; nil where
// nothing was tried.
func tryOut(ctx context.Context, m ModelConfig, suggestions []modelcheck.Suggestion, cases []modelcheck.Case, results []modelcheck.Result, o StressOptions) *modelcheck.Trial {
	i := slices.IndexFunc(suggestions, func(s modelcheck.Suggestion) bool { return s.Trial })
	if i < 0 || ctx.Err() != nil {
		return nil
	}
	m.Profile, m.ToolMode = suggestions[i].Profile, suggestions[i].ToolMode
	again := modelcheck.Retry(cases, results, stressTrials)
	now, _, err := stress(ctx, m, again, o, true)
	if err != nil || ctx.Err() != nil { // settings that do not go with the others of the model
		return nil
	}
	return &modelcheck.Trial{Before: modelcheck.Summarize(modelcheck.Of(again, results)), After: modelcheck.Summarize(now)}
}
