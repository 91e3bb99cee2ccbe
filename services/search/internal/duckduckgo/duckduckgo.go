// Package duckduckgo asks DuckDuckGo's pages without scripts, html and lite,
// and reads them. The results are Bing's index: agreement of the two engines is
// no independent evidence.
package duckduckgo

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/language"
)

// The providers' names.
const (
	NameHTML = "duckduckgo"
	NameLite = "duckduckgo_lite"
)

// Where the two pages are.
const (
	DefaultHTMLBaseURL = "https://html.duckduckgo.com"
	DefaultLiteBaseURL = "https://lite.duckduckgo.com"
)

// maxQueryRunes is the longest query that DuckDuckGo takes.
const maxQueryRunes = 499

// userAgent never changes within a process: DuckDuckGo ties what it hands out
// to query and user agent.
const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"

// HTML is the adapter of the html page.
type HTML struct{ baseURL string }

// NewHTML makes the adapter; an empty baseURL means the default.
func NewHTML(baseURL string) *HTML {
	if baseURL == "" {
		baseURL = DefaultHTMLBaseURL
	}
	return &HTML{strings.TrimSuffix(baseURL, "/")}
}

// Name implements adapter.Adapter.
func (*HTML) Name() string { return NameHTML }

// Plan implements adapter.Adapter.
func (a *HTML) Plan(q adapter.Query) (adapter.Plan, error) { return plan(a.baseURL, "/html/", q), nil }

// Lite is the adapter of the lite page.
type Lite struct{ baseURL string }

// NewLite makes the adapter; an empty baseURL means the default.
func NewLite(baseURL string) *Lite {
	if baseURL == "" {
		baseURL = DefaultLiteBaseURL
	}
	return &Lite{strings.TrimSuffix(baseURL, "/")}
}

// Name implements adapter.Adapter.
func (*Lite) Name() string { return NameLite }

// Plan implements adapter.Adapter.
func (a *Lite) Plan(q adapter.Query) (adapter.Plan, error) { return plan(a.baseURL, "/lite/", q), nil }

// plan makes the form post of the first page. The engine sends as many rows as
// it likes.
func plan(baseURL, path string, q adapter.Query) adapter.Plan {
	lang := language.Of(q.Text)
	region := cmp.Or(regions[lang], worldwide)
	body := "q=" + url.QueryEscape(adapter.WithDomainHint(quoteBangs(q), maxQueryRunes)) + "&b=&kl=" + region
	p := adapter.Plan{Request: adapter.Request{
		Method: http.MethodPost,
		URL:    baseURL + path,
		Header: headers(baseURL, region, lang),
		Body:   []byte(body),
	}}
	if q.Count > 0 {
		p.Dropped = []string{adapter.OptionCount}
	}
	return p
}

// quoteBangs keeps words such as "!g" in the query from sending us to another
// engine.
func quoteBangs(q adapter.Query) adapter.Query {
	if !strings.Contains(q.Text, "!") {
		return q
	}
	words := strings.Fields(q.Text)
	for i, w := range words {
		if len(w) > 1 && w[0] == '!' {
			words[i] = `"` + w + `"`
		}
	}
	q.Text = strings.Join(words, " ")
	return q
}

// regions by the language that a query's script gives away.
var regions = map[string]string{
	"zh": "cn-zh", "ja": "jp-jp", "ko": "kr-kr", "ru": "ru-ru", "ar": "xa-ar",
	"he": "il-en", "th": "th-th", "el": "gr-el",
}

const worldwide = "wt-wt"

func acceptLanguage(lang string) string {
	if lang == "" {
		return "en-US,en;q=0.5"
	}
	return lang + ",en;q=0.5"
}

func headers(baseURL, region, lang string) http.Header {
	h := http.Header{}
	for _, kv := range [][2]string{
		{"User-Agent", userAgent},
		{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		{"Accept-Language", acceptLanguage(lang)},
		{"Accept-Encoding", "gzip, deflate, br"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Cookie", "kl=" + region},
		{"Referer", baseURL + "/"},
		{"Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Mode", "navigate"},
		{"Sec-Fetch-Site", "same-origin"},
		{"Sec-Fetch-User", "?1"},
		{"Upgrade-Insecure-Requests", "1"},
	} {
		h.Set(kv[0], kv[1])
	}
	return h
}
