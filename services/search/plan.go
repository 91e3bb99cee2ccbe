package search

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/exchange"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/selection"
)

// maxFamilies is how many independent engines a fused search asks.
const maxFamilies = 3

// candidate is an engine that a search may ask.
type candidate struct {
	*engine
	// unwell says that it is left alone at the moment; its answers of the last
	// minutes are still good.
	unwell bool
	// lacking are the options that it lacks and that change which results are
	// right.
	lacking adapter.Dropped
}

// plan is who is asked in a search.
type plan struct {
	// able are asked, in this order.
	able []candidate
	// unable are passed over, since others can do what they lack.
	unable []candidate
}

// plan decides who is asked.
func (s *Service) plan(ctx context.Context, q request) (plan, error) {
	tiers, err := s.rules.Tiers(selection.Request{Field: q.field, Providers: q.providers, Language: q.language()})
	if err != nil {
		return plan{}, err
	}
	ranked, all := s.rank(ctx, tiers, q)
	able, unable := selection.Able(ranked)
	p := plan{pick(all, able), pick(all, unable)}
	if q.strict && len(p.able[0].lacking) > 0 {
		return plan{}, unsupported(p.able)
	}
	return p, nil
}

// rank puts engines in the order in which they would be asked now.
func (s *Service) rank(ctx context.Context, tiers [][]string, q request) (ranked []selection.Candidate, all map[string]candidate) {
	all = map[string]candidate{}
	ranks := make([][]selection.Candidate, len(tiers))
	for i, tier := range tiers {
		for _, name := range tier {
			c, latency := s.candidate(ctx, s.engines[name], q)
			all[name] = c
			ranks[i] = append(ranks[i], selection.Candidate{
				Name: name, Unwell: c.unwell, Lacking: len(c.lacking), CostUSD: c.Capabilities().CostUSD, Latency: latency,
			})
		}
	}
	return selection.Rank(ranks), all
}

func (s *Service) candidate(ctx context.Context, e *engine, q request) (candidate, time.Duration) {
	record := s.health.Look(ctx, e.place)
	c := candidate{engine: e, unwell: record.Status(time.Now()).Phase == health.Open}
	// A request that cannot be made at all says so when it is its turn.
	if planned, err := exchange.Plan(e.Adapter, q.asked); err == nil {
		for _, o := range planned.Dropped {
			if o.Hard() {
				c.lacking = append(c.lacking, o)
			}
		}
	}
	return c, record.Latency
}

func pick(all map[string]candidate, names []selection.Candidate) []candidate {
	out := make([]candidate, len(names))
	for i, n := range names {
		out[i] = all[n.Name]
	}
	return out
}

// unsupported is the error of a strict search whose options nobody has.
func unsupported(able []candidate) *rpcerr.Error {
	parts := make([]string, len(able))
	for i, c := range able {
		parts[i] = c.Name() + " lacks " + strings.Join(names(c.lacking), ", ")
	}
	err := rpcerr.New(codes.InvalidArgument, string(outcome.UnsupportedOption),
		"no search provider in question has all options, and strict_options is set: %s; leave options out, or name another provider", strings.Join(parts, "; "))
	for _, o := range able[0].lacking {
		err = err.WithField(string(o), "is an option that "+able[0].Name()+" lacks")
	}
	return err
}

// names are those of the engines that are asked.
func (p plan) names() []string {
	out := make([]string, len(p.able))
	for i, c := range p.able {
		out[i] = c.Name()
	}
	return out
}

// lanes are the engines that a fused search asks at once, each with those that
// are asked in its place when it does not answer: one lane for a family, those
// that are well first, or one for each engine that the caller named. spare are the
// families beyond maxFamilies, for when all engines of a lane have failed.
func (p plan) lanes(named bool) (lanes, spare [][]candidate) {
	for _, c := range p.able {
		i := slices.IndexFunc(lanes, func(l []candidate) bool { return l[0].Capabilities().Family == c.Capabilities().Family })
		if i < 0 || named {
			lanes = append(lanes, []candidate{c})
			continue
		}
		lanes[i] = append(lanes[i], c)
	}
	if named {
		return lanes, nil
	}
	slices.SortStableFunc(lanes, func(a, b []candidate) int { return wellFirst(a) - wellFirst(b) })
	n := min(len(lanes), maxFamilies)
	return lanes[:n], lanes[n:]
}

func wellFirst(lane []candidate) int {
	if slices.ContainsFunc(lane, func(c candidate) bool { return !c.unwell }) {
		return 0
	}
	return 1
}
