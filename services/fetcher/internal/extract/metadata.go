package extract

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
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

// Title is the title element, else what the page calls itself elsewhere.
func (d *Document) Title() string {
	title := ""
	d.query.FindMatcher(selTitle).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if n := s.Get(0); n.Namespace == "" && n.FirstChild != nil { // not the title of a drawing
			title = fold(n.FirstChild.Data)
		}
		return title == ""
	})
	if title != "" {
		return title
	}
	if title = d.meta("og:title", "twitter:title"); title != "" {
		return title
	}
	if h1 := firstElement(d.root, atom.H1); h1 != nil {
		return textOf(h1)
	}
	return ""
}

// Metadata collects what the page says about itself.
func (d *Document) Metadata() Metadata {
	m := Metadata{
		Title:       d.Title(),
		Description: d.meta("description", "og:description", "twitter:description"),
		SiteName:    d.meta("og:site_name", "application-name"),
		Byline:      d.meta("author", "article:author", "dc.creator", "parsely-author"),
		Published:   d.meta("article:published_time", "datepublished", "date", "dc.date", "pubdate", "parsely-pub-date"),
		Language:    strings.TrimSpace(d.query.FindMatcher(selHTML).First().AttrOr("lang", "")),
	}
	if strings.HasPrefix(m.Byline, "http://") || strings.HasPrefix(m.Byline, "https://") {
		m.Byline = "" // article:author is often the address of a profile
	}
	d.query.FindMatcher(selLink).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		n := s.Get(0)
		if strings.EqualFold(strings.TrimSpace(attr(n, "rel")), "canonical") {
			if u := resolve(d.base, attr(n, "href")); u != nil {
				m.Canonical = u.String()
			}
		}
		return m.Canonical == ""
	})
	return m
}

// meta is the content of the first of names that the page has.
func (d *Document) meta(names ...string) string {
	found := map[string]string{}
	d.query.FindMatcher(selMeta).Each(func(_ int, s *goquery.Selection) {
		n := s.Get(0)
		for _, key := range []string{"name", "property", "itemprop"} {
			name := strings.ToLower(strings.TrimSpace(attr(n, key)))
			if name != "" && found[name] == "" {
				found[name] = fold(attr(n, "content"))
			}
		}
	})
	for _, name := range names {
		if found[name] != "" {
			return found[name]
		}
	}
	return ""
}
