package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestARowThatHidesWhereItLeadsPassesNoDomainFilter(t *testing.T) {
	var page strings.Builder
	page.WriteString(`<div id="content_left">`)
	for _, at := range []string{"http://www.baidu.com/link?url=a", "http://www.baidu.com/link?url=b", "http://www.baidu.com/link?url=c", "https://tea.example/"} {
		fmt.Fprintf(&page, `<div class="result c-container"><h3><a href="%s">tea guide</a></h3></div>`, at)
	}
	page.WriteString(`</div>`)
	cases := []struct {
		name             string
		allowed, blocked []string
		want, filtered   int
		outcome          string
	}{
		{"no filter", nil, nil, 4, 0, "OK"},
		{"the engine's own domain allowed", []string{"baidu.com"}, nil, 0, 4, "EMPTY_AFTER_FILTER"},
		{"another domain allowed", []string{"tea.example"}, nil, 1, 3, "OK"},
		{"another domain blocked", nil, []string{"leaf.example"}, 1, 3, "OK"},
		{"everything known blocked", nil, []string{"tea.example"}, 0, 4, "EMPTY_AFTER_FILTER"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, func(cfg *Config) { cfg.Baidu = engineAt(t, says(200, page.String())) })
			req := ask("tea guide")
			req.Provider, req.AllowedDomains, req.BlockedDomains = "baidu", c.allowed, c.blocked
			got, err := s.Search(as(t, "ann"), req)
			if err != nil {
				t.Fatal(err)
			}
			var urls []string
			for _, r := range got.Results {
				urls = append(urls, r.Url)
			}
			if len(urls) != c.want || int(got.FilteredOut) != c.filtered || got.Outcome != c.outcome {
				t.Errorf("%s with %v, %d filtered out; want %s with %d, %d", got.Outcome, urls, got.FilteredOut, c.outcome, c.want, c.filtered)
			}
			if len(c.allowed)+len(c.blocked) > 0 && slices.ContainsFunc(urls, func(u string) bool { return strings.Contains(u, "/link?") }) {
				t.Errorf("hidden rows in %v", urls)
			}
		})
	}
}
