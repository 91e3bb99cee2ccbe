package extract

import (
	"net/url"
	"strings"
)

// Metadata is what a page says about itself, in OpenGraph, JSON-LD, microdata,
// Dublin Core, Twitter cards and plain HTML; what it does not say is empty.
type Metadata struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	SiteName    string `json:"site_name"`
	// Byline names who wrote it.
	Byline string `json:"byline"`
	// Published and Modified are RFC 3339 where they can be read, see date, and
	// else as the page has them.
	Published string `json:"published"`
	Modified  string `json:"modified"`
	// Language is a language tag, such as de-CH.
	Language string `json:"language"`
	// Canonical is the address that the page calls its own, absolute.
	Canonical string `json:"canonical"`
	// Image is the address of the picture that stands for the page, absolute.
	Image string `json:"image"`
}

// Title is what the page calls itself.
func (d *Document) Title() string { return d.Metadata().Title }

// Metadata is what the page says about itself.
func (d *Document) Metadata() Metadata {
	if d.meta == nil {
		m := d.readMetadata()
		d.meta = &m
	}
	return *d.meta
}

func (d *Document) readMetadata() Metadata {
	h := d.head
	about, site := mainThings(d.things())
	m := Metadata{
		Title:       first(ldTitle(about, d.articleTitle()), h.first("dc:title", "dcterm:title", "dcterms:title", "dc.title", "og:title", "weibo:article:title", "weibo:webpage:title", "title", "twitter:title", "parsely-title"), d.articleTitle(), d.headingTitle()),
		Description: first(about.text("description"), h.first("dc:description", "dcterm:description", "dc.description", "og:description", "weibo:article:description", "weibo:webpage:description", "description", "twitter:description")),
		SiteName:    first(thing(about.inner("publisher")).text("name"), h.first("og:site_name", "application-name"), site.text("name")),
		Byline:      first(names(texts(about["author"])), names(texts(about["creator"])), d.metaAuthor(), d.visibleAuthor()),
		Published: first(about.text("datePublished"), h.first("article:published_time", "datepublished", "date", "dc.date.issued", "dc.date", "dcterms.created",
			"dcterms.date", "parsely-pub-date", "pubdate", "publish-date", "sailthru.date", "og:published_time"), h.published),
		Modified: first(about.text("dateModified"), h.first("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified", "lastmod"), h.modified),
		Language: first(h.language, h.first("content-language", "dc.language", "dcterms.language"), about.text("inLanguage"), strings.ReplaceAll(h.first("og:locale"), "_", "-")),
	}
	for _, ref := range []string{h.canonical, h.first("og:url")} {
		if m.Canonical == "" {
			m.Canonical = d.absolute(ref)
		}
	}
	m.Published, m.Modified = date(m.Published), date(m.Modified)
	m.Image = first(d.absolute(h.first("og:image", "og:image:url", "twitter:image", "twitter:image:src")), d.absolute(imageOf(about)))
	return m
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// absolute makes an address of the page absolute; empty when it is none.
func (d *Document) absolute(ref string) string {
	if ref == "" {
		return ""
	}
	if u := resolve(d.base, ref); u != nil {
		return u.String()
	}
	return ""
}

// mainThings are the thing that the page is about, an article before all else,
// and the site.
func mainThings(things []thing) (about, site thing) {
	for _, t := range things {
		switch {
		case t.is("WebSite", "Organization", "NewsMediaOrganization"):
			if site == nil {
				site = t
			}
		case t.isArticle():
			if about == nil || !about.isArticle() {
				about = t
			}
		case about == nil && t.is("Product", "Recipe", "Event", "VideoObject", "Course", "Book", "QAPage", "Question", "SoftwareApplication"):
			about = t
		}
	}
	return about, site
}

// inner is a thing that a property has.
func (t thing) inner(key string) map[string]any {
	m, _ := t[key].(map[string]any)
	return m
}

// ldTitle is the name or headline of an article: the one that looks like the
// title of the page, where both are there and differ.
func ldTitle(t thing, title string) string {
	if t == nil || !t.isArticle() {
		return first(t.text("name"), t.text("headline"))
	}
	name, headline := t.text("name"), t.text("headline")
	if name != "" && headline != "" && name != headline && isSimilar(headline, title) && !isSimilar(name, title) {
		return headline
	}
	return first(name, headline)
}

func imageOf(t thing) string {
	switch v := t["image"].(type) {
	case string:
		return v
	case map[string]any:
		return thing(v).text("url")
	case []any:
		if len(v) > 0 {
			return imageOf(thing{"image": v[0]})
		}
	}
	return ""
}

// names joins the names of authors.
func names(all []string) string {
	var keep []string
	for _, n := range all {
		if !isAddress(n) {
			keep = append(keep, n)
		}
	}
	return strings.Join(keep, ", ")
}

// isAddress tells an address of a profile, which some give as an author.
func isAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != ""
}

// metaAuthor is who wrote the page, by its meta elements.
func (d *Document) metaAuthor() string {
	for _, name := range []string{"dc:creator", "dcterm:creator", "dcterms.creator", "dc.creator", "author", "parsely-author", "article:author", "sailthru.author", "byl"} {
		if v := d.head.byLower[name]; v != "" && !isAddress(v) {
			return v
		}
	}
	return ""
}

// hasByline says whether the metadata are likely to name who wrote the page.
// It does not read the JSON-LD.
func (d *Document) hasByline() bool {
	for _, s := range d.head.scripts {
		if strings.Contains(s, `"author"`) {
			return true
		}
	}
	return d.metaAuthor() != ""
}
