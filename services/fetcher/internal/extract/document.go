package extract

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxParse is how much of a page is parsed, in bytes.
const maxParse = 5 << 20

// Document is a parsed page. Its views do not change it, so they may be asked
// for in any order.
type Document struct {
	root     *html.Node
	body     *html.Node
	base     *url.URL
	page     *url.URL
	query    *goquery.Document
	warnings []string
}

// Selectors are compiled once: a string selector compiles at every call.
var (
	selBase    = cascadia.MustCompile("base[href]")
	selTitle   = cascadia.MustCompile("title")
	selMeta    = cascadia.MustCompile("meta[content]")
	selHTML    = cascadia.MustCompile("html")
	selHeading = cascadia.MustCompile("h1,h2,h3,h4,h5,h6")
	selP       = cascadia.MustCompile("p")
	selA       = cascadia.MustCompile("a[href],area[href]")
	selImg     = cascadia.MustCompile("img")
	selLink    = cascadia.MustCompile("link[rel][href]")
)

// Parse reads UTF-8 HTML. pageURL is where it came from, after redirects; nil
// leaves relative addresses out.
func Parse(page []byte, pageURL *url.URL) *Document {
	d := &Document{page: pageURL}
	if len(page) > maxParse {
		page = page[:maxParse]
		for len(page) > 0 && !utf8.RuneStart(page[len(page)-1]) {
			page = page[:len(page)-1]
		}
		d.warn("page_cut: only the first 5 MiB of the page were read")
	}
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		// The parser gives up beyond 512 open elements.
		root = parseFlat(page)
		d.warn("deep_nesting: the page nests too deeply to be parsed whole; read as a flat sequence")
	}
	d.root = root
	d.query = goquery.NewDocumentFromNode(root)
	d.body = firstElement(root, atom.Body)
	if d.body == nil {
		d.body = root
	}
	d.base = pageURL
	if href, ok := d.query.FindMatcher(selBase).First().Attr("href"); ok {
		if u := resolve(pageURL, href); u != nil {
			d.base = u
		}
	}
	return d
}

// Warnings are what went less than well, each "name: words".
func (d *Document) Warnings() []string { return d.warnings }

func (d *Document) warn(w string) { d.warnings = append(d.warnings, w) }

// resolve makes an address absolute; nil when it is not http or https. White
// space inside is dropped as browsers do (URL standard, "strip tab and
// newline").
func resolve(base *url.URL, ref string) *url.URL {
	ref = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimSpace(ref))
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil
	}
	return u
}

// firstElement is the first element of a kind, in document order.
func firstElement(n *html.Node, a atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == a {
			return d
		}
	}
	return nil
}

// attr gives the value of an attribute, or "".
func attr(n *html.Node, key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key && n.Attr[i].Namespace == "" {
			return n.Attr[i].Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return true
		}
	}
	return false
}

// fold collapses white space.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
