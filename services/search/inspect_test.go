package search

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

// The promise of inspect is that it shows what the service would do.
func TestInspectSeesWhatSearchSees(t *testing.T) {
	cases := []struct{ name, page, query string }{
		{"results", bingPage("tea", "https://tea.example/", "https://leaf.example/"), "tea"},
		{"nothing", nothingPage, "tea"},
		{"altered", spelledPage, "tee ceremny"},
		{"blocked", challengePage, "tea"},
		{"decoy", bingPage("shoes", "https://a.example/"), "tea ceremony"},
		{"unknown layout", `<p>tea`, "tea"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, func(cfg *Config) {
				cfg.Adapter = "bing"
				cfg.Bing = engineAt(t, says(200, c.page))
			})
			searched, err := s.Search(as(t, "ann"), ask(c.query))
			if err != nil {
				searched = &searchv1.SearchResponse{Outcome: rpcerr.Reason(err)}
			}
			seen, err := InspectResults(InspectInput{ID: "1", Provider: "bing", Query: c.query, Body: c.page})
			if err != nil || seen.ID != "1" || seen.Outcome != searched.Outcome || seen.AlteredQuery != searched.AlteredQuery || len(seen.Results) != len(searched.Results) {
				t.Fatalf("inspect sees %+v, search %v", seen, searched)
			}
			for i, r := range searched.Results {
				if got := seen.Results[i]; got != (InspectResult{r.Title, r.Url, r.Snippet, r.PublishedAt}) {
					t.Errorf("inspect sees %+v, search %v", got, r)
				}
			}
		})
	}
}

func TestInspectReadsAnswersOfEveryEngine(t *testing.T) {
	const limited = `{"type":"ErrorResponse","error":{"code":"RATE_LIMITED"}}`
	cases := []struct {
		name, provider, body string
		status               int
		headers              map[string]string
		outcome              string
		results              int
	}{
		{"an API", "brave_llm", `{"grounding":{"generic":[{"url":"https://tea.example/","title":"Chanoyu","snippets":["x"]}]}}`, 0, nil, "OK", 1},
		{"an API without results", "tavily", `{"results":[]}`, 200, nil, "EMPTY_VERIFIED", 0},
		{"a quota in the headers", "brave_web", limited, 429, map[string]string{"X-RateLimit-Limit": "9", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "900000"}, "QUOTA_EXHAUSTED", 0},
		{"a page instead", "searxng", `<title>x | Verifying your request</title>`, 200, nil, "CHALLENGE", 0},
		{"rows of other queries", "bing", bingPage("shoes", "https://a.example/"), 200, nil, "DECOY_SUSPECTED", 0},
		{"a captcha", "baidu", `<div class="passMod_dialog-wrapper"></div>`, 200, nil, "CHALLENGE", 0},
		{"no such engine", "altavista", bingPage("tea", "https://a.example/"), 200, nil, "LAYOUT_UNRECOGNISED", 0},
	}
	for _, c := range cases {
		got, err := InspectResults(InspectInput{ID: "x", Provider: c.provider, Query: "tea ceremony", Status: c.status, Headers: c.headers, Body: c.body})
		if err != nil || got.Outcome != c.outcome || len(got.Results) != c.results {
			t.Errorf("%s: %+v (%v), want %s", c.name, got, err, c.outcome)
		}
	}
}

func TestInspectReadsFilesInTheirEncoding(t *testing.T) {
	page, err := simplifiedchinese.GBK.NewEncoder().String(`<meta charset="gbk">` + bingPage("龙井茶产地", "https://tea.example/"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := InspectResults(InspectInput{Provider: "bing", Query: "龙井茶", Path: file})
	if err != nil || got.Outcome != "OK" || len(got.Results) != 1 || got.Results[0].Title != "龙井茶产地 1" {
		t.Errorf("got %+v", got)
	}
	if got, err := InspectResults(InspectInput{ID: "x", Path: file + ".absent"}); err == nil || got.Outcome != "" {
		t.Errorf("an absent file gives %+v", got)
	}
}

func TestWithoutAnAdapterNoPageIsCalledEmpty(t *testing.T) {
	for _, c := range adaptertest.Corpus(t) {
		got, err := InspectResults(InspectInput{Provider: "generic", Query: "tea", Status: c.Status, Body: string(c.Body)})
		if err != nil || got.Outcome == "EMPTY_VERIFIED" || got.Outcome == "" || len(got.Results) > 0 {
			t.Errorf("%s gives %+v", c.File, got)
		}
	}
}
