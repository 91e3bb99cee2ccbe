// Package fusion merges the result lists of several engines into one.
//
// The order is that of reciprocal rank fusion (Cormack, Clarke and Büttcher,
// SIGIR 2009) over families of engines rather than engines: two engines that
// show one index are one witness, however often they agree. The merge is a pure
// function of the lists, whatever their order.
package fusion

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/canon"
)

const (
	// k dampens the first ranks, as in the paper.
	k = 60
	// top is how many places the cap on domains is for; perDomain is the cap.
	top       = 10
	perDomain = 2
)

// List is what one engine returned, best first.
type List struct {
	Provider string
	// Family is the index behind the engine.
	Family  string
	Results []adapter.Result
}

// Source is a list that a result stands in.
type Source struct {
	Provider, Family string
	// Rank is its place among the different pages of the list, from 1.
	Rank int
}

// Result is a result of the merge. It has the text of the engine that ranks it
// best; what that one does not tell is taken from the others.
type Result struct {
	adapter.Result
	// Sources are in the order of their ranks.
	Sources []Source
	// Score is the sum over families.
	Score float64

	key string
}

// Options are what a merge may do in another way.
type Options struct {
	// DomainsChosen says that the caller named the domains of results: then none
	// can have too many.
	DomainsChosen bool
}

// Merge merges lists. A page that a list repeats counts where it stands first.
// At most two results of one registrable domain are among the first ten as long
// as there are others to take their places: those beyond follow the others.
func Merge(lists []List, o Options) []Result {
	merged := map[string]*Result{}
	for _, l := range ordered(lists) {
		for rank, r := range distinct(l.Results) {
			one := merged[r.key]
			if one == nil {
				one = &Result{Result: r.Result, key: r.key}
				merged[r.key] = one
			}
			one.add(Source{l.Provider, l.Family, rank + 1}, r.Result)
		}
	}
	all := make([]Result, 0, len(merged))
	for _, r := range merged {
		r.Score = score(r.Sources)
		all = append(all, *r)
	}
	slices.SortFunc(all, compare)
	if !o.DomainsChosen {
		all = spread(all)
	}
	return all
}

// ordered makes the merge the same in whatever order the engines answered.
func ordered(lists []List) []List {
	lists = slices.Clone(lists)
	slices.SortStableFunc(lists, func(a, b List) int { return cmp.Compare(a.Provider, b.Provider) })
	return lists
}

// keyed is a result with the page it stands for.
type keyed struct {
	adapter.Result
	key string
}

// distinct takes the repetitions out of a list before ranks are counted: an
// engine that repeats a page gains nothing by it (cursor-byok#431).
func distinct(results []adapter.Result) []keyed {
	seen := map[string]bool{}
	var out []keyed
	for _, r := range results {
		key := canon.Key(r.URL)
		if !seen[key] {
			seen[key] = true
			out = append(out, keyed{r, key})
		}
	}
	return out
}

// add notes another list of the result, and takes the text of the better rank.
func (r *Result) add(s Source, text adapter.Result) {
	better := len(r.Sources) > 0 && s.Rank < r.Sources[0].Rank
	r.Sources = append(r.Sources, s)
	slices.SortStableFunc(r.Sources, func(a, b Source) int { return cmp.Compare(a.Rank, b.Rank) })
	main, other := r.Result, text
	if better {
		main, other = text, r.Result
	}
	main.Snippet = cmp.Or(main.Snippet, other.Snippet)
	main.PublishedAt = cmp.Or(main.PublishedAt, other.PublishedAt)
	main.SiteName = cmp.Or(main.SiteName, other.SiteName)
	main.Language = cmp.Or(main.Language, other.Language)
	if len(main.Passages) == 0 {
		main.Passages = other.Passages
	}
	r.Result = main
}

// score adds what each family gives for the best of its ranks.
func score(sources []Source) float64 {
	best := map[string]int{}
	var families []string
	for _, s := range sources { // the best rank of a family comes first
		if _, seen := best[s.Family]; !seen {
			best[s.Family] = s.Rank
			families = append(families, s.Family)
		}
	}
	sum := 0.0
	for _, f := range families {
		sum += 1 / float64(k+best[f])
	}
	return sum
}

// compare puts the higher score first, then the better rank, then the address.
func compare(a, b Result) int {
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(a.Sources[0].Rank, b.Sources[0].Rank),
		cmp.Compare(a.key, b.key),
	)
}

// spread moves results beyond the cap of their domain behind the others, as far
// as that keeps them out of the first places.
func spread(all []Result) []Result {
	count := map[string]int{}
	var first, beyond []Result
	for i, r := range all {
		domain := registrable(r.Result)
		if len(first) == top {
			rest := append(beyond, all[i:]...)
			slices.SortFunc(rest, compare)
			return append(first, rest...)
		}
		if count[domain] == perDomain {
			beyond = append(beyond, r)
			continue
		}
		count[domain]++
		first = append(first, r)
	}
	return append(first, beyond...)
}

// registrable is the domain that a result counts for; its host when that has
// none. One that hides where it leads to counts for itself alone.
func registrable(r adapter.Result) string {
	u, err := url.Parse(r.URL)
	if err != nil || r.Hidden {
		return r.URL
	}
	return cmp.Or(domains.Registrable(u.Hostname()), u.Hostname())
}
