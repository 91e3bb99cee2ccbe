// Package pagecontent shows the content of pages and documents to models: one
// shape for every tool that reads some.
package pagecontent

import (
	"maps"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// The extract types.
const (
	Text       = "text"
	Markdown   = "markdown"
	Links      = "links"
	Images     = "images"
	Structured = "structured"
	Tables     = "tables"
	Metadata   = "metadata"
	Feed       = "feed"
	Raw        = "raw"
	FullText   = "full_text"
)

// Types are all extract types, the usual ones first.
func Types() []string {
	return []string{Text, Markdown, Links, Images, Structured, Tables, Metadata, Feed, Raw, FullText}
}

// ForModel is the content as JSON of a tool's result: one entry, named by the
// extract type; the empty type is text. Metadata has none, since it stands beside
// the content.
func ForModel(extract string, c *fetcherv1.PageContent) map[string]any {
	switch extract {
	case Links:
		links := make([]map[string]string, 0, len(c.GetLinks()))
		for _, l := range c.GetLinks() {
			links = append(links, map[string]string{"text": l.GetText(), "url": l.GetUrl()})
		}
		return map[string]any{Links: links}
	case Images:
		images := make([]map[string]string, 0, len(c.GetImages()))
		for _, i := range c.GetImages() {
			images = append(images, map[string]string{"alt": i.GetAlt(), "src": i.GetSrc()})
		}
		return map[string]any{Images: images}
	case Structured:
		return map[string]any{Structured: structured(c.GetStructured())}
	case Tables:
		return map[string]any{Tables: tables(c.GetTables())}
	case Feed:
		return map[string]any{Feed: feed(c.GetFeed())}
	case Metadata:
		return map[string]any{}
	case Markdown:
		return map[string]any{Markdown: c.GetMarkdown()}
	case Raw:
		return map[string]any{Raw: c.GetRaw()}
	case FullText:
		return map[string]any{FullText: c.GetFullText()}
	}
	return map[string]any{Text: c.GetText()}
}

func structured(s *fetcherv1.StructuredPage) map[string]any {
	headings := make([]map[string]any, 0, len(s.GetHeadings()))
	for _, h := range s.GetHeadings() {
		headings = append(headings, map[string]any{"level": h.GetLevel(), "text": h.GetText()})
	}
	meta := map[string]string{}
	maps.Copy(meta, s.GetMeta())
	return map[string]any{
		"title": s.GetTitle(), "meta": meta, "headings": headings,
		"paragraphs": append([]string{}, s.GetParagraphs()...),
	}
}

// table is a table with its rows as plain lists, which cost a model least.
type table struct {
	Caption   string     `json:"caption,omitempty"`
	Header    bool       `json:"header"`
	Rows      [][]string `json:"rows"`
	TotalRows int32      `json:"total_rows"`
}

func tables(all []*fetcherv1.Table) []table {
	out := make([]table, 0, len(all))
	for _, t := range all {
		rows := make([][]string, 0, len(t.GetRows()))
		for _, r := range t.GetRows() {
			rows = append(rows, append([]string{}, r.GetCells()...))
		}
		out = append(out, table{Caption: t.GetCaption(), Header: t.GetHeader(), Rows: rows, TotalRows: t.GetTotalRows()})
	}
	return out
}

type feedView struct {
	Title       string     `json:"title"`
	Description string     `json:"description,omitempty"`
	URL         string     `json:"url,omitempty"`
	Updated     string     `json:"updated,omitempty"`
	Items       []feedItem `json:"items"`
	TotalItems  int32      `json:"total_items"`
}

type feedItem struct {
	Title      string   `json:"title"`
	URL        string   `json:"url,omitempty"`
	Author     string   `json:"author,omitempty"`
	Published  string   `json:"published,omitempty"`
	Updated    string   `json:"updated,omitempty"`
	Summary    string   `json:"summary,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// feed is nil for what is none.
func feed(f *fetcherv1.Feed) *feedView {
	if f == nil {
		return nil
	}
	out := &feedView{
		Title: f.GetTitle(), Description: f.GetDescription(), URL: f.GetUrl(), Updated: f.GetUpdated(), Items: []feedItem{}, TotalItems: f.GetTotalItems(),
	}
	for _, i := range f.GetItems() {
		out.Items = append(out.Items, feedItem{
			i.GetTitle(), i.GetUrl(), i.GetAuthor(), i.GetPublished(), i.GetUpdated(), i.GetSummary(), i.GetCategories(),
		})
	}
	return out
}
