package fetcher

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
)

// The extract types.
const (
	extractText       = "text"
	extractLinks      = "links"
	extractImages     = "images"
	extractStructured = "structured"
)

// Caps of the structured view's first part; what is over is told in a warning.
const (
	maxHeadings  = 200
	maxMeta      = 100
	maxMetaChars = 2000
)

// warnContentLimit names the warning that a text is longer than can be read.
const warnContentLimit = "content_limit"

// respond reads a fetched body into the answer to q.
func respond(q query, got *httpfetch.Response, final *url.URL) (*fetcherv1.FetchResponse, error) {
	out := &fetcherv1.FetchResponse{
		Url:      q.url,
		Content:  &fetcherv1.PageContent{},
		Metadata: metadataOf(got),
		Warnings: append(answerWarnings(got), got.Warnings...),
	}
	p, err := readPage(got.Body, got.Header.Get("Content-Type"), final)
	if err != nil {
		if got.Status < http.StatusBadRequest {
			return nil, shapeUnsupported(err)
		}
		out.Warnings = append(out.Warnings, err.Error()) // an error status is an answer without any body
		return out, nil
	}
	out.Metadata.DetectedType = p.kind.Type
	out.Metadata.Charset = p.charset.Name
	if p.doc != nil {
		out.Metadata.Title = p.doc.Title()
	} else if q.extract != extractText && q.extract != "" {
		p.warn("not_html: %s has no %s; its text is there with extract_type text", p.kind.Type, q.extract)
	}
	fill(out, p, q)
	out.Warnings = append(out.Warnings, p.warnings...)
	return out, nil
}

// fill puts the view that was asked for, and where it was cut, into the answer.
func fill(out *fetcherv1.FetchResponse, p *page, q query) {
	var c cut
	switch q.extract {
	case extractLinks:
		var links []extract.Link
		links, c = cutList(p.links(), q.offset, maxLinks)
		for _, l := range links {
			out.Content.Links = append(out.Content.Links, &fetcherv1.Link{Text: l.Text, Url: l.URL})
		}
		p.tellCut("links", c, len(links))
	case extractImages:
		var images []extract.Image
		images, c = cutList(p.images(), q.offset, maxImages)
		for _, i := range images {
			out.Content.Images = append(out.Content.Images, &fetcherv1.Image{Alt: i.Alt, Src: i.Src})
		}
		p.tellCut("images", c, len(images))
	case extractStructured:
		out.Content.Structured, c = p.structuredPart(q)
		out.TotalChars = clampInt32(c.total)
	default:
		text, capped := capBytes(p.text(), maxContentBytes)
		if capped {
			p.warn(warnContentLimit+": only the first %d bytes of the text can be read", maxContentBytes)
		}
		if text == "" {
			p.warn("empty: the page has no text")
		}
		out.Content.Text, c = cutText(text, q.offset, q.maxChars)
		out.TotalChars = clampInt32(c.total)
		if c.beyond {
			p.warn("offset: %d is behind the end of the text (%d characters)", q.offset, c.total)
		}
	}
	out.Truncated = c.next > 0
	out.NextOffset = clampInt32(c.next)
}

// tellCut says how much of a list is shown.
func (p *page) tellCut(what string, c cut, shown int) {
	switch {
	case c.beyond:
		p.warn("offset: behind the last of %d %s", c.total, what)
	case c.next > 0:
		p.warn("%s: %d of %d are shown; go on with offset %d", what, shown, c.total, c.next)
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

func metadataOf(got *httpfetch.Response) *fetcherv1.PageMetadata {
	m := &fetcherv1.PageMetadata{
		StatusCode:    int32(got.Status),
		ContentType:   validUTF8(got.Header.Get("Content-Type")),
		FinalUrl:      validUTF8(got.FinalURL),
		BodyBytes:     clampInt32(len(got.Body)),
		BodyTruncated: got.Truncated,
		Attempts:      int32(got.Attempts),
	}
	for _, r := range got.Redirects {
		m.Redirects = append(m.Redirects, validUTF8(r.URL))
	}
	return m
}

// answerWarnings are what a reader must know of the answer itself.
func answerWarnings(got *httpfetch.Response) []string {
	var out []string
	if got.Status >= http.StatusBadRequest {
		out = append(out, fmt.Sprintf("status: the server answered %d %s; the content is what it sent with that",
			got.Status, http.StatusText(got.Status)))
	}
	if got.RetryAfter > 0 {
		out = append(out, fmt.Sprintf("retry_after: the server asks to be left alone for %d seconds", int(got.RetryAfter/time.Second)))
	}
	return out
}

func clampInt32(n int) int32 { return int32(min(n, math.MaxInt32)) }
