package document

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/responses"
)

func (r *Reader) preparePDF(ctx context.Context) error { return r.pdf.prepare(ctx) }

// readPDF reads the text of a PDF page by page. Pages that are pictures have
// none, which a warning tells.
func (r *Reader) readPDF(ctx context.Context, in *Request) (*Document, error) {
	m, err := r.pdf.start(ctx)
	if err != nil {
		return nil, err
	}
	defer m.close()
	body := in.Body
	opened, err := m.OpenDocument(&requests.OpenDocument{File: &body})
	switch {
	case err == nil:
	case isEncrypted(err):
		return nil, &Error{Reason: Encrypted, Words: "the PDF is encrypted: it opens with a password only; remove the password first", Err: err}
	case ctx.Err() != nil:
		return nil, tooLarge("the PDF could not be opened within %s", maxTime)
	default:
		return nil, damaged(err, "the PDF is damaged: it has no readable pages; get the file again")
	}
	count, err := m.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil || count.PageCount == 0 {
		return nil, damaged(err, "the PDF has no pages")
	}
	d := &Document{Kind: KindDocument, Pages: count.PageCount}
	if about, err := m.GetMetaData(&requests.GetMetaData{Document: opened.Document}); err == nil {
		d.aboutPDF(about)
	}
	pages := pdfPages{doc: d, w: writer{doc: d, left: in.MaxText}}
	for i := range min(count.PageCount, maxPDFPages) {
		text, err := m.pageText(&requests.FPDF_LoadPage{Document: opened.Document, Index: i})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if !pages.add(i+1, text, err) {
			break
		}
	}
	return d, pages.end()
}

// pdfPages collects the pages of a PDF.
type pdfPages struct {
	doc             *Document
	w               writer
	read, textless  int
	failed, firstAt int
	late            bool // the time was up
}

// add takes what came of page n and says whether to go on.
func (p *pdfPages) add(n int, text string, err error) bool {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		p.doc.Cut, p.late = true, true
		p.doc.warn("time_limit: the first %d of %d pages were read within %s", n-1, p.doc.Pages, maxTime)
		return false
	case err != nil:
		if p.failed++; p.firstAt == 0 {
			p.firstAt = n
		}
		return true
	}
	p.read++
	text = cleanPDFText(text)
	if text == "" {
		p.textless++
		return true
	}
	if p.doc.Pages > 1 {
		p.w.add(plainBlock(PageMark, 0, fmt.Sprintf("Page %d", n)))
	}
	if !p.w.add(plainBlock(Lines, 0, text)) {
		p.doc.warn("page_limit: the text of the first %d of %d pages was read", n, p.doc.Pages)
		return false
	}
	return true
}

// end says what is missing. A PDF of which no page can be read is damaged.
func (p *pdfPages) end() error {
	switch {
	case p.read == 0 && p.late:
		return tooLarge("not one of the %d pages of the PDF could be read within %s", p.doc.Pages, maxTime)
	case p.read == 0 && p.failed > 0:
		return damaged(nil, "none of the %d pages of the PDF can be read: it is damaged, or its pages need more memory than a document may have", p.doc.Pages)
	case p.failed > 0:
		p.doc.warn("damaged: %d of %d pages cannot be read, page %d first", p.failed, p.doc.Pages, p.firstAt)
	}
	if p.doc.Pages > maxPDFPages {
		p.doc.Cut = true
		p.doc.warn("page_limit: only the first %d of %d pages are read", maxPDFPages, p.doc.Pages)
	}
	switch {
	case p.textless > 0 && p.textless == p.read:
		p.doc.warn("no_text: the pages are pictures without text, as scans are; they would have to be recognised (OCR) first")
	case p.textless > 0:
		p.doc.warn("no_text: %d of %d pages have no text; they are empty or pictures", p.textless, p.read)
	}
	return nil
}

// cleanPDFText mends what PDFium gives: line ends of Windows, marks for hyphens
// at line ends (U+FFFE and U+0002), ligatures, and control characters of broken
// fonts.
func cleanPDFText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = ligatures.Replace(hyphenAtEnd.ReplaceAllString(s, ""))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\f' || r == '\v':
			return '\n'
		case r == '\u00a0':
			return ' '
		case r == '\u00ad' || r == '\ufeff' || r == '\ufffe' || r == '\uffff' || unicode.IsControl(r):
			return -1
		}
		return r
	}, s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t")
	}
	s = strings.Join(lines, "\n")
	return strings.Trim(manyLines.ReplaceAllString(s, "\n\n"), "\n ")
}

var (
	// ligatures are drawn as one character and read as letters.
	ligatures   = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
	hyphenAtEnd = regexp.MustCompile("[\u0002\ufffe\u00ad]\n?")
	manyLines   = regexp.MustCompile(`\n{3,}`)
)

// aboutPDF reads the information dictionary.
func (d *Document) aboutPDF(about *responses.GetMetaData) {
	for _, tag := range about.Tags {
		value := oneLine(strings.Trim(tag.Value, "\x00"), maxProperty)
		switch tag.Tag {
		case "Title":
			d.About.Title = value
		case "Author":
			d.About.Byline = value
		case "Subject":
			d.About.Description = value
		case "CreationDate":
			d.About.Published = pdfTime(value)
		case "ModDate":
			d.About.Modified = pdfTime(value)
		case "Keywords", "Creator", "Producer":
			d.About.set(strings.ToLower(tag.Tag), value)
		}
	}
}

// pdfTime reads D:YYYYMMDDHHmmSS with or without a zone as +HH'mm' (ISO 32000-1,
// 7.9.4); what is none is empty.
func pdfTime(s string) string {
	s = strings.TrimPrefix(s, "D:")
	digits := 0
	for digits < len(s) && digits < 14 && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	const layout = "20060102150405"
	if digits < 4 || digits%2 != 0 {
		return ""
	}
	zone := strings.ReplaceAll(s[digits:], "'", "")
	if len(zone) != 5 {
		zone = "+0000"
	}
	t, err := time.Parse(layout[:digits]+"-0700", s[:digits]+zone)
	if err != nil {
		return ""
	}
	return t.Format(time.RFC3339)
}
