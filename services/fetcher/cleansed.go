package fetcher

import (
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// Every view of a page is cleansed here, at its source, for a model may read any
// of them: raw too, which is told in a warning as everywhere. So are warnings and
// errors, which quote names of strangers. Addresses lead where they led.

// harmless cleanses one text of the page and remembers what was done to it.
func (p *page) harmless(s string) string {
	s, r := cleanse.Text(s)
	p.cleansed = p.cleansed.Add(r)
	return s
}

// each cleanses texts in place.
func (p *page) each(texts ...*string) {
	for _, s := range texts {
		*s = p.harmless(*s)
	}
}

// harmlessAddress is harmless for an address of the page.
func (p *page) harmlessAddress(s string) string {
	s, r := cleanse.Address(s)
	p.cleansed = p.cleansed.Add(r)
	return s
}

func (p *page) harmlessLinks(links []extract.Link) []extract.Link {
	for i := range links {
		p.each(&links[i].Text)
		links[i].URL = p.harmlessAddress(links[i].URL)
	}
	return links
}

func (p *page) harmlessImages(images []extract.Image) []extract.Image {
	for i := range images {
		p.each(&images[i].Alt)
		images[i].Src = p.harmlessAddress(images[i].Src)
	}
	return images
}

// harmlessTables gives cleansed copies: the rows of a document stay as they are.
func (p *page) harmlessTables(tables []document.Table) []document.Table {
	out := make([]document.Table, len(tables))
	for i, t := range tables {
		out[i] = document.Table{Caption: p.harmless(t.Caption), Header: t.Header, Rows: make([][]string, len(t.Rows))}
		for j, row := range t.Rows {
			cells := make([]string, len(row))
			for k, cell := range row {
				cells[k] = p.harmless(cell)
			}
			out[i].Rows[j] = cells
		}
	}
	return out
}

func (p *page) harmlessStructured(s extract.Structured) extract.Structured {
	p.each(&s.Title)
	s.Meta = p.harmlessProperties(s.Meta)
	for i := range s.Headings {
		p.each(&s.Headings[i].Text)
	}
	for i := range s.Paragraphs {
		p.each(&s.Paragraphs[i])
	}
	return s
}

func (p *page) harmlessMetadata(m extract.Metadata) extract.Metadata {
	p.each(&m.Title, &m.Description, &m.SiteName, &m.Byline, &m.Published, &m.Modified, &m.Language)
	m.Canonical, m.Image = p.harmlessAddress(m.Canonical), p.harmlessAddress(m.Image)
	return m
}

func (p *page) harmlessItem(i document.FeedItem) document.FeedItem {
	p.each(&i.Title, &i.ID, &i.Author, &i.Published, &i.Updated, &i.Summary)
	i.URL = p.harmlessAddress(i.URL)
	categories := make([]string, len(i.Categories))
	for k, c := range i.Categories {
		categories[k] = p.harmless(c)
	}
	i.Categories = categories
	return i
}

// harmlessProperties gives a cleansed copy. Names that are one when cleansed are
// told once.
func (p *page) harmlessProperties(properties map[string]string) map[string]string {
	out := make(map[string]string, len(properties))
	for _, name := range sortedKeys(properties) {
		out[p.harmless(name)] = p.harmless(properties[name])
	}
	return out
}

// harmlessWarnings cleanses what was told of the page.
func (p *page) harmlessWarnings() {
	for i := range p.warnings {
		p.each(&p.warnings[i])
	}
}

// harmless cleanses words about an answer that is no page.
func harmless(s string) string {
	s, _ = cleanse.Text(s)
	return s
}

// harmlessAddress cleanses an address that led to a page.
func harmlessAddress(s string) string {
	s, _ = cleanse.Address(s)
	return s
}

// tellCleansed says what was done to the texts.
func (p *page) tellCleansed() {
	p.warnings = append(p.warnings, p.cleansed.Warnings()...)
}

// countCleansed puts the same into the metadata.
func (p *page) countCleansed(m *fetcherv1.PageMetadata) {
	m.HiddenChars = clampInt32(int(m.HiddenChars) + p.cleansed.Invisible)
	m.Neutralised = clampInt32(p.cleansed.Markers)
}
