package fetcher

import (
	"strings"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// text is the main content of HTML, the content of a document, and other text as
// it is.
func (p *page) text() string {
	switch {
	case p.doc != nil:
		text, _ := p.doc.Text()
		p.tellContent()
		return p.harmless(text)
	case p.file != nil:
		return p.harmless(p.file.Text())
	}
	return p.harmless(p.decoded)
}

// markdown is the same as Markdown.
func (p *page) markdown() string {
	switch {
	case p.doc != nil:
		return p.harmless(p.contentMarkdown())
	case p.file != nil:
		return p.harmless(p.file.Markdown())
	case p.kind.Type == contenttype.Plain || p.kind.Type == contenttype.Markdown:
		return p.harmless(p.decoded)
	}
	return p.harmless(document.Fenced(p.decoded, codeName(p.kind.Type)))
}

// contentMarkdown is the main content of HTML; a page whose content cannot be
// told from its frame gives all its text.
func (p *page) contentMarkdown() string {
	c := p.doc.Content()
	var b strings.Builder
	report := markdown.Write(&b, c.Root, markdown.Options{Base: p.doc.Base(), Skip: c.Skip})
	if report.Addresses > 0 {
		p.warn("addresses: %d links or images have addresses that are too long and stand without them", report.Addresses)
	}
	p.tellContent()
	return b.String()
}

// tellContent says what a reader of the content must know of it.
func (p *page) tellContent() {
	for _, w := range p.doc.ContentWarnings() {
		p.warn("%s", w)
	}
}

// tellPage says what a reader of a view of all of the page must know of it.
func (p *page) tellPage() {
	for _, w := range p.doc.PageWarnings() {
		p.warn("%s", w)
	}
	if n := p.doc.LeftOut(); n > 0 {
		p.warn("addresses: %d links or images have addresses that are too long and are left out", n)
	}
}

// codeName is how Markdown calls text of a media type: the end of its subtype.
func codeName(mediaType string) string {
	_, name, _ := strings.Cut(mediaType, "/")
	name = strings.TrimPrefix(name, "x-")
	if at := strings.LastIndexByte(name, '+'); at >= 0 {
		name = name[at+1:]
	}
	return name
}

// fullText is all text, that around the main content, too.
func (p *page) fullText() string {
	switch {
	case p.doc != nil:
		p.tellPage()
		return p.harmless(p.doc.FullText())
	case p.file != nil:
		return p.harmless(p.file.Text())
	}
	return p.harmless(p.decoded)
}

// links are those of the page, or of the document.
func (p *page) links() []extract.Link {
	out := []extract.Link{}
	switch {
	case p.doc != nil:
		defer p.tellPage()
		return p.harmlessLinks(p.doc.Links())
	case p.file != nil:
		for _, l := range p.file.Links() {
			out = append(out, extract.Link{Text: l.Text, URL: l.URL})
		}
	}
	return p.harmlessLinks(out)
}

func (p *page) images() []extract.Image {
	if p.doc == nil {
		return []extract.Image{}
	}
	defer p.tellPage()
	return p.harmlessImages(p.doc.Images())
}

// tables are the tables of data: of HTML those of the main content, or where it
// has none, of the page.
func (p *page) tables() []document.Table {
	switch {
	case p.file != nil:
		return p.harmlessTables(p.file.Tables())
	case p.doc == nil:
		return nil
	}
	c := p.doc.Content()
	found := markdown.Tables(c.Root, markdown.Options{Base: p.doc.Base(), Skip: c.Skip})
	if len(found) == 0 {
		root := c.Root
		for root.Parent != nil {
			root = root.Parent
		}
		found = markdown.Tables(root, markdown.Options{Base: p.doc.Base(), Skip: cleanse.Hidden})
	}
	out := make([]document.Table, 0, len(found))
	for _, t := range found {
		out = append(out, document.Table{Caption: t.Caption, Header: t.Header, Rows: t.Rows})
	}
	return p.harmlessTables(out)
}

// tableRows are the rows alone.
func (p *page) tableRows() [][][]string {
	out := [][][]string{}
	for _, t := range p.tables() {
		out = append(out, t.Rows)
	}
	return out
}

// minParagraph is how many characters a paragraph of the structured view has
// more than.
const minParagraph = 20

// structured is the page in parts.
func (p *page) structured() extract.Structured {
	if p.doc != nil {
		p.tellPage()
		return p.harmlessStructured(p.doc.Structured())
	}
	s := extract.Structured{Meta: map[string]string{}, Headings: []extract.Heading{}, Paragraphs: []string{}}
	if p.file == nil {
		return s
	}
	s.Title = p.file.About.Title
	for name, value := range p.file.About.Properties {
		s.Meta[name] = value
	}
	for _, b := range p.file.Blocks {
		text := b.Text()
		switch {
		case b.Kind == document.Heading:
			s.Headings = append(s.Headings, extract.Heading{Level: b.Level, Text: text})
		case b.Kind == document.PageMark:
			s.Headings = append(s.Headings, extract.Heading{Level: 2, Text: text})
		case utf8.RuneCountInString(text) > minParagraph:
			s.Paragraphs = append(s.Paragraphs, text)
		}
	}
	return p.harmlessStructured(s)
}

// metadata is what the page or document says about itself.
func (p *page) metadata() extract.Metadata {
	switch {
	case p.doc != nil:
		return p.harmlessMetadata(p.doc.Metadata())
	case p.file != nil:
		a := p.file.About
		return p.harmlessMetadata(extract.Metadata{Title: a.Title, Byline: a.Byline, Description: a.Description, Published: a.Published, Modified: a.Modified, Language: a.Language})
	}
	return extract.Metadata{}
}
