package extract

import (
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/parse"
)

// Document is a parsed page. Its views do not change it, so they may be asked
// for in any order, by one goroutine.
type Document struct {
	head     *head
	body     *html.Node // the root where there is none
	page     *url.URL   // where it came from; may be nil
	base     *url.URL   // what relative addresses are relative to; may be nil
	query    *goquery.Document
	content  *content.Content // nil until it is asked for
	fromData bool             // content was made of the page's JSON-LD
	ld       []thing          // nil until it is asked for
	meta     *Metadata        // nil until it is asked for
	hidden   *unseen          // nil until it is asked for
	leftOut  int              // entries that the last list lacks
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
	d := &Document{page: pageURL, base: pageURL}
	root, warnings := parse.HTML(page)
	d.warnings = warnings
	d.query = goquery.NewDocumentFromNode(root)
	d.head = collectHead(root)
	if d.body = d.head.body; d.body == nil {
		d.body = root
	}
	if len(d.head.base) > markdown.MaxAddress {
		d.warnings = append(d.warnings, "base: the base address of the page is too long; addresses are relative to the page itself")
	} else if d.head.base != "" {
		if u := resolve(pageURL, d.head.base); u != nil {
			d.base = u
		}
	}
	return d
}

// Warnings are what went less than well, each "name: words".
func (d *Document) Warnings() []string { return d.warnings }

// resolve makes an address absolute; nil when it is empty, or not http or https.
// What does not belong to it is left out as in Markdown.
func resolve(base *url.URL, ref string) *url.URL {
	if ref = markdown.Unquoted(ref); ref == "" {
		return nil
	}
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
