package adaptertest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// probe is a query with one option.
type probe struct {
	name   string
	option adapter.Option // empty for none
	q      adapter.Query
}

// probes ask for every option on its own, and for many at once.
func probes() []probe {
	base := func(change func(*adapter.Query)) adapter.Query {
		q := adapter.Query{Text: "tea ceremony"}
		change(&q)
		return q
	}
	domains := func(n int) []string {
		return []string{"example.com", "docs.example.org/tea", "a.example", "b.example", "c.example", "d.example"}[:n]
	}
	out := []probe{
		{"plain", "", base(func(*adapter.Query) {})},
		{"chinese", "", adapter.Query{Text: "杭州 龙井茶"}},
		{"max_results 15", adapter.OptionMaxResults, base(func(q *adapter.Query) { q.Count = 15 })},
		{"page 3", adapter.OptionPage, base(func(q *adapter.Query) { q.Page = 3 })},
		{"page 3 of 20", adapter.OptionPage, base(func(q *adapter.Query) { q.Page, q.Count = 3, 20 })},
		{"one allowed domain", adapter.OptionAllowedDomains, base(func(q *adapter.Query) { q.AllowedDomains = domains(1) })},
		{"two allowed domains", adapter.OptionAllowedDomains, base(func(q *adapter.Query) { q.AllowedDomains = domains(2) })},
		{"six allowed domains", adapter.OptionAllowedDomains, base(func(q *adapter.Query) { q.AllowedDomains = domains(6) })},
		{"two blocked domains", adapter.OptionBlockedDomains, base(func(q *adapter.Query) { q.BlockedDomains = domains(2) })},
		{"a blocked path", adapter.OptionBlockedDomains, base(func(q *adapter.Query) { q.BlockedDomains = domains(2)[1:] })},
	}
	for _, w := range adapter.Windows() {
		out = append(out, probe{"freshness " + string(w), adapter.OptionFreshness, base(func(q *adapter.Query) { q.Freshness = adapter.Within(w, Received) })})
	}
	out = append(out, probe{"freshness range", adapter.OptionFreshness, base(func(q *adapter.Query) {
		q.Freshness = adapter.Between(time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC))
	})})
	for _, tag := range []string{"en", "de", "zh-Hans", "zh-Hant", "ja", "pt-BR", "nb", "tlh"} {
		out = append(out, probe{"language " + tag, adapter.OptionLanguage, base(func(q *adapter.Query) { q.Language = tag })})
	}
	for _, region := range []string{"US", "GB", "CN", "BR", "SG", "AQ"} {
		out = append(out, probe{"region " + region, adapter.OptionRegion, base(func(q *adapter.Query) { q.Region = region })})
	}
	for _, level := range []adapter.SafeSearch{adapter.SafeOff, adapter.SafeModerate, adapter.SafeStrict} {
		out = append(out, probe{"safe_search " + string(level), adapter.OptionSafeSearch, base(func(q *adapter.Query) { q.SafeSearch = level })})
	}
	return append(out,
		probe{"location", adapter.OptionLocation, base(func(q *adapter.Query) {
			q.Location = adapter.Location{City: "Hangzhou", Region: "Zhejiang", Country: "CN", Timezone: "Asia/Shanghai", Latitude: 30.25, Longitude: 120.17}
		})},
		probe{"news", adapter.OptionNews, base(func(q *adapter.Query) { q.News = true })},
		probe{"passages", adapter.OptionPassages, base(func(q *adapter.Query) { q.Passages, q.Count = true, 5 })},
		probe{"passages of 1000 tokens", adapter.OptionPassageTokens, base(func(q *adapter.Query) { q.Passages, q.PassageTokens, q.Count = true, 1000, 5 })},
		probe{"language and region", "", base(func(q *adapter.Query) { q.Language, q.Region = "fr", "CA" })},
		probe{"language and a region that speaks another", "", base(func(q *adapter.Query) { q.Language, q.Region = "ja", "US" })},
		probe{"fresh news of a region", "", base(func(q *adapter.Query) {
			q.News, q.Region, q.Freshness = true, "GB", adapter.Within(adapter.Week, Received)
		})},
		probe{"fresh news in Chinese", "", base(func(q *adapter.Query) {
			q.News, q.Language, q.Freshness = true, "zh", adapter.Within(adapter.Year, Received)
		})},
		probe{"a location and another region", "", base(func(q *adapter.Query) {
			q.Region, q.Location = "US", adapter.Location{City: "杭州", Country: "CN"}
		})},
		probe{"a long query", "", adapter.Query{Text: strings.TrimSpace(strings.Repeat("tea ceremony ", 30))}},
		probe{"a long query in Chinese", "", adapter.Query{Text: strings.Repeat("杭州龙井茶的产地", 12)}},
		probe{"signs", "", adapter.Query{Text: `"a+b" & c=d #1 100% <ü> !g`}},
	)
}

// Options checks the engine's request for every option: the bytes against
// testdata/PREFIXrequests.txt, the names of its parameters against those that
// the engine knows, and that an option is either expressed or named as dropped.
// home are options whose one value the engine always has.
func Options(t *testing.T, prefix string, engine adapter.Adapter, known []string, home ...adapter.Option) {
	t.Helper()
	plain, err := engine.Plan(adapter.Query{Text: "tea ceremony"})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range probes() {
		plan, err := engine.Plan(p.q)
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		fmt.Fprintf(&all, "### %s\n", p.name)
		if len(plan.Dropped) > 0 {
			fmt.Fprintf(&all, "# dropped: %v\n", plan.Dropped)
		}
		if plan.SentText != "" {
			fmt.Fprintf(&all, "# sent: %s\n", plan.SentText)
		}
		all.WriteString(wire(plan.Request) + "\n")
		checkNames(t, p.name, plan.Request, known)
		missing := engine.Capabilities().Missing(p.q)
		for _, o := range missing {
			if !slices.Contains(plan.Dropped, o) {
				t.Errorf("%s: the engine lacks %s and the plan does not say so", p.name, o)
			}
		}
		if p.option == "" || p.option == adapter.OptionMaxResults {
			continue
		}
		plain := plain
		if p.q.Count > 0 {
			bare := adapter.Query{Text: p.q.Text, Count: p.q.Count}
			if p.option == adapter.OptionPassageTokens {
				bare.Passages = true
			}
			if plain, err = engine.Plan(bare); err != nil {
				t.Fatal(err)
			}
		}
		same := wire(plan.Request) == wire(plain.Request)
		switch dropped := slices.Contains(plan.Dropped, p.option); {
		case dropped && !same:
			t.Errorf("%s: named as dropped, yet the request differs from a plain one", p.name)
		case !dropped && same && !slices.Contains(home, p.option) && p.name != "language en" && p.name != "region US":
			t.Errorf("%s: neither expressed nor named as dropped", p.name)
		}
	}
	golden(t, filepath.Join("testdata", prefix+"requests.txt"), all.String())
}

// checkNames holds the names of a request's parameters, wherever they stand,
// against those that are known: engines ignore a misspelt one without a word.
func checkNames(t *testing.T, name string, r adapter.Request, known []string) {
	t.Helper()
	u, err := url.Parse(r.URL)
	if err != nil {
		t.Errorf("%s: address: %v", name, err)
		return
	}
	var names []string
	for n := range u.Query() {
		names = append(names, n)
	}
	switch r.Header.Get("Content-Type") {
	case "application/json":
		var body any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Errorf("%s: body: %v", name, err)
		}
		names = append(names, keys("", body)...)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(r.Body))
		if err != nil {
			t.Errorf("%s: body: %v", name, err)
		}
		for n := range form {
			names = append(names, n)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			t.Errorf("%s: parameter %q is none of the engine's", name, n)
		}
	}
}

// keys are the names in a JSON body, with dots between the levels.
func keys(prefix string, v any) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			out = append(out, prefix+k)
			out = append(out, keys(prefix+k+".", inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, keys(prefix, inner)...)
		}
	}
	return out
}
