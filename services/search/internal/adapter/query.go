package adapter

import (
	"strings"
	"time"

	"golang.org/x/text/language"
)

// Query is what is asked of an engine, already checked by the service. The zero
// value of every option leaves it to the engine.
type Query struct {
	// Text is the query as the caller wrote it, trimmed.
	Text string
	// Count is how many rows are wanted, before filtering.
	Count int
	// Page is which page of results, from 1; 0 is the first one too.
	Page int
	// AllowedDomains and BlockedDomains are hints for the engine, in the form
	// of its site operator (example.com or example.com/docs): the service
	// filters the results itself in any case. At most one of them is set.
	AllowedDomains, BlockedDomains []string
	// Freshness is how old results may be.
	Freshness Freshness
	// Language is a BCP 47 tag, such as zh-Hans. Without one, the script of
	// the text is taken for a hint where the engine needs one.
	Language string
	// Region is the ISO 3166-1 alpha-2 code, in capitals, of the country for
	// which is searched.
	Region string
	// SafeSearch is how strictly adult content is left out.
	SafeSearch SafeSearch
	// Location is where the asking person roughly is.
	Location Location
	// News asks for news instead of pages.
	News bool
	// Passages asks for the text of the pages beside their snippets.
	Passages bool
	// PassageTokens is the budget of all passages together; 0 leaves it to the
	// engine. It counts with Passages alone.
	PassageTokens int
}

// SafeSearch is how strictly adult content is left out.
type SafeSearch string

// The levels of SafeSearch.
const (
	SafeDefault  SafeSearch = ""
	SafeOff      SafeSearch = "off"
	SafeModerate SafeSearch = "moderate"
	SafeStrict   SafeSearch = "strict"
)

// Window is an age that results may have at most.
type Window string

// The windows.
const (
	Day   Window = "day"
	Week  Window = "week"
	Month Window = "month"
	Year  Window = "year"
)

// Windows lists all windows, the shortest first.
func Windows() []Window { return []Window{Day, Week, Month, Year} }

// Freshness is a span of days in which results were published. It is made by
// Within or Between.
type Freshness struct {
	// Window is set when the span reaches back from today.
	Window Window
	// From and To are the first and the last day, at midnight UTC. They are set
	// in any case, for engines that know ranges alone.
	From, To time.Time
}

// Within is the span of a window that ends today.
func Within(w Window, today time.Time) Freshness {
	f := Freshness{Window: w, To: day(today)}
	switch w {
	case Day:
		f.From = f.To.AddDate(0, 0, -1)
	case Week:
		f.From = f.To.AddDate(0, 0, -7)
	case Month:
		f.From = f.To.AddDate(0, -1, 0)
	case Year:
		f.From = f.To.AddDate(-1, 0, 0)
	}
	return f
}

// Between is the span from one day to another, both included.
func Between(from, to time.Time) Freshness { return Freshness{From: day(from), To: day(to)} }

func day(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// IsZero reports whether results of any age will do.
func (f Freshness) IsZero() bool { return f.To.IsZero() }

// Location is where somebody roughly is. Any field may be empty.
type Location struct {
	City, Region string
	// Country is an ISO 3166-1 alpha-2 code in capitals.
	Country string
	// Timezone is a name of the IANA database, such as Asia/Shanghai.
	Timezone string
	// Latitude and Longitude are in degrees; both 0 when not known.
	Latitude, Longitude float64
}

// IsZero reports whether nothing is known.
func (l Location) IsZero() bool { return l == Location{} }

// HasPoint reports whether the coordinates are known.
func (l Location) HasPoint() bool { return l.Latitude != 0 || l.Longitude != 0 }

// PageNumber is the number of the page asked for, from 1.
func (q Query) PageNumber() int { return max(q.Page, 1) }

// Base is the base language of a BCP 47 tag, "zh" of zh-Hans-CN; it is empty
// when the tag cannot be read or names none ("und").
func Base(tag string) string {
	t, err := language.Parse(tag)
	if err != nil {
		return ""
	}
	base, _, _ := t.Raw()
	switch b := base.String(); b {
	case "und":
		return ""
	case "nb", "nn":
		return "no" // engines know one Norwegian
	case "cmn":
		return "zh"
	default:
		return b
	}
}

// RegionOf is the country that a BCP 47 tag names, "GB" of en-GB; empty when it
// names none.
func RegionOf(tag string) string {
	t, err := language.Parse(tag)
	if err != nil {
		return ""
	}
	if region, confidence := t.Region(); confidence == language.Exact && region.IsCountry() {
		return region.String()
	}
	return ""
}

// Traditional reports whether a Chinese tag means traditional characters, by
// its script or its region.
func Traditional(tag string) bool {
	t, err := language.Parse(tag)
	if err != nil {
		return false
	}
	script, _ := t.Script()
	return strings.EqualFold(script.String(), "Hant")
}
