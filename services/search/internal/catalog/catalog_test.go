package catalog

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEnginesThereAre(t *testing.T) {
	want := []string{
		"bing", "duckduckgo", "duckduckgo_lite", "baidu", "searxng", "brave_llm", "brave_web", "tavily", "bocha", "zhipu", "anthropic",
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("engines %v, want %v", got, want)
	}
	if _, ok := New("altavista", Settings{}); ok || Address("altavista") != "" {
		t.Error("there is an engine called altavista")
	}
}

var name = regexp.MustCompile(`^[a-z][a-z_]{1,63}$`)

func TestWhatAnEngineSaysOfItselfHolds(t *testing.T) {
	for _, n := range Names() {
		t.Run(n, func(t *testing.T) {
			bare, _ := New(n, Settings{})
			c := bare.Capabilities()
			if bare.Name() != n || !name.MatchString(n) || c.Family == "" {
				t.Errorf("engine %q of the family %q is listed as %q", bare.Name(), c.Family, n)
			}
			if u, err := url.Parse(Address(n)); (err != nil || u.Scheme != "https" || u.Host == "") != c.NeedsAddress {
				t.Errorf("address %q, needs one: %t", Address(n), c.NeedsAddress)
			}
			_, err := bare.Plan(adapter.Query{Text: "tea"})
			if lacking := c.NeedsKey || c.NeedsAddress; errors.Is(err, adapter.ErrNotConfigured) != lacking || (err != nil) != lacking {
				t.Errorf("without settings: %v", err)
			}
			if c.CostUSD > 0 != c.NeedsKey || c.Scraped && c.NeedsKey {
				t.Errorf("costs %g, needs a key: %t, scraped: %t", c.CostUSD, c.NeedsKey, c.Scraped)
			}
			set, _ := New(n, Settings{BaseURL: "http://engine.test:8080/path/", Key: "KEY", Model: "m"})
			plan, err := set.Plan(adapter.Query{Text: "tea"})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(plan.Request.URL, "http://engine.test:8080/path/") || strings.Contains(plan.Request.URL, "path//") {
				t.Errorf("its own address is not used: %s", plan.Request.URL)
			}
			if plan.Request.Keyed != c.NeedsKey || strings.Contains(plan.Request.URL, "KEY") || strings.Contains(string(plan.Request.Body), "KEY") {
				t.Errorf("the key is not kept to a header: %+v", plan.Request)
			}
		})
	}
}
