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

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/language"
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

// markets by the language that a query's script gives away.
var markets = map[string]string{
	"zh": "zh-CN", "ja": "ja-JP", "ko": "ko-KR", "ru": "ru-RU", "ar": "ar-SA",
	"he": "he-IL", "th": "th-TH", "el": "el-GR",
}

// Plan implements adapter.Adapter. Market, interface language and
// Accept-Language always agree: a mismatch yields odd or empty pages
// (searxng#2641).
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	market := a.cfg.Market
	if m, ok := markets[language.Of(q.Text)]; ok {
		market = m
	}
	params := "q=" + url.QueryEscape(adapter.WithDomainHint(q, maxQueryRunes)) +
		"&mkt=" + url.QueryEscape(market) +
		"&setlang=" + url.QueryEscape(languageOf(market))
	if q.Count > pageSize {
		params += "&count=" + strconv.Itoa(q.Count)
	}
	return adapter.Plan{Request: adapter.Request{
		Method: http.MethodGet,
		URL:    strings.TrimSuffix(a.cfg.BaseURL, "/") + "/search?" + params,
		Header: headers(market),
	}}, nil
}

func languageOf(market string) string {
	lang, _, _ := strings.Cut(market, "-")
	if lang == "zh" {
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
