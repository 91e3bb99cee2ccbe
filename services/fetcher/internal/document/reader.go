package document

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

// Config says where a Reader keeps things.
type Config struct {
	// CacheDir keeps the compiled PDF reader for the next process (25 MB); empty:
	// every process compiles it at its first PDF, which takes seconds.
	CacheDir string
}

// Reader reads documents. It is safe for concurrent use; close it after use.
type Reader struct {
	pdf   pdfEngine
	turns chan struct{} // one token a heavy document being read
}

// NewReader makes a Reader; nothing is started before the first document.
func NewReader(cfg Config) *Reader {
	return &Reader{pdf: pdfEngine{cacheDir: cfg.CacheDir, boot: boot}, turns: make(chan struct{}, heavyAtOnce)}
}

// Close frees the PDF reader. No document may be read any more.
func (r *Reader) Close() error { return r.pdf.close() }

// Request is a document to be read.
type Request struct {
	// Body are its bytes.
	Body []byte
	// Type is its media type, as contenttype finds it.
	Type string
	// Text is Body in UTF-8 with \n line ends, of types that are text.
	Text string
	// URL is where it came from, for relative links; nil when it is not known.
	URL *url.URL
	// MaxText is how much text is read, in bytes.
	MaxText int
}

// format is one row of the table of formats.
type format struct {
	name  string
	types []string
	// heavy documents may need hundreds of MiB while they are read.
	heavy bool
	// prepare makes what reads them ready. How long that takes does not count as
	// time of the document.
	prepare func(r *Reader, ctx context.Context) error
	read    func(r *Reader, ctx context.Context, in *Request) (*Document, error)
}

// formats are what can be read beside text of other types, which is read as it
// stands.
var formats = []format{
	{"PDF", []string{contenttype.PDF}, true, (*Reader).preparePDF, (*Reader).readPDF},
	{"Excel", []string{contenttype.XLSX}, true, nil, plainly(readWorkbook)},
	{"Word", []string{contenttype.DOCX}, true, nil, plainly(readWord)},
	{"PowerPoint", []string{contenttype.PPTX}, true, nil, plainly(readSlides)},
	{"CSV", []string{contenttype.CSV, contenttype.TSV, "application/csv"}, false, nil, plainly(readCSV)},
	{"JSON", []string{contenttype.JSON}, false, nil, plainly(readJSON)},
	{"feed", []string{contenttype.RSS, contenttype.Atom, contenttype.JSONFeed}, false, nil, plainly(readFeed)},
	{"image", []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff"}, false, nil, plainly(readImage)},
}

// plainly is a format that needs nothing of the Reader.
func plainly(read func(context.Context, *Request) (*Document, error)) func(*Reader, context.Context, *Request) (*Document, error) {
	return func(_ *Reader, ctx context.Context, in *Request) (*Document, error) { return read(ctx, in) }
}

// Reads says whether documents of a media type are read, beside text.
func Reads(mediaType string) bool { return formatOf(mediaType) != nil }

func formatOf(mediaType string) *format {
	for i := range formats {
		for _, t := range formats[i].types {
			if t == mediaType {
				return &formats[i]
			}
		}
	}
	return nil
}

// Read reads a document within all limits. Its errors are *Error, but for the
// end of ctx. A library that panics makes the document a damaged one.
func (r *Reader) Read(ctx context.Context, in Request) (d *Document, err error) {
	f := formatOf(in.Type)
	if f == nil {
		return nil, refuse(in.Type)
	}
	if len(in.Body) == 0 {
		return nil, &Error{Reason: Empty, Type: in.Type, Words: "the document is empty: it has no bytes"}
	}
	if f.prepare != nil {
		if err := f.prepare(r, ctx); err != nil {
			return nil, err
		}
	}
	if f.heavy {
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	inner, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, &Error{Reason: Damaged, Type: in.Type, Words: "the " + f.name + " file is damaged: it cannot be read",
				Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	d, err = f.read(r, inner, &in)
	var known *Error
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case err == nil:
		return d, nil
	case errors.As(err, &known):
		known.Type = in.Type
		return nil, known
	case inner.Err() != nil:
		return nil, &Error{Reason: TooLarge, Type: in.Type, Words: fmt.Sprintf("the %s file could not be read within %s", f.name, maxTime), Err: err}
	}
	return nil, &Error{Reason: Damaged, Type: in.Type, Words: "the " + f.name + " file is damaged: it cannot be read", Err: err}
}

// refuse says what to do about formats that are known and not read.
func refuse(mediaType string) *Error {
	e := &Error{Reason: Unsupported, Type: mediaType}
	switch mediaType {
	case contenttype.Encrypted:
		e.Reason, e.Words = Encrypted, "the Office file is encrypted: it opens with a password only; remove the password first"
	case contenttype.DOC, contenttype.OLE, "application/rtf", "text/rtf":
		e.Words = "files of Word before 2007 (.doc, .rtf) cannot be read; save it as .docx or PDF"
	case contenttype.XLS, contenttype.XLSB:
		e.Words = "workbooks of Excel before 2007 and binary ones (.xls, .xlsb) cannot be read; save it as .xlsx or CSV"
	case contenttype.PPT:
		e.Words = "slides of PowerPoint before 2007 (.ppt) cannot be read; save them as .pptx or PDF"
	case contenttype.Zip, "application/x-gzip", "application/gzip", "application/x-rar-compressed":
		e.Words = "archives cannot be read; unpack it and give the files one by one"
	default:
		e.Words = fmt.Sprintf("content of type %s cannot be read: HTML, text, PDF, Word (.docx), Excel (.xlsx), PowerPoint (.pptx), CSV, JSON, feeds and the properties of images can", mediaType)
	}
	return e
}
