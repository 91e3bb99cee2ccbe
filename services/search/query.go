package search

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/language"
)

// Modes of a search.
const (
	modeSingle = "single"
	modeFused  = "fused"
)

// What a caller may say about the cache.
const (
	cacheUse     = "use"
	cacheRefresh = "refresh"
	cacheOff     = "off"
)

// question is what a caller asks, from whichever side it came.
type question struct {
	text             string
	maxResults       int
	allowed, blocked []string
	provider         string
	providers        []string
	mode             string
	page             int
	freshness        string
	from, to         string
	language         string
	region           string
	safeSearch       string
	location         adapter.Location
	news             bool
	passages         bool
	maxTokens        int
	strict           bool
	cache            string
}

// request is a checked question.
type request struct {
	text       string
	maxResults int
	filter     *domains.Filter
	// providers are those that the caller named, field how it named them.
	providers []string
	field     string
	fused     bool
	strict    bool
	cache     string
	// asked is the question in an adapter's terms.
	asked adapter.Query
}

// faults collects everything that is wrong with a question.
type faults struct{ err *rpcerr.Error }

func (f *faults) add(field, why string) {
	if f.err == nil {
		f.err = rpcerr.InvalidArgument(field, why)
		return
	}
	f.err = f.err.WithField(field, why)
}

// check reports everything that is wrong with a question at once. today serves
// windows of freshness.
func check(q question, today time.Time) (request, error) {
	var bad faults
	r := request{
		text: strings.TrimSpace(q.text), maxResults: q.maxResults, providers: q.providers, field: "providers",
		fused: q.mode == modeFused, strict: q.strict, cache: cmp.Or(q.cache, cacheUse),
	}
	if q.provider != "" {
		r.providers, r.field = []string{q.provider}, "provider"
		if len(q.providers) > 0 {
			bad.add("providers", "cannot be used together with provider; send one of the two")
		}
	}
	checkText(&bad, r.text)
	checkBounds(&bad, q)
	checkWords(&bad, q)
	r.filter = checkDomains(&bad, q)
	r.asked = adapter.Query{
		Text: strings.Join(strings.Fields(r.text), " "), Count: q.maxResults, Page: q.page,
		Freshness: checkFreshness(&bad, q, today), Language: q.language, Region: country(q.region),
		SafeSearch: adapter.SafeSearch(q.safeSearch), Location: q.location, News: q.news,
		Passages: q.passages, PassageTokens: q.maxTokens,
	}
	r.asked.Location.Country = country(q.location.Country)
	if bad.err != nil {
		return request{}, bad.err
	}
	r.hint()
	return r, nil
}

func checkBounds(bad *faults, q question) {
	if q.maxResults < 1 || q.maxResults > MaxResultsCap {
		bad.add("max_results", fmt.Sprintf("is %d; it must be 1 to %d", q.maxResults, MaxResultsCap))
	}
	if q.page < 0 || q.page > MaxPage {
		bad.add("page", fmt.Sprintf("is %d; it must be 1 to %d", q.page, MaxPage))
	}
	if q.maxTokens < 0 || q.maxTokens > MaxPassageTokens {
		bad.add("max_tokens", fmt.Sprintf("is %d; it must be 0 to %d", q.maxTokens, MaxPassageTokens))
	}
	if len(q.providers) > MaxProviders {
		bad.add("providers", fmt.Sprintf("names %d; at most %d are taken", len(q.providers), MaxProviders))
	}
	l := q.location
	if math.Abs(l.Latitude) > 90 || math.IsNaN(l.Latitude) {
		bad.add("location.latitude", fmt.Sprintf("is %v; it must be -90 to 90", l.Latitude))
	}
	if math.Abs(l.Longitude) > 180 || math.IsNaN(l.Longitude) {
		bad.add("location.longitude", fmt.Sprintf("is %v; it must be -180 to 180", l.Longitude))
	}
}

// checkWords checks what is one of a few words, or a code.
func checkWords(bad *faults, q question) {
	for _, c := range []struct {
		field, value string
		words        []string
	}{
		{"mode", q.mode, []string{modeSingle, modeFused}},
		{"safe_search", q.safeSearch, []string{string(adapter.SafeOff), string(adapter.SafeModerate), string(adapter.SafeStrict)}},
		{"cache", q.cache, []string{cacheUse, cacheRefresh, cacheOff}},
	} {
		if c.value != "" && !slices.Contains(c.words, c.value) {
			bad.add(c.field, fmt.Sprintf("is %q; it must be one of %s", c.value, strings.Join(c.words, ", ")))
		}
	}
	if q.language != "" && adapter.Base(q.language) == "" {
		bad.add("language", fmt.Sprintf("%q is no BCP 47 tag; send one such as en or zh-Hans", q.language))
	}
	for _, c := range []struct{ field, value string }{{"region", q.region}, {"location.country", q.location.Country}} {
		if c.value != "" && country(c.value) == "" {
			bad.add(c.field, fmt.Sprintf("%q is no country of ISO 3166-1; send two letters such as US", c.value))
		}
	}
	if z := q.location.Timezone; strings.ContainsFunc(z, notInZone) {
		bad.add("location.timezone", fmt.Sprintf("%q is no name of a time zone; send one such as Asia/Shanghai", z))
	}
}

// notInZone tells the characters that no name in the IANA database has.
func notInZone(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/_+-", r)
}

func checkFreshness(bad *faults, q question, today time.Time) adapter.Freshness {
	if q.freshness != "" {
		w := adapter.Window(q.freshness)
		switch {
		case !slices.Contains(adapter.Windows(), w):
			bad.add("freshness", fmt.Sprintf("is %q; it must be one of day, week, month, year", q.freshness))
		case q.from != "" || q.to != "":
			bad.add("freshness", "cannot be used together with published_from or published_to; send a window or days")
		}
		return adapter.Within(w, today)
	}
	return checkDays(bad, q.from, q.to, today)
}

func checkDomains(bad *faults, q question) *domains.Filter {
	if len(q.allowed) > 0 && len(q.blocked) > 0 {
		bad.add("allowed_domains", "cannot be used together with blocked_domains; send one of the two")
		bad.add("blocked_domains", "cannot be used together with allowed_domains; send one of the two")
		return nil
	}
	filter, err := domains.NewFilter(q.allowed, q.blocked)
	if err != nil {
		bad.add(domainProblem(err))
	}
	return filter
}

func domainProblem(err error) (field, why string) {
	if d, ok := errors.AsType[*domains.Error](err); ok {
		return d.Field, strings.TrimPrefix(d.Error(), d.Field+": ")
	}
	return "allowed_domains", err.Error()
}

// allows reports whether the domain filter lets a result through. One whose
// address hides where it leads to passes no filter: nothing shows that it is
// allowed, or that it is not blocked.
func (r request) allows(res adapter.Result) bool {
	return r.filter.Allows(res.URL) && (!res.Hidden || r.filter.Empty())
}

// overfetch is how many times more rows are asked for when the domain filter
// will throw some away.
const overfetch = 2

// hint puts the domain filter into the adapter's terms.
func (r *request) hint() {
	if r.filter.Empty() {
		return
	}
	r.asked.Count *= overfetch
	r.asked.AllowedDomains = r.filter.ServerHint()
	for _, d := range r.filter.Blocked() {
		// The operator has no form for "the subdomains alone", and hiding the
		// domain itself would hide results that the filter lets through.
		if !strings.HasPrefix(d, "*.") {
			r.asked.BlockedDomains = append(r.asked.BlockedDomains, d)
		}
	}
}

// language is the base language of the search: the one named, else the one that
// its script gives away.
func (r request) language() string {
	return cmp.Or(adapter.Base(r.asked.Language), language.Of(r.text))
}

// tooMany is the refusal of a caller's eleventh search within a minute.
func tooMany(limit int) *rpcerr.Error {
	return rpcerr.New(codes.ResourceExhausted, "RATE_LIMITED",
		"at most %d searches a minute are allowed for each user; wait, or work with the results you have", limit)
}
