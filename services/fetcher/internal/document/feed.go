package document

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/mmcdole/gofeed"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Feed is an RSS, Atom or JSON feed. Times are RFC 3339, or empty.
type Feed struct {
	Title, Description, URL, Language, Updated string
	Items                                      []FeedItem
}

// FeedItem is one entry; Summary is its text without markup.
type FeedItem struct {
	Title, URL, ID, Author, Published, Updated, Summary string
	Categories                                          []string
}

// Limits of feeds.
const (
	maxFeedItems  = 10_000
	maxCategories = 50
)

// readFeed reads a feed: its entries with their texts. XML that does not parse as
// one stays as it is.
func readFeed(ctx context.Context, in *Request) (*Document, error) {
	text := in.Text
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		text = withoutDeclaration(text)
		if err := checkXMLDepth(ctx, text); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return unreadableFeed(in, err), nil
		}
	}
	got, err := gofeed.NewParser().ParseString(text)
	if err != nil {
		return unreadableFeed(in, err), nil
	}
	d := &Document{Kind: KindFeed, Blocks: []Block{}}
	w := &writer{doc: d, left: in.MaxText}
	base := in.URL
	f := &Feed{
		Title: oneLine(htmlText(got.Title), maxProperty), Description: oneLine(htmlText(got.Description), maxProperty),
		URL: absolute(base, got.Link), Language: oneLine(got.Language, maxProperty), Updated: timeOr(got.UpdatedParsed, got.PublishedParsed),
	}
	d.Feed = f
	d.About = About{Title: f.Title, Description: f.Description, Language: f.Language, Modified: f.Updated}
	if f.Title != "" {
		w.add(plainBlock(Heading, 1, f.Title))
	}
	if f.Description != "" {
		w.add(plainBlock(Paragraph, 0, f.Description))
	}
	for i, entry := range got.Items {
		if w.full() || i == maxFeedItems {
			d.Cut = true
			d.warn("entry_limit: the first %d of %d entries were read", i, len(got.Items))
			break
		}
		f.add(w, base, entry)
	}
	return d, nil
}

// unreadableFeed is the text of what looks like a feed and is none.
func unreadableFeed(in *Request, err error) *Document {
	d := &Document{Plain: in.Text}
	d.warn("feed: it cannot be read as a feed and is shown as it is: %.200s", strings.ToValidUTF8(err.Error(), "\uFFFD"))
	return d
}

func (f *Feed) add(w *writer, base *url.URL, entry *gofeed.Item) {
	body := entry.Content
	if len(body) < len(entry.Description) {
		body = entry.Description
	}
	item := FeedItem{
		Title: w.take(oneLine(htmlText(entry.Title), maxProperty)), URL: absolute(base, entry.Link), ID: oneLine(entry.GUID, maxProperty),
		Published: timeOr(entry.PublishedParsed), Updated: timeOr(entry.UpdatedParsed), Summary: w.take(htmlText(body)),
	}
	var authors []string
	for i, a := range entry.Authors {
		if a != nil && a.Name != "" && i < maxCategories {
			authors = append(authors, oneLine(a.Name, maxProperty))
		}
	}
	item.Author = w.take(strings.Join(authors, ", "))
	for i, c := range entry.Categories {
		if i == maxCategories {
			break
		}
		item.Categories = append(item.Categories, w.take(oneLine(c, maxProperty)))
	}
	f.Items = append(f.Items, item)
	title := item.Title
	if title == "" {
		title = item.URL
	}
	w.push(Block{Kind: Heading, Level: 2, Spans: []Span{{Text: title, URL: item.URL}}})
	var by []string
	for _, s := range []string{item.Published, item.Author} {
		if s != "" {
			by = append(by, s)
		}
	}
	if len(by) > 0 {
		w.push(plainBlock(Paragraph, 0, strings.Join(by, ", ")))
	}
	for p := range strings.SplitSeq(item.Summary, "\n\n") {
		if p != "" {
			w.push(plainBlock(Paragraph, 0, p))
		}
	}
}

// timeOr is the first time that there is.
func timeOr(times ...*time.Time) string {
	for _, t := range times {
		if t != nil && t.Year() > 0 && t.Year() < 10000 {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

// absolute resolves a link; what is not http or https is empty.
func absolute(base *url.URL, ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if err != nil {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return ""
	}
	return u.String()
}

// withoutDeclaration drops <?xml ...?>: its encoding is not that of the text any
// more.
func withoutDeclaration(text string) string {
	text = strings.TrimLeft(text, "\ufeff \t\r\n")
	if strings.HasPrefix(text, "<?xml") {
		if _, rest, found := strings.Cut(text, "?>"); found {
			return rest
		}
	}
	return text
}

// checkXMLDepth refuses XML that nests deeply, which would exhaust the stack of a
// parser that calls itself for every element.
func checkXMLDepth(ctx context.Context, text string) error {
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.Strict = false
	depth := 0
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errTooDeep
			}
		case xml.EndElement:
			depth = max(depth-1, 0)
		}
	}
}

// htmlText is the text of a fragment of HTML: paragraphs apart by an empty line,
// white space folded.
func htmlText(fragment string) string {
	if !strings.ContainsAny(fragment, "<&") {
		return strings.TrimSpace(foldLines(fragment))
	}
	var out strings.Builder
	z := html.NewTokenizer(strings.NewReader(fragment))
	hidden := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(foldLines(out.String()))
		case html.TextToken:
			if hidden == 0 {
				out.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); {
			case a == atom.Script || a == atom.Style:
				hidden++
			case isBlock(a):
				out.WriteString(paragraphMark)
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			switch a := atom.Lookup(name); {
			case (a == atom.Script || a == atom.Style) && hidden > 0:
				hidden--
			case isBlock(a):
				out.WriteString(paragraphMark)
			}
		case html.SelfClosingTagToken:
			if name, _ := z.TagName(); isBlock(atom.Lookup(name)) {
				out.WriteString(paragraphMark)
			}
		}
	}
}

// paragraphMark parts paragraphs until white space is folded.
const paragraphMark = "\u2029"

// foldLines folds white space inside paragraphs.
func foldLines(s string) string {
	var parts []string
	for p := range strings.SplitSeq(s, paragraphMark) {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "\n\n")
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Br, atom.Li, atom.Ul, atom.Ol, atom.Blockquote, atom.Pre, atom.Table, atom.Tr, atom.Hr,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Figure, atom.Section, atom.Article:
		return true
	}
	return false
}
