package fusion

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// list makes a list of addresses, "a" standing for https://a.example/.
func list(provider, family string, pages ...string) List {
	l := List{Provider: provider, Family: family}
	for _, p := range pages {
		if !strings.Contains(p, "://") {
			p = "https://" + p + ".example/"
		}
		l.Results = append(l.Results, adapter.Result{Title: p, URL: p})
	}
	return l
}

func addresses(results []Result) string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = strings.TrimSuffix(strings.TrimPrefix(r.URL, "https://"), ".example/")
	}
	return strings.Join(out, " ")
}

func TestTheOrderOfAMerge(t *testing.T) {
	cases := []struct {
		name  string
		lists []List
		want  string
	}{
		{"no lists", nil, ""},
		{"one list stays", []List{list("bing", "bing", "a", "b", "c")}, "a b c"},
		{"agreement of families beats a first place", []List{list("bing", "bing", "a", "b"), list("brave", "brave", "c", "b")}, "b a c"},
		{"agreement within a family is none", []List{list("bing", "bing", "a", "b"), list("duckduckgo", "bing", "c", "b"), list("brave", "brave", "d")}, "a c d b"},
		{"the best rank of a family counts", []List{list("bing", "bing", "x", "a"), list("duckduckgo", "bing", "a", "x"), list("brave", "brave", "x")}, "x a"},
		{"equal scores go by rank, then by address", []List{list("bing", "bing", "b"), list("brave", "brave", "a")}, "a b"},
		{"a page that is repeated gains nothing", []List{
			list("bing", "bing", "https://s.example/?utm_source=1", "https://s.example/?utm_source=2", "https://www.s.example/", "a"),
			list("brave", "brave", "a", "b"),
		}, "a s.example/?utm_source=1 b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := addresses(Merge(c.lists, Options{})); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAResultHasItsSourcesAndTheTextOfTheBest(t *testing.T) {
	lists := []List{
		{"brave", "brave", []adapter.Result{{Title: "other", URL: "https://x.example/"}, {Title: "Brave", URL: "https://www.tea.example/?utm_source=b", Language: "en", Snippet: "of Brave", SiteName: "Tea"}}},
		{"bing", "bing", []adapter.Result{{Title: "Bing", URL: "https://tea.example/", PublishedAt: "2025-01-01T00:00:00Z"}}},
	}
	got := Merge(lists, Options{})[0]
	want := adapter.Result{Title: "Bing", URL: "https://tea.example/", Snippet: "of Brave", PublishedAt: "2025-01-01T00:00:00Z", SiteName: "Tea", Language: "en"}
	if fmt.Sprint(got.Result) != fmt.Sprint(want) {
		t.Errorf("got %+v", got.Result)
	}
	if want := []Source{{"bing", "bing", 1}, {"brave", "brave", 2}}; !slices.Equal(got.Sources, want) {
		t.Errorf("sources %v", got.Sources)
	}
	if want := 1.0/61 + 1.0/62; math.Abs(got.Score-want) > 1e-12 {
		t.Errorf("score %g, want %g", got.Score, want)
	}
}

func TestARepeatedPageTakesNoRankFromThoseBehindIt(t *testing.T) {
	got := Merge([]List{list("bing", "bing", "https://s.example/", "https://s.example/?utm_source=1", "a")}, Options{})
	if len(got) != 2 || len(got[0].Sources) != 1 || !slices.Equal(got[1].Sources, []Source{{"bing", "bing", 2}}) {
		t.Fatalf("got %+v", got)
	}
	if want := 1.0 / 62; math.Abs(got[1].Score-want) > 1e-12 {
		t.Errorf("the one behind it has %g, want %g", got[1].Score, want)
	}
}

func TestADomainHasTwoOfTheFirstTenPlaces(t *testing.T) {
	flood := []string{"https://a.flood.co.uk/1", "https://flood.co.uk/2", "https://b.flood.co.uk/3", "https://flood.co.uk/4"}
	others := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	cases := []struct {
		name   string
		others int
		chosen bool
		want   string // places of flooding pages, from 1
	}{
		{"with others to take the places", 10, false, "1 2 11 12"},
		{"with few others", 3, false, "1 2 6 7"},
		{"when the caller chose the domains", 10, true, "1 2 3 4"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := Merge([]List{list("bing", "bing", append(slices.Clone(flood), others[:c.others]...)...)}, Options{DomainsChosen: c.chosen})
			var places []string
			for i, r := range got {
				if strings.Contains(r.URL, "flood") {
					places = append(places, fmt.Sprint(i+1))
				}
			}
			if len(got) != len(flood)+c.others || strings.Join(places, " ") != c.want {
				t.Errorf("%d results, the domain at %v, want %s", len(got), places, c.want)
			}
		})
	}
}

func TestAMergeIsTheSameEveryTime(t *testing.T) {
	lists := []List{
		list("bing", "bing", "a", "b", "c", "d", "e", "s"), list("duckduckgo", "bing", "b", "a", "d", "c", "f"),
		list("brave", "brave", "f", "e", "d", "c", "b", "a"), list("baidu", "baidu", "z", "y", "x", "s"),
	}
	for i := range lists { // texts that differ, of equal ranks too
		for j := range lists[i].Results {
			lists[i].Results[j].Title += " of " + lists[i].Provider
		}
	}
	want := fmt.Sprintf("%+v", Merge(lists, Options{}))
	for range 100 {
		rand.Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
		if got := fmt.Sprintf("%+v", Merge(lists, Options{})); got != want {
			t.Fatalf("got\n%s\nthen\n%s", want, got)
		}
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("https://a.example/\nhttps://a.example/?utm_source=x\n\nb", "https://b.example/\n://\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		lists := []List{
			list("bing", "bing", strings.Split(a, "\n")...), list("duckduckgo", "bing", strings.Split(b, "\n")...),
			list("brave", "brave", strings.Split(b+"\n"+a, "\n")...),
		}
		got := Merge(lists, Options{})
		seen := map[string]bool{}
		for _, r := range got {
			if seen[r.key] || len(r.Sources) == 0 || r.Score <= 0 || r.Score > 2.0/61 {
				t.Fatalf("%+v", r)
			}
			seen[r.key] = true
		}
		again := Merge([]List{lists[2], lists[1], lists[0]}, Options{})
		if fmt.Sprint(got) != fmt.Sprint(again) {
			t.Error("the order of the lists matters")
		}
	})
}
