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
