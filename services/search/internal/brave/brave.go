// Package brave asks the two search APIs of Brave: LLM Context, which sends
// passages of pages, and Web Search, which also pages and knows news. They have
// one index, one key and one allowance.
package brave

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// The providers' names.
const (
	NameLLM = "brave_llm"
	NameWeb = "brave_web"
)

// DefaultBaseURL is where both APIs are.
const DefaultBaseURL = "https://api.search.brave.com"

// family is Brave's own index.
const family = "brave"

// costUSD is one request at the list price of 2026: 5 USD for a thousand.
const costUSD = 0.005

// Bounds of a query at Brave.
const (
	maxQueryRunes = 400
	maxQueryWords = 50
)

// Config is where and as whom Brave is asked.
type Config struct {
	// BaseURL is scheme and host, perhaps with a path before /res; empty means
	// DefaultBaseURL.
	BaseURL string
	// Key is the subscription token.
	Key string
}

func (c Config) check() error {
	if c.Key == "" {
		return fmt.Errorf("%w: Brave Search needs a subscription token (BRAVE_SEARCH_API_KEY)", adapter.ErrNotConfigured)
	}
	return nil
}

// request asks the API at path.
func (c Config) request(path string, params params, header http.Header) adapter.Request {
	header.Set("Accept", "application/json")
	header.Set("Accept-Encoding", "gzip")
	header.Set("X-Subscription-Token", c.Key)
	return adapter.Request{
		Method: http.MethodGet,
		URL:    strings.TrimSuffix(cmp.Or(c.BaseURL, DefaultBaseURL), "/") + path + "?" + strings.Join(params, "&"),
		Header: header,
		Keyed:  true,
	}
}

// params are written in a fixed order.
type params []string

func (p *params) add(name, value string) { *p = append(*p, name+"="+url.QueryEscape(value)) }

func (p *params) addInt(name string, value int) { p.add(name, strconv.Itoa(value)) }

// common are the parameters that both APIs share. Pages in another country than
// the one asked for are rare without it, so none is sent unless asked for.
func (p *params) common(q adapter.Query, c adapter.Capabilities, text string) {
	p.add("q", text)
	if q.Region != "" {
		p.add("country", q.Region)
	}
	if lang := searchLang(q, c); lang != "" {
		p.add("search_lang", lang)
	}
	if f := freshness(q.Freshness); f != "" {
		p.add("freshness", f)
	}
}

// freshness is one of four windows or a range of days (not the time_range that
// other APIs have, which Brave ignores).
func freshness(f adapter.Freshness) string {
	switch {
	case f.IsZero():
		return ""
	case f.Window != "":
		return "p" + string(f.Window[:1])
	}
	const day = "2006-01-02"
	return f.From.Format(day) + "to" + f.To.Format(day)
}

// regions are Brave's countries; another one is refused with 422
// (brave-search-mcp-server#74).
var regions = []string{
	"AR", "AU", "AT", "BE", "BR", "CA", "CL", "DK", "FI", "FR", "DE", "GR", "HK", "IN", "ID", "IT", "JP", "KR", "MY", "MX",
	"NL", "NZ", "NO", "CN", "PL", "PT", "PH", "RU", "SA", "ZA", "ES", "SE", "CH", "TW", "TR", "GB", "US",
}

// languages are Brave's, by base language, where it has a name of its own for
// one; "zh" and "ja" are refused with 422 (openclaw-cn#64).
var languages = map[string]string{
	"zh": "zh-hans", "ja": "jp", "no": "nb", "pt": "pt-br",
}

var plainLanguages = []string{
	"ar", "eu", "bn", "bg", "ca", "hr", "cs", "da", "nl", "en", "et", "fi", "fr", "gl", "de", "el", "gu", "he", "hi", "hu",
	"is", "it", "kn", "ko", "lv", "lt", "ms", "ml", "mr", "pl", "pa", "ro", "ru", "sr", "sk", "sl", "es", "sv", "ta", "te",
	"th", "tr", "uk", "vi",
}

func allLanguages() []string {
	all := slices.Clone(plainLanguages)
	for base := range languages {
		all = append(all, base)
	}
	slices.Sort(all)
	return all
}

// searchLang is Brave's name for the language of q. Where it has one for each of
// two ways of writing, the tag decides and then the region asked for.
func searchLang(q adapter.Query, c adapter.Capabilities) string {
	base, region := c.LanguageOf(q), adapter.RegionOf(q.Language)
	switch {
	case base == "":
		return ""
	case base == "zh" && (adapter.Traditional(q.Language) || plain(q.Language) && adapter.WritesTraditional(q.Region)):
		return "zh-hant"
	case base == "pt" && !slices.Contains([]string{"", "BR"}, cmp.Or(region, q.Region)):
		return "pt-pt"
	case base == "en" && region == "GB":
		return "en-gb"
	}
	return cmp.Or(languages[base], base)
}

// plain reports whether a tag tells a language and no more.
func plain(tag string) bool { return !strings.ContainsAny(tag, "-_") }

// goggle writes a filter of domains in Brave's language for re-ranking. Its
// rules know no paths of a site, so a domain with a path allows its whole host;
// one that is blocked with a path is left to the service's filter.
func goggle(q adapter.Query) string {
	var rules []string
	for _, h := range adapter.Hosts(q.AllowedDomains) {
		rules = append(rules, "$site="+h)
	}
	if len(rules) > 0 {
		return strings.Join(append([]string{"$discard"}, rules...), "\n")
	}
	for _, h := range adapter.WholeHosts(q.BlockedDomains) {
		rules = append(rules, "$discard,site="+h)
	}
	return strings.Join(rules, "\n")
}

// domains adds the filter, and names it as dropped when nothing of it can be
// said.
func (p *params) domains(q adapter.Query, dropped *adapter.Dropped) {
	if g := goggle(q); g != "" {
		p.add("goggles", g)
	} else if len(q.BlockedDomains) > 0 {
		dropped.Add(adapter.OptionBlockedDomains)
	}
}
