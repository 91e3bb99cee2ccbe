package bing

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestTheQueryAskedIsNotReadAsTheOneSearchedInstead(t *testing.T) {
	const notice = `<ol id="b_results"><li class="b_msg">Showing results for <a href="/search?q=a">tea ceremony</a>. <a href="/search?q=b">tee ceremny</a></li>` +
		`<li class="b_algo"><h2><a href="https://tea.example/">Tea</a></h2></li></ol>`
	for asked, want := range map[string]string{"tee ceremny": "tea ceremony", "Tea Ceremony": "", `"tea ceremony"`: "tea ceremony", "": "tea ceremony"} {
		p, o := New(Config{}).Parse(adapter.Response{Status: 200, Body: []byte(notice), Query: asked})
		if p.AlteredQuery != want || (o.Code == outcome.OKAlteredQuery) != (want != "") {
			t.Errorf("asked %q: %s with %q, want %q", asked, o.Code, p.AlteredQuery, want)
		}
	}
}
