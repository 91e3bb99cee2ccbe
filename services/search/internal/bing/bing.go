// Package bing asks Bing's result page as a browser would and reads it.
//
// Three things about these pages deceive simple readers, and shape this one:
// the top result may carry more classes than its siblings; a page without
// results may still list rows, of other queries; and the challenge page answers
// with status 200, the right title, and the class names of a result page in its
// style sheet.
package bing

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Name is the provider's name.
const Name = "bing"

// DefaultBaseURL is where Bing is.
const DefaultBaseURL = "https://www.bing.com"

// DefaultMarket is asked when the query's script names no other.
const DefaultMarket = "en-US"

// maxQueryRunes is how long a query Bing is sent, with its domain hint.
const maxQueryRunes = 1000

// pageSize is how many rows Bing sends when it is not told.
const pageSize = 10

// Config is where and how Bing is asked.
type Config struct {
	// BaseURL is scheme and host, perhaps with a path before /search.
	BaseURL string
	// Market is a Bing market such as en-US, for queries whose script does
	// not tell their language.
	Market string
}

// Adapter is the Bing adapter.
type Adapter struct{ cfg Config }

// New makes the adapter; empty fields of cfg mean the defaults.
func New(cfg Config) *Adapter {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	if cfg.Market == "" {
		cfg.Market = DefaultMarket
	}
	return &Adapter{cfg}
}

// Name implements adapter.Adapter.
func (a *Adapter) Name() string { return Name }

// maxPage is how far Bing pages before it repeats itself.
const maxPage = 20

// capabilities of Bing. Pages beyond the first and spans of time are best
// effort: without scripts Bing does not always honour them.
var capabilities = adapter.Capabilities{
	Family: "bing", Scraped: true, Decoys: true,
	MaxCount: 50, MaxPage: maxPage,
	AllowedDomains: adapter.MaxHinted, BlockedDomains: adapter.MaxHinted,
	Windows: []adapter.Window{adapter.Day, adapter.Week, adapter.Month}, Range: true,
	Languages: markets.Languages(), Regions: markets.Regions(),
	SafeSearch: []adapter.SafeSearch{adapter.SafeOff, adapter.SafeModerate, adapter.SafeStrict},
	News:       true,
}

// Capabilities implements adapter.Adapter.
func (a *Adapter) Capabilities() adapter.Capabilities { return capabilities }

// Plan implements adapter.Adapter. Market, interface language and
// Accept-Language always agree: a mismatch yields odd or empty pages
// (searxng#2641).
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	q, dropped := capabilities.Fit(q)
	market := a.cfg.Market
	picked, without, ok := markets.Pick(capabilities, q)
	if ok {
		market = picked.Code
	}
	dropped.Add(without...)
	text, hinted := adapter.WithDomainHint(q, maxQueryRunes)
	if !hinted {
		dropped.Add(adapter.DomainOption(q))
	}
	path, params := "/search?", ""
	if q.News {
		path = "/news/infinitescrollajax?"
		market = newsMarket(market, q, &dropped)
		params = newsParams(text, market, q, &dropped)
	} else {
		params = webParams(text, market, q)
	}
	if q.SafeSearch != adapter.SafeDefault {
		params += "&adlt=" + string(q.SafeSearch)
	}
	return adapter.Plan{Dropped: dropped, Request: adapter.Request{
		Method: http.MethodGet,
		URL:    strings.TrimSuffix(a.cfg.BaseURL, "/") + path + params,
		Header: headers(market),
	}}, nil
}

func webParams(text, market string, q adapter.Query) string {
	params := "q=" + url.QueryEscape(text) + "&mkt=" + url.QueryEscape(market) + "&setlang=" + url.QueryEscape(languageOf(market))
	if q.Count > pageSize {
		params += "&count=" + strconv.Itoa(q.Count)
	}
	if q.PageNumber() > 1 {
		params += "&first=" + strconv.Itoa(first(q))
	}
	if f := filters(q.Freshness); f != "" {
		params += "&filters=" + url.QueryEscape(f)
	}
	return params
}

// first is the number of the first row of a page.
func first(q adapter.Query) int { return (q.PageNumber()-1)*max(q.Count, pageSize) + 1 }

// filters writes a span of time the way Bing's own menu does.
func filters(f adapter.Freshness) string {
	switch {
	case f.IsZero():
		return ""
	case f.Window == adapter.Day:
		return `ex1:"ez1"`
	case f.Window == adapter.Week:
		return `ex1:"ez2"`
	case f.Window == adapter.Month:
		return `ex1:"ez3"`
	}
	return `ex1:"ez5_` + days(f.From) + "_" + days(f.To) + `"`
}

// days counts the days since 1970.
func days(t time.Time) string { return strconv.FormatInt(t.Unix()/(24*60*60), 10) }

func languageOf(market string) string {
	lang, _, _ := strings.Cut(market, "-")
	switch market {
	case "zh-TW", "zh-HK":
		return "zh-hant"
	case "zh-CN":
		return "zh-hans"
	}
	return lang
}

// headers are those of an Edge browser that opens the page from its address
// bar.
func headers(market string) http.Header {
	h := http.Header{}
	for _, kv := range [][2]string{
		{"User-Agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"},
		{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
		{"Accept-Language", acceptLanguage(market)},
		{"Accept-Encoding", "gzip, deflate, br"},
		{"Cache-Control", "no-cache"},
		{"Upgrade-Insecure-Requests", "1"},
		{"Sec-Ch-Ua", `"Chromium";v="142", "Microsoft Edge";v="142", "Not_A Brand";v="99"`},
		{"Sec-Ch-Ua-Mobile", "?0"},
		{"Sec-Ch-Ua-Platform", `"Windows"`},
		{"Sec-Fetch-Dest", "document"},
		{"Sec-Fetch-Mode", "navigate"},
		{"Sec-Fetch-Site", "none"},
		{"Sec-Fetch-User", "?1"},
	} {
		h.Set(kv[0], kv[1])
	}
	return h
}

func acceptLanguage(market string) string {
	lang, _, _ := strings.Cut(market, "-")
	if lang == market {
		return market
	}
	return market + "," + lang + ";q=0.9"
}
