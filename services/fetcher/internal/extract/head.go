package extract

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
)

// head is what one walk over the page collects of what the page says about
// itself, wherever it says it: heads are often in the body.
type head struct {
	title, language, base, canonical string
	published, modified              string
	meta                             map[string]string // by name or property as written; the first wins
	byLower                          map[string]string // the same and itemprop by lower-case name, without empty ones
	scripts                          []string          // JSON-LD
	types                            strings.Builder   // all types of JSON-LD and microdata, each in quotes
	body, h1, byline                 *html.Node        // the first ones
	h1s                              int               // how many first level headings there are
	elements                         int               // how many elements there are
	depths                           int               // in how many others they are, in all
	bylines                          int               // how many elements named after an author were looked at
}

// maxTypes is how many bytes of types are kept.
const maxTypes = 16 << 10

func collectHead(root *html.Node) *head {
	h := &head{meta: map[string]string{}, byLower: map[string]string{}}
	h.walk(root, 1)
	return h
}

func (h *head) addTypes(s string) {
	if h.types.Len()+len(s) <= maxTypes {
		h.types.WriteString(s)
	}
}

func (h *head) walk(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			h.depths += depth
			h.element(c)
			h.walk(c, depth+1)
		}
	}
}

func (h *head) element(n *html.Node) {
	h.elements++
	switch n.DataAtom {
	case atom.Html:
		h.language = strings.TrimSpace(attr(n, "lang"))
		if h.language == "" {
			h.language = strings.TrimSpace(attr(n, "xml:lang"))
		}
	case atom.Title:
		if h.title == "" && n.Namespace == "" && n.FirstChild != nil { // not the title of a drawing
			h.title = fold(n.FirstChild.Data)
		}
	case atom.Base:
		if h.base == "" {
			h.base = strings.TrimSpace(attr(n, "href"))
		}
	case atom.Link:
		if h.canonical == "" && strings.EqualFold(strings.TrimSpace(attr(n, "rel")), "canonical") {
			h.canonical = attr(n, "href")
		}
	case atom.Meta:
		h.addMeta(n)
	case atom.Script:
		if n.FirstChild != nil && strings.Contains(attr(n, "type"), "ld+json") {
			h.scripts = append(h.scripts, n.FirstChild.Data)
			h.addTypes(ldTypes(n.FirstChild.Data))
		}
	case atom.Time:
		h.addTime(n)
	case atom.Body:
		if h.body == nil {
			h.body = n
		}
	case atom.H1:
		h.h1s++
		if h.h1 == nil {
			h.h1 = n
		}
	}
	h.attributes(n)
}

// attributes looks for microdata and for the first line that says who wrote
// the page.
func (h *head) attributes(n *html.Node) {
	author := false
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "itemtype":
			h.addTypes(`"` + a.Val + `" `)
		case "itemprop":
			author = author || strings.Contains(a.Val, "author")
		case "rel":
			author = author || a.Val == "author"
		case "class", "id":
			author = author || clean.IsByline(a.Val)
		}
	}
	if author && h.byline == nil && h.bylines < maxBylines && n.DataAtom != atom.Meta && n.DataAtom != atom.Link && n.DataAtom != atom.Body {
		h.bylines++
		if t := fold(content.PlainText(n, 4*maxByline)); t != "" && utf8.RuneCountInString(t) < maxByline && wordCount(t) <= maxBylineWords {
			h.byline = n
		}
	}
}

// Limits of a line that says who wrote a page, in characters and words, and how
// many elements are taken for one that are none.
const (
	maxByline      = 100
	maxBylineWords = 12
	maxBylines     = 200
)

// addTime keeps the first date that microdata names.
func (h *head) addTime(n *html.Node) {
	when := strings.TrimSpace(attr(n, "datetime"))
	if when == "" {
		return
	}
	switch prop := attr(n, "itemprop"); {
	case strings.Contains(prop, "dateModified"):
		h.modified = first(h.modified, when)
	case strings.Contains(prop, "datePublished") || hasAttr(n, "pubdate") || strings.Contains(attr(n, "class"), "published"):
		h.published = first(h.published, when)
	}
}

func (h *head) addMeta(n *html.Node) {
	if !hasAttr(n, "content") {
		return
	}
	value := strings.TrimSpace(attr(n, "content"))
	for _, key := range []string{"name", "property", "itemprop", "http-equiv"} {
		name := strings.TrimSpace(attr(n, key))
		if name == "" {
			continue
		}
		if _, known := h.meta[name]; !known && (key == "name" || key == "property") {
			h.meta[name] = value
		}
		// One property may have several names (ogp.me: prefixes of RDFa).
		for _, lower := range strings.Fields(strings.ToLower(name)) {
			if h.byLower[lower] == "" {
				h.byLower[lower] = fold(html.UnescapeString(value))
			}
		}
	}
}

// first is the content of the first of names that the page has.
func (h *head) first(names ...string) string {
	for _, name := range names {
		if v := h.byLower[name]; v != "" {
			return v
		}
	}
	return ""
}

// ldTypes gives the values of @type in a piece of JSON-LD, each in quotes.
func ldTypes(s string) string {
	const key, longest = `"@type"`, 120
	var b strings.Builder
	for {
		i := strings.Index(s, key)
		if i < 0 || b.Len() > maxTypes {
			return b.String()
		}
		s = s[i+len(key):]
		value := s[:min(len(s), longest)]
		if end := strings.IndexAny(value, ",}"); end > 0 {
			value = value[:end]
		}
		b.WriteString(value)
		b.WriteByte(' ')
	}
}
