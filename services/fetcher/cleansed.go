package fetcher

import (
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// Every view of a page is cleansed here, at its source, for a model may read any
// of them: raw too, which is told in a warning as everywhere. Addresses stay as
// they are, for they would lead nowhere.

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

func (p *page) harmlessLinks(links []extract.Link) []extract.Link {
	for i := range links {
		p.each(&links[i].Text)
	}
	return links
}

func (p *page) harmlessImages(images []extract.Image) []extract.Image {
	for i := range images {
		p.each(&images[i].Alt)
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
	for name, value := range s.Meta {
		s.Meta[name] = p.harmless(value)
	}
	for i := range s.Headings {
		p.each(&s.Headings[i].Text)
	}
	for i := range s.Paragraphs {
		p.each(&s.Paragraphs[i])
	}
	return s
}

func (p *page) harmlessMetadata(m extract.Metadata) extract.Metadata {
	p.each(&m.Title, &m.Description, &m.SiteName, &m.Byline, &m.Published, &m.Language)
	return m
}

func (p *page) harmlessItem(i document.FeedItem) document.FeedItem {
	p.each(&i.Title, &i.ID, &i.Author, &i.Published, &i.Updated, &i.Summary)
	categories := make([]string, len(i.Categories))
	for k, c := range i.Categories {
		categories[k] = p.harmless(c)
	}
	i.Categories = categories
	return i
}

func (p *page) harmlessProperties(properties map[string]string) map[string]string {
	out := make(map[string]string, len(properties))
	for name, value := range properties {
		out[name] = p.harmless(value)
	}
	return out
}

// tellCleansed says what was done to the texts.
func (p *page) tellCleansed() {
	if n := p.cleansed.Invisible; n > 0 {
		p.warn("invisible: %d characters that have no shape were left out", n)
	}
	if n := p.cleansed.Markers; n > 0 {
		p.warn("neutralised: %d places that imitate the markup of a chat or a call of a tool have a · in them now", n)
	}
}

// countCleansed puts the same into the metadata.
func (p *page) countCleansed(m *fetcherv1.PageMetadata) {
	m.HiddenChars = clampInt32(int(m.HiddenChars) + p.cleansed.Invisible)
	m.Neutralised = clampInt32(p.cleansed.Markers)
}
