package adapter

import (
	"slices"

	"github.com/nanoclaw/nanoclaw/services/search/internal/language"
)

// Capabilities is what an engine can do. The zero value can nothing but search
// the first page.
type Capabilities struct {
	// Family is the index behind the engine. Engines of one family agreeing is
	// no independent evidence: DuckDuckGo shows Bing's results.
	Family string
	// NeedsKey says that the engine answers only to a key of the operator.
	NeedsKey bool
	// NeedsAddress says that the engine has no address of its own and runs
	// where the operator says.
	NeedsAddress bool
	// Scraped says that pages made for people are read. Such engines block
	// addresses that ask too often.
	Scraped bool
	// Decoys says that the engine is known to answer with rows of other queries,
	// so that its rows are held against the query (package relevance). Engines
	// that search by meaning are not: their rows need no word of the query.
	Decoys bool
	// CostUSD is what one call costs at the list price, in US dollars; 0 for
	// free. What a call did cost is in Page.CostUSD.
	CostUSD float64
	// MaxQueryRunes and MaxQueryWords bound a query; 0 for no bound below the
	// service's own. A longer one is sent short and Plan says so.
	MaxQueryRunes, MaxQueryWords int
	// MaxCount is the most rows that a page can be asked for; 0 when the engine
	// sends as many as it likes.
	MaxCount int
	// MaxPage is the last page that can be asked for; 0 and 1 mean the first.
	MaxPage int
	// AllowedDomains and BlockedDomains are how many domains a request can
	// name. 0 leaves it to the service's own filter.
	AllowedDomains, BlockedDomains int
	// Windows are the ages that can be asked for.
	Windows []Window
	// Range says that any span of days can be asked for, and so every window.
	Range bool
	// Languages are base languages (ISO 639) that can be asked for; Any alone
	// for all.
	Languages []string
	// Regions are countries (ISO 3166-1 alpha-2) that can be asked for; Any
	// alone for all.
	Regions []string
	// SafeSearch are the levels that can be asked for.
	SafeSearch []SafeSearch
	// Location says that it matters where the asking person is.
	Location bool
	// News says that news can be asked for.
	News bool
	// Passages says that the text of pages can be asked for; PassageTokens that
	// their length can.
	Passages, PassageTokens bool
}

// Any stands for all languages or all countries.
const Any = "*"

func covers(list []string, one string) bool {
	return one != "" && (slices.Contains(list, one) || slices.Contains(list, Any))
}

// Missing names the options of q that the engine lacks, in the order of
// Options.
func (c Capabilities) Missing(q Query) Dropped {
	var missing Dropped
	for _, o := range Options() {
		if !c.has(o, q) {
			missing = append(missing, o)
		}
	}
	return missing
}

// has reports whether option o of q is left to the engine or can be expressed.
func (c Capabilities) has(o Option, q Query) bool {
	switch o {
	case OptionMaxResults:
		return q.Count <= 0 || q.Count <= c.MaxCount
	case OptionPage:
		return q.PageNumber() <= max(c.MaxPage, 1)
	case OptionAllowedDomains:
		return len(q.AllowedDomains) <= c.AllowedDomains
	case OptionBlockedDomains:
		return len(q.BlockedDomains) <= c.BlockedDomains
	case OptionFreshness:
		return q.Freshness.IsZero() || c.Range || slices.Contains(c.Windows, q.Freshness.Window)
	case OptionLanguage:
		return q.Language == "" || covers(c.Languages, Base(q.Language))
	case OptionRegion:
		return q.Region == "" || covers(c.Regions, q.Region)
	case OptionSafeSearch:
		return q.SafeSearch == SafeDefault || slices.Contains(c.SafeSearch, q.SafeSearch)
	case OptionLocation:
		return q.Location.IsZero() || c.Location
	case OptionNews:
		return !q.News || c.News
	case OptionPassages:
		return !q.Passages || c.Passages
	case OptionPassageTokens:
		return !q.Passages || q.PassageTokens <= 0 || c.PassageTokens
	}
	return false
}

// Fit gives q without the options that the engine lacks, and their names. A
// count beyond the engine's is lowered to the most there is.
func (c Capabilities) Fit(q Query) (Query, Dropped) {
	missing := c.Missing(q)
	for _, o := range missing {
		switch o {
		case OptionMaxResults:
			q.Count = c.MaxCount
		case OptionPage:
			q.Page = 0
		case OptionAllowedDomains:
			q.AllowedDomains = nil
		case OptionBlockedDomains:
			q.BlockedDomains = nil
		case OptionFreshness:
			q.Freshness = Freshness{}
		case OptionLanguage:
			q.Language = ""
		case OptionRegion:
			q.Region = ""
		case OptionSafeSearch:
			q.SafeSearch = SafeDefault
		case OptionLocation:
			q.Location = Location{}
		case OptionNews:
			q.News = false
		case OptionPassages:
			q.Passages, q.PassageTokens = false, 0
		case OptionPassageTokens:
			q.PassageTokens = 0
		}
	}
	return q, missing
}

// LanguageOf is the base language to be asked for: the one named, else the one
// that the script of the text gives away, as far as the engine knows it.
func (c Capabilities) LanguageOf(q Query) string {
	if base := Base(q.Language); base != "" {
		return base
	}
	if base := language.Of(q.Text); covers(c.Languages, base) {
		return base
	}
	return ""
}

// Shorten cuts a text to what the engine takes, at a word's end where there is
// one and never within a character or an operator, and reports whether it had
// to.
func (c Capabilities) Shorten(text string) (string, bool) {
	short := text
	if c.MaxQueryWords > 0 {
		short = firstWords(short, c.MaxQueryWords)
	}
	if c.MaxQueryRunes > 0 {
		short = firstRunes(short, c.MaxQueryRunes)
	}
	if short == text {
		return text, false
	}
	return tidy(short), true
}
