// Package duckduckgo asks DuckDuckGo's pages without scripts, html and lite,
// and reads them. The results are Bing's index: agreement of the two engines is
// no independent evidence.
package duckduckgo

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
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

// capabilities of both pages. They have further pages, but ask for a token of
// the page before, and block addresses that come without one.
var capabilities = adapter.Capabilities{
	Family: "bing", Scraped: true, Decoys: true, MaxQueryRunes: maxQueryRunes,
	AllowedDomains: adapter.MaxHinted, BlockedDomains: adapter.MaxHinted,
	Windows: adapter.Windows(), Range: true,
	Languages: regions.Languages(), Regions: regions.Regions(),
	SafeSearch: []adapter.SafeSearch{adapter.SafeOff, adapter.SafeModerate, adapter.SafeStrict},
}

// Capabilities implements adapter.Adapter.
func (*HTML) Capabilities() adapter.Capabilities { return capabilities }

// Capabilities implements adapter.Adapter.
func (*Lite) Capabilities() adapter.Capabilities { return capabilities }

// plan makes the form post of the first page. The engine sends as many rows as
// it likes.
func plan(baseURL, path string, q adapter.Query) adapter.Plan {
	q, dropped := capabilities.Fit(q)
	region, lang := worldwide, ""
	if market, without, ok := regions.Pick(capabilities, q); ok {
		region, lang = market.Code, market.Language
		dropped.Add(without...)
	}
	quoted := quoteBangs(q)
	text, short := capabilities.Shorten(quoted.Text)
	quoted.Text = text
	hintedText, hinted := adapter.WithDomainHint(quoted, maxQueryRunes)
	if !hinted {
		dropped.Add(adapter.DomainOption(q))
	}
	body := "q=" + url.QueryEscape(hintedText) + "&b=&kl=" + region
	cookie := "kl=" + region
	if df := span(q.Freshness); df != "" {
		body += "&df=" + df
		cookie += "; df=" + df
	}
	if kp := safe[q.SafeSearch]; kp != "" {
		body += "&kp=" + kp
	}
	p := adapter.Plan{Dropped: dropped, Request: adapter.Request{
		Method: http.MethodPost,
		URL:    baseURL + path,
		Header: headers(baseURL, cookie, lang),
		Body:   []byte(body),
	}}
	if short {
		p.SentText = text
	}
	return p
}

// safe are the values of kp, DuckDuckGo's parameter for safe search.
var safe = map[adapter.SafeSearch]string{adapter.SafeOff: "-2", adapter.SafeModerate: "-1", adapter.SafeStrict: "1"}

// span writes a span of time: a letter for a window, else its two days.
func span(f adapter.Freshness) string {
	switch {
	case f.IsZero():
		return ""
	case f.Window != "":
		return string(f.Window[:1])
	}
	return f.From.Format(time.DateOnly) + ".." + f.To.Format(time.DateOnly)
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

func acceptLanguage(lang string) string {
	if lang == "" || lang == "en" {
		return "en-US,en;q=0.5"
	}
	return lang + ",en;q=0.5"
}

func headers(baseURL, cookie, lang string) http.Header {
	h := http.Header{}
	for _, kv := range [][2]string{
		{"User-Agent", userAgent},
		{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		{"Accept-Language", acceptLanguage(lang)},
		{"Accept-Encoding", "gzip, deflate, br"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Cookie", cookie},
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
