package selection

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func rules() Rules {
	return Rules{
		Policy: map[string][][]string{
			"zh":      {{"bocha"}, {"bing"}, {"baidu"}},
			Elsewhere: {{"searxng", "brave_llm", "tavily"}, {"bing"}, {"duckduckgo"}},
		},
		Known:   []string{"bing", "duckduckgo", "baidu", "searxng", "brave_llm", "tavily", "bocha", "anthropic"},
		Missing: map[string]string{"searxng": "no address", "bocha": "no key", "anthropic": "no key"},
		Aliases: map[string]string{"api": "anthropic", "brave": "brave_llm"},
	}
}

func TestWhoIsAsked(t *testing.T) {
	cases := []struct {
		name       string
		configured string
		providers  []string
		language   string
		want       string // tiers, or
		reason     string // of the error
		says       string
	}{
		{"the policy, without those that lack something", "", nil, "", "[[brave_llm tavily] [bing] [duckduckgo]]", "", ""},
		{"the policy of the language", "", nil, "zh", "[[bing] [baidu]]", "", ""},
		{"a language without a policy", "", nil, "de", "[[brave_llm tavily] [bing] [duckduckgo]]", "", ""},
		{"the operator chose: no other", "bing", nil, "zh", "[[bing]]", "", ""},
		{"the caller chose: no other", "", []string{"duckduckgo"}, "", "[[duckduckgo]]", "", ""},
		{"the caller is over the operator", "bing", []string{"duckduckgo"}, "", "[[duckduckgo]]", "", ""},
		{"several in the caller's order", "", []string{"duckduckgo", "bing"}, "", "[[duckduckgo] [bing]]", "", ""},
		{"one that is named twice", "", []string{"bing", "BING"}, "", "[[bing]]", "", ""},
		{"case and blanks do not matter", " Bing ", nil, "", "[[bing]]", "", ""},
		{"a short name", "brave", nil, "", "[[brave_llm]]", "", ""},
		{"a chosen one that lacks something", "api", nil, "", "[]", ReasonUnavailable, "no key"},
		{"a named one that lacks something", "", []string{"bing", "bocha"}, "", "[]", ReasonUnavailable, "no key"},
		{"a caller may go around an absent one", "api", []string{"bing"}, "", "[[bing]]", "", ""},
		{"an unknown one is the caller's mistake", "", []string{"bong"}, "", "[]", "INVALID_ARGUMENT", "did you mean bing?"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rules()
			r.Configured = c.configured
			if err := r.CheckConfigured(); err != nil {
				t.Fatal(err)
			}
			got, err := r.Tiers(Request{Field: "provider", Providers: c.providers, Language: c.language})
			if fmt.Sprint(got) != c.want || rpcerr.Reason(err) != c.reason {
				t.Errorf("got %v with reason %q, want %v with %q", got, rpcerr.Reason(err), c.want, c.reason)
			}
			if c.says != "" && !strings.Contains(err.Error(), c.says) {
				t.Errorf("does not say %q: %v", c.says, err)
			}
		})
	}
}

func TestAPolicyOfEnginesThatAllLackSomethingIsAnError(t *testing.T) {
	r := rules()
	r.Policy = map[string][][]string{Elsewhere: {{"bocha"}}}
	if _, err := r.Tiers(Request{}); rpcerr.Reason(err) != ReasonUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestAnUnknownEngineIsRefusedAtStart(t *testing.T) {
	r := Rules{Configured: "bong", Policy: map[string][][]string{"zh": {{"baidoo"}}}, Known: []string{"bing", "baidu"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{r.CheckConfigured(), `search: adapter "bong" is unknown: use one of bing, baidu; did you mean bing?`},
		{r.CheckPolicy(), `search.policy.zh: "baidoo" is no search engine; use some of bing, baidu`},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

func TestTheOrderWithinATier(t *testing.T) {
	cases := []struct {
		name string
		tier []Candidate
		want string
	}{
		{"equal ones stay", []Candidate{{Name: "b"}, {Name: "a"}}, "b a"},
		{"the well before the able", []Candidate{{Name: "a", Unwell: true}, {Name: "b", Lacking: 2}}, "b a"},
		{"the able before the cheap", []Candidate{{Name: "a", Lacking: 1}, {Name: "b", CostUSD: 1}}, "b a"},
		{"the cheap before the quick", []Candidate{{Name: "a", CostUSD: 0.01}, {Name: "b", Latency: time.Second}}, "b a"},
		{"the quick before the slow", []Candidate{{Name: "a", Latency: time.Second}, {Name: "b", Latency: time.Millisecond}}, "b a"},
		{"one that nobody knows before the slow", []Candidate{{Name: "a", Latency: time.Second}, {Name: "b"}}, "b a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.tier)
			// A later tier never overtakes, whatever speaks for it.
			if got := ordered(Rank([][]Candidate{c.tier, {{Name: "z"}}})); got != c.want+" z" {
				t.Errorf("got %s, want %s z", got, c.want)
			}
			if !slices.Equal(before, c.tier) {
				t.Error("the tier was changed in place")
			}
		})
	}
}

func ordered(list []Candidate) string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

func TestThoseWhoCanDoTheMostAreAskedAlone(t *testing.T) {
	cases := []struct {
		name         string
		ranked       []Candidate
		able, unable string
	}{
		{"all can", []Candidate{{Name: "a"}, {Name: "b"}}, "a b", ""},
		{"one cannot", []Candidate{{Name: "a", Lacking: 1}, {Name: "b"}}, "b", "a"},
		{"none can do all", []Candidate{{Name: "a", Lacking: 1}, {Name: "b", Lacking: 2}, {Name: "c", Lacking: 1}}, "a c", "b"},
	}
	for _, c := range cases {
		able, unable := Able(c.ranked)
		if ordered(able) != c.able || ordered(unable) != c.unable {
			t.Errorf("%s: able %s, unable %s", c.name, ordered(able), ordered(unable))
		}
	}
}
