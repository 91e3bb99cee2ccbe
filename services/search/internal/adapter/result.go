package adapter

// Result is one organic row.
type Result struct {
	Title string
	// URL is the final address, unwrapped from the engine's redirects.
	URL string
	// Hidden says that URL is a redirect of the engine's, and that only the engine
	// knows where to: it can be followed, but belongs to no domain that is known.
	Hidden  bool `json:",omitempty"`
	Snippet string
	// PublishedAt is RFC 3339, or empty when the page tells no date.
	PublishedAt string
	// SiteName is the site's own name, where the engine tells it.
	SiteName string `json:",omitempty"`
	// Language is a BCP 47 tag, where the engine tells it.
	Language string `json:",omitempty"`
	// Passages are parts of the page's text, where the engine sends them.
	Passages []Passage `json:",omitempty"`
}

// PassageKind says how a passage is to be read.
type PassageKind string

// The kinds of passages.
const (
	Prose PassageKind = "prose"
	// JSON is a table or a record that the engine took from the page as data.
	JSON PassageKind = "json"
)

// Passage is a part of a page's text.
type Passage struct {
	Text string
	Kind PassageKind
	// Cut says that the text was longer.
	Cut bool `json:",omitempty"`
}

// Page is what was read from an answer.
type Page struct {
	Results []Result
	// HasList says, of a page without results, that the engine's list is there,
	// only nothing in it is understood.
	HasList bool `json:",omitempty"`
	// AlteredQuery is the query that the results are for, when the engine
	// says that it is not the one asked.
	AlteredQuery string
	// SearchedQuery is the query that the engine says it searched, where it
	// phrases queries itself. It may well be the one asked.
	SearchedQuery string
	// Limits is what the engine says about its allowance.
	Limits Limits
	// CostUSD is what the call cost in US dollars, as far as the answer tells.
	CostUSD float64
}

// WithoutResults is p without results: what is known even when there are none.
func (p Page) WithoutResults() Page { return Page{Limits: p.Limits, CostUSD: p.CostUSD} }
