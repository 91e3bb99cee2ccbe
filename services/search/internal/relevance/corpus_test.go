package relevance

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/bing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/duckduckgo"
)

func TestCapturedPagesAreRejectedForQueriesOfOthers(t *testing.T) {
	own := map[string]string{
		"bing_openserp_results.html": "how to read file in JS",
		"bing_wsmcp_http.html":       "javascript tutorial",
		"ddg_html_cli_2026.html":     "rust programming",
		"ddg_lite_cli_2026.html":     "rust programming",
	}
	strangers := []string{
		"chokidar watch options", "best running shoes 2026", "weather oslo tomorrow", "杭州龙井茶产地", "北京 地铁 末班车 时间",
		"抹茶の点て方", "рецепт борща", "mietrecht kündigungsfrist", "unemployment rate brazil", "zettelkasten obsidian plugin",
		"bad ischl bahnhof", "kubernetes pod eviction", "vaccination schedule infants", "stradivarius violin auction",
	}
	engines := map[string]adapter.Adapter{
		bing.Name: bing.New(bing.Config{}), duckduckgo.NameHTML: duckduckgo.NewHTML(""), duckduckgo.NameLite: duckduckgo.NewLite(""),
	}
	for _, c := range adaptertest.Corpus(t) {
		query, ok := own[c.File]
		if !ok {
			continue
		}
		p, _ := engines[c.Provider].Parse(adapter.Response{Status: 200, Body: c.Body})
		if v := Judge(query, p.Results); v.Decoy || len(v.Kept) != len(p.Results) {
			t.Errorf("%s: own rows rejected for %q (share %.2f)", c.File, query, v.Share)
		}
		for _, s := range strangers {
			if v := Judge(s, p.Results); !v.Decoy && len(v.Kept) == len(p.Results) {
				t.Errorf("%s passes for %q (share %.2f)", c.File, s, v.Share)
			}
		}
	}
}
