package search

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/fusion"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// telling is the most of a caller's time that is kept for telling the answer.
const telling = 250 * time.Millisecond

// answer is what came of a search.
type answer struct {
	query string
	fused bool
	// attempts are those made and those passed over.
	attempts []attempt
	// answered are the attempts that the results come from, or that say that there
	// are none; empty when nobody answered.
	answered []attempt
	code     outcome.Code
	altered  string
	results  []fusion.Result
	// filteredOut is how many results the domain filter took out of all that
	// answered.
	filteredOut int
	// ignored are options that the results do not heed.
	ignored adapter.Dropped
	// passagesCut is how many passages were cut or left out for the budget.
	passagesCut int
}

// answer makes a search. An error is a *rpcerr.Error whose reason is the outcome
// of the engine that may answer soonest; the attempts are there all the same.
func (s *Service) answer(ctx context.Context, p auth.Principal, q question, w watcher) (answer, error) {
	checked, err := check(q, time.Now())
	if err != nil {
		return answer{}, err
	}
	plan, err := s.plan(ctx, checked)
	if err != nil {
		return answer{}, err
	}
	if err := s.count(ctx, p); err != nil {
		return answer{}, err
	}
	a := answer{query: checked.text, fused: checked.fused}
	if checked.fused {
		w.started(modeFused, plan.names())
	} else {
		w.started(modeSingle, plan.names())
	}
	for _, c := range plan.unable {
		o := outcome.Because(outcome.UnsupportedOption, "not asked: it lacks "+strings.Join(names(c.lacking), ", "))
		a.attempts = append(a.attempts, s.passOver(ctx, c.engine, checked, o, w))
	}
	asking, stop := beforeTheEnd(ctx)
	defer stop()
	if checked.fused {
		s.fused(asking, &a, plan, checked, w)
	} else {
		s.single(asking, &a, plan.able, checked, w)
	}
	if len(a.answered) == 0 && ctx.Err() == nil {
		s.fromBefore(ctx, &a, plan.able, checked, w)
	}
	if len(a.answered) == 0 {
		return a, a.failure(ctx)
	}
	a.finish(checked)
	return a, nil
}

// single asks one engine after the other until one answers.
func (s *Service) single(ctx context.Context, a *answer, able []candidate, q request, w watcher) {
	made := s.run(ctx, able, false, q, w)
	a.attempts = append(a.attempts, made...)
	if last := made[len(made)-1]; last.outcome.Code.Answered() {
		a.answered = []attempt{last}
	}
}

// beforeTheEnd ends a little before ctx does: what is known by then has to be
// told within the caller's time.
func beforeTheEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/10, telling)))
}

// fromBefore takes an answer of the last hour.
func (s *Service) fromBefore(ctx context.Context, a *answer, able []candidate, q request, w watcher) {
	for _, c := range able {
		if at, ok := s.staleAnswer(ctx, c.engine, q, w); ok {
			a.attempts = append(a.attempts, at)
			a.answered = []attempt{at}
			return
		}
	}
}

// finish makes the results out of the attempts that answered. The domain filter
// has the last word once more: whatever the merge did, nothing passes it.
func (a *answer) finish(q request) {
	var lists []fusion.List
	for _, at := range a.answered {
		lists = append(lists, fusion.List{Provider: at.provider, Family: at.family, Results: at.page.Results})
		a.filteredOut += at.filteredOut
		for _, o := range at.dropped {
			if o.Hard() {
				a.ignored.Add(o)
			}
		}
	}
	first := a.answered[0]
	a.code, a.altered = first.outcome.Code, first.page.AlteredQuery
	// One engine's own order is not ours to change.
	merged := fusion.Merge(lists, fusion.Options{DomainsChosen: !a.fused || len(q.filter.Allowed()) > 0})
	merged = slices.DeleteFunc(merged, func(r fusion.Result) bool { return !q.allows(r.Result) })
	a.results = merged[:min(len(merged), q.maxResults)]
	a.passagesCut = fitPassages(a.results, q.asked)
}

// fitPassages keeps the passages within the budget, or takes them out where none
// were asked for.
func fitPassages(results []fusion.Result, q adapter.Query) int {
	rows := make([]adapter.Result, len(results))
	for i, r := range results {
		if rows[i] = r.Result; !q.Passages {
			rows[i].Passages = nil
		}
	}
	cut := adapter.FitPassages(rows, q.PassageTokens)
	for i := range rows {
		results[i].Result = rows[i]
	}
	return cut
}

// count counts a search of p, or refuses it.
func (s *Service) count(ctx context.Context, p auth.Principal) error {
	limit := ratelimit.Limit{N: s.cfg.CallsPerMinute, Per: time.Minute}
	turn, err := s.limiter.Take(ctx, "search/"+p.ID(), limit, 0)
	if err != nil {
		return err
	}
	if !turn.OK {
		return tooMany(s.cfg.CallsPerMinute).WithRetry(turn.Wait)
	}
	return nil
}

// failure is the error of a search that no engine answered.
func (a answer) failure(ctx context.Context) *rpcerr.Error {
	o := a.attempts[len(a.attempts)-1].outcome
	if o.Code != outcome.Cancelled {
		o = a.soonest()
	}
	err := o.Err().WithMeta("attempts", a.trail())
	if ctx.Err() != nil {
		err = err.WithCause(ctx.Err())
	}
	return err
}

// soonest is the outcome of the engine that may answer soonest, of several the
// first: one whose allowance is used up says nothing about when a search works
// again while others can be asked. Engines that lack options stand in front and
// were never meant to answer.
func (a answer) soonest() outcome.Outcome {
	first := a.attempts[len(a.attempts)-1].outcome
	for _, at := range slices.Backward(a.attempts) {
		if at.skipped && at.outcome.Code == outcome.UnsupportedOption {
			break
		}
		if at.outcome.Wait() <= first.Wait() {
			first = at.outcome
		}
	}
	return first
}

// trail names every attempt with its outcome: "bing=CHALLENGE, duckduckgo=TIMEOUT".
// An engine that was not asked is in brackets.
func (a answer) trail() string {
	parts := make([]string, len(a.attempts))
	for i, at := range a.attempts {
		parts[i] = at.provider + "=" + string(at.outcome.Code)
		if at.skipped {
			parts[i] = "(" + parts[i] + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// cost is what the search cost in US dollars.
func (a answer) cost() float64 {
	sum := 0.0
	for _, at := range a.attempts {
		sum += at.cost
	}
	return sum
}

// stale says that nobody answered now.
func (a answer) stale() bool { return len(a.answered) > 0 && a.answered[0].cached == cacheStale }

// at is when the engines answered, the first of them.
func (a answer) at() time.Time {
	var first time.Time
	for _, at := range a.answered {
		if first.IsZero() || at.at.Before(first) {
			first = at.at
		}
	}
	return first
}
