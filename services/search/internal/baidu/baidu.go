// Package baidu asks Baidu's result page as a browser would and reads it. The
// links of these pages lead through Baidu's own counter; where a row leads to
// stands in an attribute beside, as a rule.
package baidu

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Name is the provider's name.
const Name = "baidu"

// DefaultBaseURL is where Baidu is.
const DefaultBaseURL = "https://www.baidu.com"

// Bounds of a request.
const (
	// maxQueryWidth is how long a query Baidu reads: 38 Chinese characters,
	// each as wide as two letters. It ignores what goes beyond.
	maxQueryWidth = 76
	pageSize      = 10
	maxCount      = 50
	maxPage       = 50
)

// Config is where Baidu is asked.
type Config struct {
	// BaseURL is scheme and host; empty means DefaultBaseURL.
	BaseURL string
}

// Adapter is the Baidu adapter.
type Adapter struct{ cfg Config }

// New makes the adapter.
func New(cfg Config) *Adapter {
	cfg.BaseURL = strings.TrimSuffix(cmp.Or(cfg.BaseURL, DefaultBaseURL), "/")
	return &Adapter{cfg}
}

// Name implements adapter.Adapter.
func (*Adapter) Name() string { return Name }

// capabilities of Baidu. It has no parameter for the language: Chinese is what
// it is for.
var capabilities = adapter.Capabilities{
	Family: Name, Scraped: true, Decoys: true,
	MaxQueryRunes: maxQueryWidth, MaxCount: maxCount, MaxPage: maxPage,
	AllowedDomains: 1, Range: true,
	Languages: []string{"zh"}, Regions: []string{"CN"},
}

// Capabilities implements adapter.Adapter.
func (*Adapter) Capabilities() adapter.Capabilities { return capabilities }

// Plan implements adapter.Adapter.
func (a *Adapter) Plan(q adapter.Query) (adapter.Plan, error) {
	q, dropped := capabilities.Fit(q)
	fitting := capabilities
	fitting.MaxQueryRunes = runesWithin(q.Text, maxQueryWidth)
	text, short := fitting.Shorten(q.Text)
	q.Text = text
	hintedText, hinted := adapter.WithDomainHint(q, fitting.MaxQueryRunes)
	if !hinted {
		dropped.Add(adapter.DomainOption(q))
	}
	params := "wd=" + url.QueryEscape(hintedText) + "&ie=utf-8"
	if q.Count > pageSize {
		params += "&rn=" + strconv.Itoa(q.Count)
	}
	if q.PageNumber() > 1 {
		params += "&pn=" + strconv.Itoa((q.PageNumber()-1)*max(q.Count, pageSize))
	}
	if f := q.Freshness; !f.IsZero() {
		end := f.To.Add(24*time.Hour - time.Second)
		params += "&gpc=" + url.QueryEscape("stf="+strconv.FormatInt(f.From.Unix(), 10)+","+strconv.FormatInt(end.Unix(), 10)+"|stftype=1")
	}
	plan := adapter.Plan{Dropped: dropped, Request: adapter.Request{
		Method: http.MethodGet, URL: a.cfg.BaseURL + "/s?" + params, Header: headers(a.cfg.BaseURL),
	}}
	if short {
		plan.SentText = text
	}
	return plan, nil
}

// runesWithin is how many characters of a text, and of letters after it, are
// within a width.
func runesWithin(text string, width int) int {
	n := 0
	for _, r := range text {
		w := 1
		if r >= utf8.RuneSelf {
			w = 2
		}
		if width < w {
			return n
		}
		width -= w
		n++
	}
	return n + width
}

// headers are those of a browser that searches from Baidu's own page.
func headers(baseURL string) http.Header {
	h := http.Header{}
	for _, kv := range [][2]string{
		{"User-Agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"},
		{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"},
		{"Accept-Language", "zh-CN,zh;q=0.9"},
		{"Accept-Encoding", "gzip, deflate, br"},
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
