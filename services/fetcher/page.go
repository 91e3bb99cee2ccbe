package fetcher

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/charset"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// source is a body to be read.
type source struct {
	body []byte
	// contentType is the Content-Type field, and name the name of the file; both
	// may be empty.
	contentType, name string
	// from is where it came from, for relative addresses; it may be nil.
	from *url.URL
	// maxText is how much text is read of it, in bytes.
	maxText int
}

// page is a body that was read: what it is, and the views that can be had of
// it. Fetch, Extract, the tool, the crawl worker and InspectPage all read with
// readPage.
type page struct {
	kind    contenttype.Result
	charset charset.Result
	// decoded is the body in UTF-8 with \n line ends, where it is text.
	decoded string
	// doc is the body where it is HTML, file where it is a document of another
	// format; both are nil for other text.
	doc  *extract.Document
	file *document.Document
	// maxText is how much text is shown in all, in bytes.
	maxText  int
	warnings []string
	// cleansed counts what was taken out of the views, or defused in them.
	cleansed cleanse.Report
}

// readPage decides what a body is and makes it readable. Its errors are
// *document.Error, but for the end of ctx.
func readPage(ctx context.Context, docs *document.Reader, src source) (*page, error) {
	p := &page{kind: contenttype.Detect(src.body, src.contentType, src.name), maxText: src.maxText}
	switch {
	case p.kind.Mismatch:
		p.warn("content_type: the server says %.80s, the bytes are %s", p.kind.Header, p.kind.Type)
	case contenttype.Contradicts(src.name, p.kind.Type):
		p.warn("content_type: the name %.80q promises %s, the bytes are %s", validUTF8(src.name), contenttype.OfName(src.name), p.kind.Type)
	}
	isText := p.kind.IsText() || p.kind.IsHTML()
	if isText {
		p.decode(src)
	}
	if p.kind.IsHTML() {
		p.doc = extract.Parse([]byte(p.decoded), src.from)
		p.warnings = append(p.warnings, p.doc.Warnings()...)
		return p, nil
	}
	if isText && (!document.Reads(p.kind.Type) || len(src.body) == 0) {
		return p, nil
	}
	file, err := docs.Read(ctx, document.Request{
		Body: src.body, Type: p.kind.Type, Text: p.decoded, URL: src.from, MaxText: src.maxText,
	})
	if err != nil {
		return nil, err
	}
	p.file = file
	p.warnings = append(p.warnings, file.Warnings...)
	if file.Cut {
		p.warn(warnContentLimit + ": the document has more content than is read of it")
	}
	return p, nil
}

// decode makes UTF-8 of a body that is text.
func (p *page) decode(src source) {
	var text []byte
	text, p.charset = charset.ToUTF8(src.body, src.contentType)
	if p.charset.Overruled != "" {
		p.warn("charset: the page says %s, the bytes are %s", p.charset.Overruled, p.charset.Name)
	}
	p.decoded = string(text)
	if !p.kind.IsHTML() {
		p.decoded = strings.ReplaceAll(p.decoded, "\r\n", "\n")
	}
}

// warn says something once, however many views say it.
func (p *page) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}
