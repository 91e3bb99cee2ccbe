// Package selection decides which engines are asked, and in which order.
//
// Somebody's word goes first: the caller's, then the operator's. Among engines
// that nobody put in order, those that are well, that can do what is asked, that
// cost less and that answer sooner go first, in this order of importance.
package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

// ReasonUnavailable is the reason when an engine is known by name but lacks what
// it needs to be asked.
const ReasonUnavailable = "ADAPTER_UNAVAILABLE"

// Elsewhere is the language of policies for all languages without one of their
// own.
const Elsewhere = "*"

// Rules are the operator's.
type Rules struct {
	// Configured is the engine that the operator chose; empty means the policy.
	Configured string
	// Policy are the engines to ask, by base language, in tiers: those of a later
	// tier are asked when those before did not answer.
	Policy map[string][][]string
	// Known are the engines that there are.
	Known []string
	// Missing says in words what an engine lacks to be asked; engines that are not
	// in it lack nothing.
	Missing map[string]string
	// Aliases are other names of engines.
	Aliases map[string]string
}

// CheckConfigured checks the operator's choice of one engine. One that merely
// lacks something passes: it is each search that says so.
func (r Rules) CheckConfigured() error {
	if name := r.name(r.Configured); name != "" && !r.known(name) {
		return fmt.Errorf("search: adapter %q is unknown: use one of %s%s", name, r.names(), r.nearest(name))
	}
	return nil
}

// CheckPolicy checks that the policy names engines that there are.
func (r Rules) CheckPolicy() error {
	for _, lang := range slices.Sorted(maps.Keys(r.Policy)) {
		for _, name := range slices.Concat(r.Policy[lang]...) {
			if !r.known(r.name(name)) {
				return fmt.Errorf("search.policy.%s: %q is no search engine; use some of %s%s", lang, name, r.names(), r.nearest(name))
			}
		}
	}
	return nil
}

// Request is what a caller says about who is to be asked.
type Request struct {
	// Field is the name of the caller's list, for errors.
	Field string
	// Providers are those that the caller named; none leaves it to the operator.
	Providers []string
	// Language is the base language of the search; empty when not known.
	Language string
}

// Tiers gives the engines to ask. Those that somebody chose by name stand alone:
// another one's results would be a silent replacement. One of them that cannot be
// asked is an error, while one of a policy is left out.
func (r Rules) Tiers(q Request) ([][]string, error) {
	if len(q.Providers) > 0 {
		return r.chosen(q.Field, q.Providers)
	}
	if name := r.name(r.Configured); name != "" {
		return r.chosen("adapter", []string{name})
	}
	policy, ok := r.Policy[q.Language]
	if !ok {
		policy = r.Policy[Elsewhere]
	}
	var tiers [][]string
	for _, tier := range policy {
		var usable []string
		for _, name := range tier {
			if name = r.name(name); r.Missing[name] == "" {
				usable = append(usable, name)
			}
		}
		if len(usable) > 0 {
			tiers = append(tiers, usable)
		}
	}
	if len(tiers) == 0 {
		return nil, rpcerr.New(codes.FailedPrecondition, ReasonUnavailable,
			"no search provider is set up for this search: set a key, or name one of %s", r.names())
	}
	return tiers, nil
}

func (r Rules) chosen(field string, names []string) ([][]string, error) {
	var tiers [][]string
	for _, name := range names {
		name = r.name(name)
		if !r.known(name) {
			return nil, rpcerr.InvalidArgument(field, fmt.Sprintf("%q is no search provider; use one of %s%s", name, r.names(), r.nearest(name)))
		}
		if why := r.Missing[name]; why != "" {
			return nil, rpcerr.New(codes.FailedPrecondition, ReasonUnavailable,
				"search provider %q cannot be asked: %s", name, why).WithMeta("provider", name)
		}
		if !slices.ContainsFunc(tiers, func(t []string) bool { return t[0] == name }) {
			tiers = append(tiers, []string{name})
		}
	}
	return tiers, nil
}

func (r Rules) known(name string) bool { return slices.Contains(r.Known, name) }

func (r Rules) names() string { return strings.Join(r.Known, ", ") }

func (r Rules) nearest(name string) string {
	if near := spelling.Nearest(name, r.Known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// name is the name of an engine as somebody wrote it.
func (r Rules) name(written string) string {
	name := strings.ToLower(strings.TrimSpace(written))
	return cmp.Or(r.Aliases[name], name)
}

// Candidate is an engine with what speaks for and against it in this search.
type Candidate struct {
	Name string
	// Unwell says that its breaker is open.
	Unwell bool
	// Lacking is how many options it lacks that change which results are right.
	Lacking int
	// CostUSD is what a call costs.
	CostUSD float64
	// Latency is how long it takes; 0 when not known, which counts as soonest, so
	// that it becomes known.
	Latency time.Duration
}

// Rank puts the engines of each tier in order and the tiers behind each other.
// Engines that are equal stay as they are.
func Rank(tiers [][]Candidate) []Candidate {
	var all []Candidate
	for _, tier := range tiers {
		tier = slices.Clone(tier)
		slices.SortStableFunc(tier, func(a, b Candidate) int {
			return cmp.Or(
				compareBool(a.Unwell, b.Unwell),
				cmp.Compare(a.Lacking, b.Lacking),
				cmp.Compare(a.CostUSD, b.CostUSD),
				cmp.Compare(a.Latency, b.Latency),
			)
		})
		all = append(all, tier...)
	}
	return all
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Able keeps the engines that lack the fewest options, and gives the others
// apart. Engines are not traded for options in silence: the others are passed
// over, and what those that are kept lack is told.
func Able(ranked []Candidate) (able, unable []Candidate) {
	fewest := -1
	for _, c := range ranked {
		if fewest < 0 || c.Lacking < fewest {
			fewest = c.Lacking
		}
	}
	for _, c := range ranked {
		if c.Lacking == fewest {
			able = append(able, c)
		} else {
			unable = append(unable, c)
		}
	}
	return able, unable
}
