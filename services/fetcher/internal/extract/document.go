package extract

import (
	"bytes"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// maxParse is how much of a page is parsed, in bytes.
const maxParse = 5 << 20

// Document is a parsed page. Its views do not change it, so they may be asked
// for in any order.
type Document struct {
	head     head
	body     *html.Node // the root where there is none
	base     *url.URL   // what relative addresses are relative to; may be nil
	query    *goquery.Document
	warnings []string
}

// Selectors are compiled once: a string selector compiles at every call.
var (
	selHeading = cascadia.MustCompile("h1,h2,h3,h4,h5,h6")
	selP       = cascadia.MustCompile("p")
	selA       = cascadia.MustCompile("a[href],area[href]")
	selImg     = cascadia.MustCompile("img")
)

// Parse reads UTF-8 HTML. pageURL is where it came from, after redirects; nil
// leaves relative addresses out.
func Parse(page []byte, pageURL *url.URL) *Document {
	d := &Document{base: pageURL}
	if len(page) > maxParse {
		page = page[:maxParse]
		for r, n := utf8.DecodeLastRune(page); r == utf8.RuneError && n == 1; r, n = utf8.DecodeLastRune(page) {
			page = page[:len(page)-1] // part of the character that was cut
		}
		d.warn("page_cut: only the first 5 MiB of the page were read")
	}
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		// The parser gives up beyond 512 open elements.
		root = parseFlat(page)
		d.warn("deep_nesting: the page nests too deeply to be parsed whole; read as a flat sequence")
	}
	d.query = goquery.NewDocumentFromNode(root)
	d.head = collectHead(root)
	if d.body = d.head.body; d.body == nil {
		d.body = root
	}
	if d.head.base != "" {
		if u := resolve(pageURL, d.head.base); u != nil {
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
