package fetcher

import (
	"strings"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// Caps of the structured view's first part; what is over is told in a warning.
const (
	maxHeadings  = 200
	maxMeta      = 100
	maxMetaChars = 2000
)

// fill puts the view that was asked for, and where it was cut, into the answer.
func (p *page) fill(out *fetcherv1.FetchResponse, q query) {
	var c cut
	switch q.extract {
	case pagecontent.Metadata: // it is there with every view
	case pagecontent.Links:
		var links []extract.Link
		links, c = cutList(p.links(), q.offset, maxLinks)
		for _, l := range links {
			out.Content.Links = append(out.Content.Links, &fetcherv1.Link{Text: l.Text, Url: l.URL})
		}
		p.tellCut("links", c, len(links))
	case pagecontent.Images:
		var images []extract.Image
		images, c = cutList(p.images(), q.offset, maxImages)
		for _, i := range images {
			out.Content.Images = append(out.Content.Images, &fetcherv1.Image{Alt: i.Alt, Src: i.Src})
		}
		p.tellCut("images", c, len(images))
	case pagecontent.Structured:
		out.Content.Structured, c = p.structuredPart(q)
		out.TotalChars = clampInt32(c.total)
	case pagecontent.Tables:
		out.Content.Tables, c = p.tablesPart(q)
	case pagecontent.Feed:
		out.Content.Feed, c = p.feedPart(q)
	case pagecontent.Markdown:
		out.Content.Markdown, c = p.part(p.markdown(), q)
		out.TotalChars = clampInt32(c.total)
	case pagecontent.FullText:
		out.Content.FullText, c = p.part(p.fullText(), q)
		out.TotalChars = clampInt32(c.total)
	case pagecontent.Raw:
		out.Content.Raw, c = p.rawPart(q)
		out.TotalChars = clampInt32(c.total)
	default:
		out.Content.Text, c = p.part(p.text(), q)
		out.TotalChars = clampInt32(c.total)
	}
	out.Truncated = c.next > 0
	out.NextOffset = clampInt32(c.next)
}

// part is the part of a text that q asks for.
func (p *page) part(text string, q query) (string, cut) {
	text, capped := capBytes(text, p.maxText)
	if capped {
		p.warn(warnContentLimit+": only the first %d bytes of the text can be read", p.maxText)
	}
	if text == "" {
		p.warn("empty: the page has no text")
	}
	text, c := cutText(text, q.offset, q.maxChars)
	if c.beyond {
		p.warn("offset: %d is behind the end of the text (%d characters)", q.offset, c.total)
	}
	return text, c
}

// rawPart is a part of the body itself, where it is text.
func (p *page) rawPart(q query) (string, cut) {
	if p.charset.Name == "" {
		p.warn("not_text: %s is no text; raw shows text alone", p.kind.Type)
		return "", cut{}
	}
	return p.part(p.harmless(p.decoded), q)
}

// tellCut says how much of a list is shown.
func (p *page) tellCut(what string, c cut, shown int) {
	switch {
	case c.beyond:
		p.warn("offset: behind the last of %d %s", c.total, what)
	case c.next > 0:
		p.warn("%s: %d of %d are shown; go on with offset %d", what, shown, c.total, c.next)
	case c.total == 0:
		p.warn("%s: there are none", what)
	}
}

// structuredPart is the title, and with offset 0 the meta elements and
// headings, beside whole paragraphs from the offset on until max_chars.
func (p *page) structuredPart(q query) (*fetcherv1.StructuredPage, cut) {
	s := p.structured()
	out := &fetcherv1.StructuredPage{Title: s.Title}
	if q.offset <= 0 {
		out.Meta = p.cappedMeta(s.Meta)
		if len(s.Headings) > maxHeadings {
			p.warn("headings: the first %d of %d are shown", maxHeadings, len(s.Headings))
			s.Headings = s.Headings[:maxHeadings]
		}
		for _, h := range s.Headings {
			out.Headings = append(out.Headings, &fetcherv1.Heading{Level: int32(h.Level), Text: h.Text})
		}
	}
	var c cut
	out.Paragraphs, c = cutParagraphs(s.Paragraphs, q.offset, q.maxChars)
	if c.beyond {
		p.warn("offset: %d is behind the last paragraph (%d characters)", q.offset, c.total)
	}
	return out, c
}

func (p *page) cappedMeta(meta map[string]string) map[string]string {
	out := make(map[string]string, min(len(meta), maxMeta))
	cutValues := 0
	for _, key := range sortedKeys(meta) {
		if len(out) == maxMeta {
			p.warn("meta: %d of %d elements are shown", maxMeta, len(meta))
			break
		}
		val, c := cutText(meta[key], 0, maxMetaChars)
		if c.next > 0 {
			cutValues++
		}
		out[key] = val
	}
	if cutValues > 0 {
		p.warn("meta: %d values are cut at %d characters", cutValues, maxMetaChars)
	}
	return out
}

// tablesPart is the rows from the offset on, counted over all tables.
func (p *page) tablesPart(q query) ([]*fetcherv1.Table, cut) {
	tables := p.tables()
	parts, c, shortened := cutTables(tables, q.offset, q.maxChars)
	out := make([]*fetcherv1.Table, 0, len(parts))
	shown := 0
	for _, t := range parts {
		m := &fetcherv1.Table{Caption: t.Caption, Header: t.Header, TotalRows: clampInt32(t.total)}
		for _, row := range t.Rows {
			m.Rows = append(m.Rows, &fetcherv1.TableRow{Cells: row})
		}
		shown += t.own
		out = append(out, m)
	}
	if shortened > 0 {
		p.warn("cells: %d cells are cut, since their row is longer than max_chars (%d); ask for more to see them whole", shortened, q.maxChars)
	}
	p.tellCut("rows of tables", c, shown)
	return out, c
}

// feedPart is the feed with its entries from the offset on.
func (p *page) feedPart(q query) (*fetcherv1.Feed, cut) {
	if p.file == nil || p.file.Feed == nil {
		p.warn("not_feed: %s is no feed; its text is there with extract_type text", p.kind.Type)
		return nil, cut{}
	}
	f := p.file.Feed
	items, c := cutItems(f.Items, q.offset, q.maxChars)
	out := &fetcherv1.Feed{
		Title: p.harmless(f.Title), Description: p.harmless(f.Description),
		Url: p.harmlessAddress(f.URL), Language: p.harmless(f.Language), Updated: p.harmless(f.Updated), TotalItems: clampInt32(len(f.Items)),
	}
	cutSummaries := 0
	for _, i := range items {
		i = p.harmlessItem(i)
		summary, s := cutText(i.Summary, 0, q.maxChars)
		if s.next > 0 {
			cutSummaries++
		}
		out.Items = append(out.Items, &fetcherv1.FeedItem{
			Title: i.Title, Url: i.URL, Id: i.ID, Author: i.Author, Published: i.Published, Updated: i.Updated, Summary: summary, Categories: i.Categories,
		})
	}
	if cutSummaries > 0 {
		p.warn("summary: an entry is cut at %d characters (max_chars); ask for more to see it whole", q.maxChars)
	}
	p.tellCut("entries", c, len(items))
	return out, c
}

// cutItems gives whole entries from offset on, at least one, as long as they have
// at most limit characters together.
func cutItems(items []document.FeedItem, offset, limit int) ([]document.FeedItem, cut) {
	rest, c := cutList(items, offset, len(items))
	for n, i := range rest {
		if limit -= len([]rune(i.Summary)) + len([]rune(i.Title)); limit < 0 && n > 0 {
			c.next = max(offset, 0) + n
			return rest[:n], c
		}
	}
	return rest, c
}

// tablePart is a part of a table: with its header, and own rows of the part.
type tablePart struct {
	document.Table
	total, own int
}

// cutTables gives whole rows from offset on, counted over all tables, at least
// one, at most limit characters in all. The header of a table comes with each of
// its parts. The cells of a single row over the limit are cut, which is counted.
func cutTables(tables []document.Table, offset, limit int) (parts []tablePart, c cut, shortened int) {
	offset, limit = max(offset, 0), max(limit, 1)
	room, at := limit, 0
	for _, t := range tables {
		part := tablePart{Table: document.Table{Caption: t.Caption, Header: t.Header}, total: len(t.Rows)}
		for i, row := range t.Rows {
			index := at + i
			if index < offset || c.next > 0 {
				continue
			}
			size := rowChars(row)
			if size > room && part.own+len(parts) > 0 {
				c.next = index
				continue
			}
			if size > limit {
				var n int
				row, n = cutRow(row, limit)
				shortened += n
			}
			if t.Header && i > 0 && len(part.Rows) == 0 {
				part.Rows = append(part.Rows, t.Rows[0])
			}
			part.Rows = append(part.Rows, row)
			part.own++
			room -= size
		}
		if part.own > 0 {
			parts = append(parts, part)
		}
		at += len(t.Rows)
	}
	c.total = at
	c.beyond = offset > 0 && offset >= at
	return parts, c, shortened
}

func rowChars(row []string) int {
	n := 0
	for _, cell := range row {
		n += len([]rune(cell)) + 1
	}
	return n
}

// cutRow cuts the cells of a row to equal shares of limit characters.
func cutRow(row []string, limit int) (out []string, shortened int) {
	share := max(limit/len(row), 1)
	out = make([]string, len(row))
	for i, cell := range row {
		text, c := cutText(cell, 0, share)
		if c.next > 0 {
			shortened++
			text = strings.TrimRight(text, " ") + "…"
		}
		out[i] = text
	}
	return out, shortened
}
