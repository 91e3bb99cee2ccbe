package fusion

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/canon"
)

// judged is a query whose pages have grades: 0 for what is of no use.
type judged struct {
	name   string
	lists  []List
	grades map[string]float64 // by page
}

// grade is that of the page which an address, by its key, stands for.
func (j judged) grade(key string) float64 {
	return j.grades[strings.TrimSuffix(key, ".example")]
}

// ndcg is the normalised discounted cumulative gain of the first ten, where a
// page that comes again is worth nothing.
func (j judged) ndcg(addresses []string) float64 {
	seen := map[string]bool{}
	got := 0.0
	for i, a := range addresses[:min(len(addresses), top)] {
		if key := canon.Key(a); !seen[key] {
			seen[key] = true
			got += gain(j.grade(key), i)
		}
	}
	ideal := 0.0
	for i, g := range slices.SortedFunc(maps.Values(j.grades), func(a, b float64) int { return cmp.Compare(b, a) }) {
		if i < top {
			ideal += gain(g, i)
		}
	}
	return got / ideal
}

func gain(grade float64, place int) float64 {
	return (math.Exp2(grade) - 1) / math.Log2(float64(place)+2)
}

func (j judged) merged() float64 {
	var out []string
	for _, r := range Merge(j.lists, Options{}) {
		out = append(out, r.URL)
	}
	return j.ndcg(out)
}

// plain is reciprocal rank fusion over engines as it is usually written: every
// row of every list counts, under its address as it stands.
func (j judged) plain() float64 {
	scores := map[string]float64{}
	for _, l := range j.lists {
		for i, r := range l.Results {
			scores[r.URL] += 1 / float64(k+i+1)
		}
	}
	out := slices.SortedFunc(maps.Keys(scores), func(a, b string) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return j.ndcg(out)
}

func (j judged) single(i int) float64 {
	var out []string
	for _, r := range j.lists[i].Results {
		out = append(out, r.URL)
	}
	return j.ndcg(out)
}

func (j judged) best() float64 {
	most := 0.0
	for i := range j.lists {
		most = max(most, j.single(i))
	}
	return most
}

// handMade are the cases in which plain fusion goes wrong.
var handMade = []judged{
	{"three that agree", []List{
		list("bing", "bing", "a", "b", "x", "c"), list("brave", "brave", "b", "a", "c", "y"), list("baidu", "baidu", "a", "c", "z", "b"),
	}, map[string]float64{"a": 3, "b": 2, "c": 1}},
	{"one that repeats a page of no use", []List{
		list("baidu", "baidu", "https://s.example/", "https://s.example/?utm_source=1", "https://s.example/?utm_source=2", "https://s.example/?utm_source=3", "https://s.example/#top"),
		list("bing", "bing", "b", "a", "d", "x"), list("brave", "brave", "a", "b", "y", "c"),
	}, map[string]float64{"a": 3, "b": 2, "c": 2, "d": 1}},
	{"two of a family that agree on a page of no use", []List{
		list("bing", "bing", "x", "a", "b", "w"), list("duckduckgo", "bing", "x", "a", "b", "w"), list("brave", "brave", "b", "y", "a", "c"),
	}, map[string]float64{"a": 3, "b": 3, "c": 1}},
	{"one domain that fills a list", []List{
		list("baidu", "baidu", "https://f.example/1", "https://f.example/2", "https://f.example/3", "https://f.example/4", "https://f.example/5", "https://f.example/6", "https://f.example/7"),
		list("bing", "bing", "a", "x", "b", "c"), list("brave", "brave", "b", "a", "d", "c"),
	}, map[string]float64{"a": 3, "b": 2, "c": 2, "d": 1}},
	{"the same page under several addresses", []List{
		list("bing", "bing", "https://www.a.example/", "x", "b"), list("brave", "brave", "y", "https://a.example/?gclid=1", "b"), list("baidu", "baidu", "z", "https://m.a.example/", "c"),
	}, map[string]float64{"a": 3, "b": 1, "c": 1}},
	{"each knows another part", []List{
		list("bing", "bing", "a", "x", "b"), list("brave", "brave", "c", "a", "y"), list("baidu", "baidu", "b", "z", "c"),
	}, map[string]float64{"a": 2, "b": 2, "c": 2}},
}

func TestAMergeIsNoWorseThanPlainFusionOrTheBestList(t *testing.T) {
	for _, j := range handMade {
		t.Run(j.name, func(t *testing.T) {
			merged, plain, best := j.merged(), j.plain(), j.best()
			t.Logf("nDCG@10: merged %.3f, plain fusion %.3f, best list %.3f", merged, plain, best)
			if merged < plain-1e-9 || merged < best-1e-9 {
				t.Errorf("nDCG@10 of the merge is %.3f, of plain fusion %.3f, of the best list %.3f", merged, plain, best)
			}
		})
	}
}

// TestAMergeIsBetterOnTheWhole makes queries up: three indexes, of which one is
// shown by two engines and one is of a stuffer, that know and rank pages the
// better the more use they are.
func TestAMergeIsBetterOnTheWhole(t *testing.T) {
	const seed = 20
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	const queries = 300
	merged, plain := 0.0, 0.0
	single := make([]float64, 4)
	for range queries {
		j := madeUp(r)
		merged += j.merged() / queries
		plain += j.plain() / queries
		for i := range j.lists {
			single[i] += j.single(i) / queries
		}
	}
	t.Logf("nDCG@10: merged %.3f, plain fusion %.3f, lists %.3f", merged, plain, single)
	if best := slices.Max(single); merged < plain || merged < best {
		t.Errorf("nDCG@10 of the merge is %.3f, of plain fusion %.3f, of the best engine %.3f", merged, plain, best)
	}
}

func madeUp(r *rand.Rand) judged {
	j := judged{grades: map[string]float64{}}
	for i := range 30 {
		j.grades[fmt.Sprint("p", i)] = float64(max(0, 3-i/4))
	}
	// An engine puts pages in the order of their grades as it sees them.
	index := func(blur float64) []string {
		seen := map[string]float64{}
		for page, g := range j.grades {
			if r.Float64() < 0.7 { // what it does not know
				seen[page] = g + blur*r.NormFloat64()
			}
		}
		return slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) })
	}
	bing := index(1.5)
	stuffed := index(2)
	stuffer := list("baidu", "baidu", stuffed[:4]...)
	for i := range 6 { // one page, again and again
		stuffer.Results = slices.Insert(stuffer.Results, i, adapter.Result{URL: fmt.Sprintf("https://stuff.example/?utm_source=%d", i)})
	}
	again := slices.Clone(bing[:10])
	again[0], again[1] = again[1], again[0]
	j.lists = []List{list("bing", "bing", bing[:10]...), list("duckduckgo", "bing", again...), list("brave", "brave", index(1.2)[:10]...), stuffer}
	return j
}
