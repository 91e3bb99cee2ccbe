package modelcheck

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// Count is n of m.
type Count struct {
	N  int `json:"n"`
	Of int `json:"of"`
}

func (c *Count) add(yes bool) {
	c.Of++
	if yes {
		c.N++
	}
}

// Tally is what the rounds of a kind, or all of them, add up to.
type Tally struct {
	// Kind is empty for all kinds together.
	Kind Kind `json:"kind,omitempty"`
	// Passed rounds gave what was asked for; of all rounds, also those that failed.
	Passed Count `json:"passed"`
	// Called rounds called a tool; of those that were answered and wanted a call.
	Called Count `json:"called"`
	// Exact, Repaired and Unreadable say how the arguments were read, Valid that
	// the schema takes them, after repair; of the calls that were made.
	Exact      Count `json:"exact"`
	Repaired   Count `json:"repaired"`
	Unreadable Count `json:"unreadable"`
	Valid      Count `json:"schema_valid"`
	// Right calls have the tool and the values that were asked for; of the calls
	// that were wanted in answered rounds.
	Right Count `json:"right"`
}

func (t *Tally) add(r Result) {
	t.Passed.add(r.Passed)
	if r.Answer.Err != nil {
		return
	}
	if len(r.Case.Want) > 0 {
		t.Called.add(len(r.Calls) > 0)
	}
	t.Right.Of += len(r.Case.Want)
	for _, c := range r.Calls {
		t.Exact.add(c.Parse == ParseExact)
		t.Repaired.add(c.Parse == ParseRepaired)
		t.Unreadable.add(c.Parse == ParseFailed)
		t.Valid.add(c.Valid)
		if c.Right {
			t.Right.N++
		}
	}
}

// Failures are calls that failed in the same way.
type Failures struct {
	// Kind is that of provider.Kind.
	Kind  string `json:"kind"`
	Count int    `json:"count"`
	// Message explains the first of them.
	Message string `json:"message"`
}

// Mended is a repair with how often it was needed.
type Mended struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Quantiles are two times that say how long something took.
type Quantiles struct {
	P50MS int `json:"p50_ms"`
	P95MS int `json:"p95_ms"`
}

// Summary is what a check has found.
type Summary struct {
	Total Tally   `json:"total"`
	Kinds []Tally `json:"kinds"`
	// Parallel rounds made several calls in one answer; of those that asked for it
	// and got any call.
	Parallel Count `json:"parallel"`
	// Needless rounds called a tool although none was needed.
	Needless Count `json:"needless"`
	// Streamed rounds had their arguments in more than one piece; of the rounds
	// with a call that has arguments.
	Streamed Count `json:"streamed"`
	// Cut answers reached the limit of tokens; of the answered rounds.
	Cut Count `json:"cut"`
	// FirstToken and Latency are of answered rounds.
	FirstToken Quantiles `json:"first_token"`
	Latency    Quantiles `json:"latency"`
	// InputTokens and OutputTokens are sums; Estimated says that the provider did
	// not count all of them.
	InputTokens  int  `json:"input_tokens"`
	OutputTokens int  `json:"output_tokens"`
	Estimated    bool `json:"tokens_estimated"`
	// Repairs and Failures are the most frequent first.
	Repairs  []Mended   `json:"repairs"`
	Failures []Failures `json:"failures"`
}

// Summarize adds up the results of a check.
func Summarize(results []Result) Summary {
	s := Summary{Kinds: []Tally{}, Repairs: []Mended{}, Failures: []Failures{}}
	var first, took []time.Duration
	mended := map[string]int{}
	for _, r := range results {
		s.Total.add(r)
		s.kind(r.Case.Kind).add(r)
		u := r.Answer.Response.Usage
		s.InputTokens, s.OutputTokens = s.InputTokens+u.InputTokens, s.OutputTokens+u.OutputTokens
		s.Estimated = s.Estimated || u.Estimated
		if e := r.Failure(); e != nil {
			s.fail(e)
			continue
		}
		took = append(took, r.Answer.Took)
		if r.Answer.First > 0 {
			first = append(first, r.Answer.First)
		}
		s.count(r)
		for _, c := range r.Calls {
			for _, what := range c.Mended {
				mended[what]++
			}
		}
	}
	s.FirstToken, s.Latency = quantiles(first), quantiles(took)
	for _, what := range slices.Sorted(maps.Keys(mended)) {
		s.Repairs = append(s.Repairs, Mended{what, mended[what]})
	}
	slices.SortStableFunc(s.Repairs, func(a, b Mended) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(s.Failures, func(a, b Failures) int { return cmp.Compare(b.Count, a.Count) })
	return s
}

// count adds what is asked of answered rounds alone.
func (s *Summary) count(r Result) {
	s.Cut.add(r.Cut)
	switch r.Case.Kind {
	case Parallel:
		if len(r.Calls) > 0 {
			s.Parallel.add(len(r.Calls) > 1)
		}
	case NoTool:
		s.Needless.add(len(r.Calls) > 0)
	}
	if len(r.Calls) > 0 && slices.ContainsFunc(r.Answer.Response.Calls, func(c provider.Call) bool { return len(c.Arguments) > len("{}") }) {
		s.Streamed.add(r.Answer.Fragments > 1)
	}
}

// kind is the tally of a kind, which is put where the kinds are asked.
func (s *Summary) kind(k Kind) *Tally {
	i := slices.IndexFunc(s.Kinds, func(t Tally) bool { return t.Kind == k })
	if i < 0 {
		s.Kinds = append(s.Kinds, Tally{Kind: k})
		i = len(s.Kinds) - 1
	}
	return &s.Kinds[i]
}

func (s *Summary) fail(e *provider.Error) {
	i := slices.IndexFunc(s.Failures, func(f Failures) bool { return f.Kind == string(e.Kind) })
	if i < 0 {
		s.Failures = append(s.Failures, Failures{Kind: string(e.Kind), Message: e.Message})
		i = len(s.Failures) - 1
	}
	s.Failures[i].Count++
}

// quantiles of times: the least value that at least this share does not exceed.
func quantiles(times []time.Duration) Quantiles {
	if len(times) == 0 {
		return Quantiles{}
	}
	slices.Sort(times)
	at := func(percent int) int { return int(times[(len(times)*percent+99)/100-1].Milliseconds()) }
	return Quantiles{P50MS: at(50), P95MS: at(95)}
}
