package fetcher

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/charset"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
)

// page is a body that was read: what it is, and the views that can be had of
// it. The service, the tool and InspectPage all read pages with readPage.
type page struct {
	kind     contenttype.Result
	charset  charset.Result
	doc      *extract.Document // nil unless the body is HTML
	plain    string            // the body itself, where it is other text
	warnings []string
}

// unsupportedTypeError says that a body is nothing that can be read as text.
type unsupportedTypeError struct{ mediaType string }

func (e *unsupportedTypeError) Error() string {
	return fmt.Sprintf("content of type %s cannot be read as text", e.mediaType)
}

// readPage decides what a body is and makes it readable. from is where it came
// from, for relative addresses; it may be nil. The only error is an
// *unsupportedTypeError.
func readPage(body []byte, contentType string, from *url.URL) (*page, error) {
	p := &page{kind: contenttype.Detect(body, contentType)}
	if p.kind.Mismatch {
		p.warn("content_type: the server says %.80s, the bytes are %s", p.kind.Header, p.kind.Type)
	}
	if !p.kind.IsText() && !p.kind.IsHTML() {
		return nil, &unsupportedTypeError{mediaType: p.kind.Type}
	}
	var text []byte
	text, p.charset = charset.ToUTF8(body, contentType)
	if p.charset.Overruled != "" {
		p.warn("charset: the page says %s, the bytes are %s", p.charset.Overruled, p.charset.Name)
	}
	if p.kind.IsHTML() {
		p.doc = extract.Parse(text, from)
		p.warnings = append(p.warnings, p.doc.Warnings()...)
	} else {
		p.plain = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return p, nil
}

func (p *page) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// text is the main content of HTML, and other text as it is.
func (p *page) text() string {
	if p.doc == nil {
		return p.plain
	}
	text, warnings := p.doc.Text()
	p.warnings = append(p.warnings, warnings...)
	return text
}

func (p *page) links() []extract.Link {
	if p.doc == nil {
		return []extract.Link{}
	}
	return p.doc.Links()
}

func (p *page) images() []extract.Image {
	if p.doc == nil {
		return []extract.Image{}
	}
	return p.doc.Images()
}

func (p *page) structured() extract.Structured {
	if p.doc == nil {
		return extract.Structured{Meta: map[string]string{}, Headings: []extract.Heading{}, Paragraphs: []string{}}
	}
	return p.doc.Structured()
}

func (p *page) metadata() extract.Metadata {
	if p.doc == nil {
		return extract.Metadata{}
	}
	return p.doc.Metadata()
}
