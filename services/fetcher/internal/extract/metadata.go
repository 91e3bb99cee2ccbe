package extract

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Metadata is what a page says about itself; what it does not say is empty.
type Metadata struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	SiteName    string `json:"site_name"`
	Byline      string `json:"byline"`
	Published   string `json:"published"`
	Language    string `json:"language"`
	Canonical   string `json:"canonical"`
}

// head is what one walk over the page collects of what the page says about
// itself, wherever it says it: heads are often in the body.
type head struct {
	title     string
	language  string
	base      string
	canonical string
	meta      map[string]string // by name, property or itemprop as written; the first wins
	byLower   map[string]string // the same by lower-case name, without empty ones
	article   bool              // it calls itself an article
	types     string            // JSON-LD and microdata types
	h1s       int               // how many first level headings there are
	body, h1  *html.Node
}

func collectHead(root *html.Node) head {
	h := head{meta: map[string]string{}, byLower: map[string]string{}}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Html:
			h.language = strings.TrimSpace(attr(n, "lang"))
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
			h.article = h.article || isArticleData(n)
			if n.FirstChild != nil && strings.Contains(attr(n, "type"), "ld+json") {
				h.types += typesOf(n.FirstChild.Data)
			}
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
		h.article = h.article || strings.Contains(attr(n, "itemprop"), "articleBody")
		if v := attr(n, "itemtype"); v != "" {
			h.types += "\"" + v + "\" "
		}
	}
	h.article = h.article || strings.EqualFold(h.byLower["og:type"], "article") || h.byLower["article:published_time"] != ""
	return h
}

func (h *head) addMeta(n *html.Node) {
	if !hasAttr(n, "content") {
		return
	}
	content := strings.TrimSpace(attr(n, "content"))
	for _, key := range []string{"name", "property", "itemprop"} {
		name := strings.TrimSpace(attr(n, key))
		if name == "" {
			continue
		}
		if _, known := h.meta[name]; !known && key != "itemprop" {
			h.meta[name] = content
		}
		if lower := strings.ToLower(name); h.byLower[lower] == "" {
			h.byLower[lower] = fold(content)
		}
	}
}

// isArticleData tells JSON-LD that describes an article, by its type's name.
func isArticleData(n *html.Node) bool {
	if n.FirstChild == nil || !strings.EqualFold(strings.TrimSpace(attr(n, "type")), "application/ld+json") {
		return false
	}
	return strings.Contains(n.FirstChild.Data, `Article"`) || strings.Contains(n.FirstChild.Data, `BlogPosting"`)
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

// Title is the title element, else what the page calls itself elsewhere.
func (d *Document) Title() string {
	if d.head.title != "" {
		return d.head.title
	}
	if title := d.head.first("og:title", "twitter:title"); title != "" {
		return title
	}
	if d.head.h1 != nil {
		return textOf(d.head.h1)
	}
	return ""
}

// Metadata is what the page says about itself.
func (d *Document) Metadata() Metadata {
	m := Metadata{
		Title:       d.Title(),
		Description: d.head.first("description", "og:description", "twitter:description"),
		SiteName:    d.head.first("og:site_name", "application-name"),
		Byline:      d.head.first("author", "article:author", "dc.creator", "parsely-author"),
		Published:   d.head.first("article:published_time", "datepublished", "date", "dc.date", "pubdate", "parsely-pub-date"),
		Language:    d.head.language,
	}
	if u, err := url.Parse(m.Byline); err == nil && u.Scheme != "" && u.Host != "" {
		m.Byline = "" // article:author is often the address of a profile
	}
	if d.head.canonical != "" {
		if u := resolve(d.base, d.head.canonical); u != nil {
			m.Canonical = u.String()
		}
	}
	return m
}

// typesOf gives all values of @type in a piece of JSON-LD, each in quotes.
func typesOf(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, `"@type"`)
		if i < 0 {
			return b.String()
		}
		s = s[i+len(`"@type"`):]
		end := min(len(s), 120)
		part := s[:end]
		if j := strings.IndexAny(part, ",}"); j > 0 {
			part = part[:j]
		}
		b.WriteString(part)
		b.WriteByte(' ')
	}
}
