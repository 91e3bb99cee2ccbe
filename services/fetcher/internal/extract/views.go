package extract

import (
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"
)

// minParagraph is how many characters a paragraph of the structured view has
// more than.
const minParagraph = 20

// Link is one link of a page.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Image is one image of a page.
type Image struct {
	Alt string `json:"alt"`
	Src string `json:"src"`
}

// Heading is one heading of a page; Level is 1 to 6.
type Heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
}

// Structured is a page in parts.
type Structured struct {
	Title      string            `json:"title"`
	Meta       map[string]string `json:"meta"`
	Headings   []Heading         `json:"headings"`
	Paragraphs []string          `json:"paragraphs"`
}

// Text is the main content: paragraphs apart by an empty line, white space
// folded, preformatted text as it stands. A page whose content cannot be told
// from its frame gives all its text. The warnings are those of the content.
func (d *Document) Text() (text string, warnings []string) {
	c := d.Content()
	var w textWriter
	w.write(c.Root, c.Skip)
	return w.String(), d.ContentWarnings()
}

// ContentWarnings are what a reader of the content must know of it, each "name:
// words".
func (d *Document) ContentWarnings() []string {
	c := d.Content()
	var warnings []string
	switch {
	case d.large():
		warnings = append(warnings, fmt.Sprintf("page_large: the page has %d elements, each in %d others on average; its main content was not looked for", d.head.elements, d.head.depths/d.head.elements))
	case d.fromData:
		warnings = append(warnings, "from_data: the elements of the page have little of its text; it was read from the page's JSON-LD")
	case c.IsWhole():
		warnings = append(warnings, "whole_page: no main content was found; this is all text of the page")
	case c.Revealed:
		warnings = append(warnings, "revealed: nearly all of the page is hidden until its scripts run; it is read as if they had")
	}
	return append(warnings, hiddenWarnings(c.Hidden)...)
}

// PageWarnings are what a reader of the views of all of the page must know.
func (d *Document) PageWarnings() []string { return hiddenWarnings(d.Unseen()) }

func hiddenWarnings(letters int) []string {
	if letters == 0 {
		return nil
	}
	return []string{fmt.Sprintf("hidden_text: %d characters that readers of the page do not see were left out", letters)}
}

// maxElements is how many elements a page has at most whose content is looked
// for, and maxDepths in how many others they are in all: the time to judge what is
// in each other grows with it. Real pages have some hundred thousand.
const (
	maxElements = 150_000
	maxDepths   = 4_000_000
)

// large reports whether the content of the page is not looked for.
func (d *Document) large() bool {
	return d.head.elements > maxElements || d.head.depths > maxDepths
}

// maxLinkText is how much of the text of a link is given, in bytes.
const maxLinkText = 1000

// Content is the part of the page that its readers came for. It is found at
// the first call.
func (d *Document) Content() *content.Content {
	switch {
	case d.content != nil:
	case d.large():
		d.content = content.Whole(d.body)
		d.content.Hidden = d.Unseen()
	default:
		t := clean.Build(d.body)
		d.content = content.Find(t, content.Page{Title: d.articleTitle(), HasByline: d.hasByline(), Cues: d.cues()})
		t.Free()
		if from := d.dataContent(d.content); from != nil {
			d.content, d.fromData = from, true
		}
	}
	return d.content
}

// FullText is all text of the page, the frame of the site too, less scripts
// and the like and less what no reader sees.
func (d *Document) FullText() string {
	var w textWriter
	hides := d.unseen().hides
	w.write(d.body, func(n *html.Node) bool { return n != d.body && hides(n) })
	return w.String()
}

// Links are the absolute http and https links of the page in order, each
// address once, without those that stay on the page. Hidden ones have no text.
func (d *Document) Links() []Link {
	links := []Link{}
	seen := d.newAddresses()
	d.query.FindMatcher(selA).Each(func(_ int, s *goquery.Selection) {
		n := s.Get(0)
		href := strings.TrimSpace(attr(n, "href"))
		if href == "" || href[0] == '#' {
			return
		}
		at, address := seen.find(href, len(links))
		isNew := address != ""
		if at < 0 || !isNew && links[at].Text != "" {
			return
		}
		text := ""
		if !d.unseen().has(n) {
			if text = textUpTo(n, maxLinkText, d.unseen().hides); text == "" {
				text = d.linkLabel(n)
			}
		}
		if isNew {
			links = append(links, Link{Text: text, URL: address})
		} else {
			links[at].Text = text
		}
	})
	return links
}

// linkLabel names a link without text.
func (d *Document) linkLabel(n *html.Node) string {
	for _, key := range []string{"aria-label", "title", "alt"} {
		if v := fold(attr(n, key)); v != "" {
			return v
		}
	}
	for k := range n.Descendants() {
		if k.Type == html.ElementNode && k.Data == "img" && !d.unseen().has(k) {
			if v := fold(attr(k, "alt")); v != "" {
				return v
			}
		}
	}
	return ""
}

// Images are the absolute http and https images of the page in order, each
// address once. Placeholders of lazy images give way to the address they stand
// for, and counting pixels are left out. Hidden ones have no text.
func (d *Document) Images() []Image {
	images := []Image{}
	seen := d.newAddresses()
	d.query.FindMatcher(selImg).Each(func(_ int, s *goquery.Selection) {
		n := s.Get(0)
		if markdown.IsPixel(n) {
			return
		}
		if _, src := seen.find(markdown.ImageRef(n), len(images)); src != "" {
			alt := ""
			if !d.unseen().has(n) {
				alt = fold(attr(n, "alt"))
			}
			images = append(images, Image{Alt: alt, Src: src})
		}
	})
	return images
}

// Structured is the page in parts, of the whole page rather than of its main
// content.
func (d *Document) Structured() Structured {
	s := Structured{Title: first(d.head.title, d.Title()), Meta: maps.Clone(d.head.meta), Headings: []Heading{}, Paragraphs: []string{}}
	d.query.FindMatcher(selHeading).Each(func(_ int, h *goquery.Selection) {
		n := h.Get(0)
		if isWithin(n, selHeading) || d.unseen().has(n) {
			return
		}
		if text := textOf(n, d.unseen().hides); text != "" {
			s.Headings = append(s.Headings, Heading{Level: int(n.Data[1] - '0'), Text: text})
		}
	})
	d.query.FindMatcher(selP).Each(func(_ int, p *goquery.Selection) {
		n := p.Get(0)
		if isWithin(n, selP) || d.unseen().has(n) {
			return // what it says is in the other one, or is not seen
		}
		if text := textOf(n, d.unseen().hides); utf8.RuneCountInString(text) > minParagraph {
			s.Paragraphs = append(s.Paragraphs, text)
		}
	})
	return s
}

// isWithin says whether an element stands in another one that sel names.
// Elements that may not stand in each other do so on broken pages.
func isWithin(n *html.Node, sel cascadia.Selector) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if sel.Match(p) {
			return true
		}
	}
	return false
}
