// Package contenttype decides what a body is: by its bytes first, by the header
// second, by its name last. A header that the bytes contradict is a mismatch,
// which callers show as a warning.
package contenttype

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Media types that the rest of the service decides by.
const (
	HTML   = "text/html"
	XHTML  = "application/xhtml+xml"
	Plain  = "text/plain"
	XML    = "application/xml"
	JSON   = "application/json"
	PDF    = "application/pdf"
	Binary = "application/octet-stream"
	Zip    = "application/zip"

	CSV      = "text/csv"
	TSV      = "text/tab-separated-values"
	Markdown = "text/markdown"

	RSS      = "application/rss+xml"
	Atom     = "application/atom+xml"
	JSONFeed = "application/feed+json"

	DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

	// What Office wrote before 2007, which cannot be read here.
	DOC  = "application/msword"
	XLS  = "application/vnd.ms-excel"
	PPT  = "application/vnd.ms-powerpoint"
	XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
	OLE  = "application/x-ole-storage"
	// Encrypted is an Office file behind a password.
	Encrypted = "application/encrypted"
)

// sniffLen is how much of a body is looked at, in bytes. http.DetectContentType
// looks at 512; PDF allows its mark anywhere in the first 1,024.
const sniffLen = 1024

// Result is what a body is.
type Result struct {
	// Type is the media type, lower case, without parameters.
	Type string
	// Header is the media type of the header, or empty.
	Header string
	// Mismatch says that the bytes contradict the header.
	Mismatch bool
}

// IsHTML says whether the body is to be parsed as HTML.
func (r Result) IsHTML() bool { return r.Type == HTML || r.Type == XHTML }

// IsText says whether the body can be shown as it is.
func (r Result) IsText() bool { return isText(r.Type) }

// Detect decides by the bytes of body, the Content-Type field and the name of the
// file; the last two may be empty.
func Detect(body []byte, header, name string) Result {
	res := detect(body, header)
	// The name says more where nothing else said anything.
	if res.Header == "" || res.Header == Binary || res.Header == Plain {
		named := OfName(name)
		if res.Type == Plain && isText(named) && named != HTML && named != XHTML || res.Type == Binary && !isText(named) && named != "" {
			res.Type = named
		}
	}
	return res
}

func detect(body []byte, header string) Result {
	declared := mediaType(header)
	sniffed := sniff(body)
	res := Result{Type: declared, Header: declared}
	switch {
	case len(body) == 0:
		if declared == "" {
			res.Type = Plain
		}
	case sniffed == Plain:
		// Text without a mark: the header may refine it, but not call it binary.
		res.Type = refine(declared, body)
		res.Mismatch = declared != "" && !isText(declared) && declared != Binary
	case sniffed == Binary:
		// Nothing known: the header may name it, but not call it text.
		if declared == "" || isText(declared) {
			res.Type = Binary
			res.Mismatch = declared != ""
		}
	case sniffed == XML:
		// A feed, a sitemap, XHTML: all XML, and the header knows which.
		if !strings.HasSuffix(declared, "xml") && declared != HTML {
			res.Type = XML
			res.Mismatch = declared != "" && declared != Plain && declared != Binary
		}
	case sniffed == RSS || sniffed == Atom:
		// A feed is a feed, whichever XML the header calls it.
		res.Type = sniffed
		res.Mismatch = declared != "" && !strings.HasSuffix(declared, "xml") && declared != Plain && declared != Binary && declared != HTML
	case isOffice(sniffed):
		res.Type = sniffed
		res.Mismatch = !officeFamily(declared, sniffed)
	case sniffed == HTML:
		if !res.IsHTML() {
			res.Type = HTML
			res.Mismatch = declared != ""
		}
	default:
		if !compatible(declared, sniffed) {
			res.Type = sniffed
			res.Mismatch = declared != "" && declared != Binary
		}
	}
	return res
}

// refine picks among text types.
func refine(declared string, body []byte) string {
	json := (declared != HTML && declared != XHTML) && looksJSON(body)
	switch {
	case json && isJSONFeed(body[:min(len(body), sniffLen)]):
		return JSONFeed
	case json && !strings.HasSuffix(declared, "+json"):
		return JSON
	case isText(declared):
		return declared
	default:
		return Plain
	}
}

// sniff answers HTML, XML, Plain (any other text), Binary (unknown), or a type
// with a signature of its own.
func sniff(body []byte) string {
	head := body[:min(len(body), sniffLen)]
	if bytes.Contains(head, []byte("%PDF-")) && !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"), []byte("<")) {
		return PDF
	}
	if bytes.HasPrefix(head, []byte(oleMark)) {
		return sniffOLE(body)
	}
	if utf16 := wide(head); utf16 != nil {
		head = utf16
	}
	got := mediaType(http.DetectContentType(head))
	if root := firstTag(head); root != "" {
		switch root {
		case "?xml":
			if bytes.Contains(bytes.ToLower(head), []byte("<html")) {
				return HTML
			}
			return xmlKind(head)
		case "rss", "feed", "rdf:rdf", "urlset", "sitemapindex":
			return xmlKind(head)
		case "!doctype html", "html", "head", "body":
			return HTML
		}
	}
	switch {
	case got == HTML:
		return HTML
	case got == "text/xml":
		return xmlKind(head)
	case got == Zip:
		return sniffZip(body)
	case got == Plain:
		return Plain
	case got == Binary && textual(head):
		return Plain
	default:
		return got
	}
}

// xmlKind is RSS or Atom for a feed, else XML.
func xmlKind(head []byte) string {
	if feed := sniffFeed(head); feed != "" {
		return feed
	}
	return XML
}

// firstTag gives the name of the first element of a document, behind white
// space, a byte order mark and comments; "!doctype html" for that doctype.
func firstTag(b []byte) string {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	for {
		b = bytes.TrimLeft(b, " \t\r\n\f")
		if !bytes.HasPrefix(b, []byte("<!--")) {
			break
		}
		_, rest, ok := bytes.Cut(b, []byte("-->"))
		if !ok {
			return ""
		}
		b = rest
	}
	if len(b) < 2 || b[0] != '<' {
		return ""
	}
	name := strings.ToLower(string(b[1:min(len(b), 40)]))
	if strings.HasPrefix(name, "!doctype") && strings.HasPrefix(strings.TrimSpace(name[len("!doctype"):]), "html") {
		return "!doctype html"
	}
	if i := strings.IndexAny(name, " \t\r\n\f/>"); i >= 0 {
		name = name[:i]
	}
	return name
}

// looksJSON tells an object or array by its first and last characters.
func looksJSON(b []byte) bool {
	b = bytes.TrimSpace(b)
	if len(b) < 2 {
		return false
	}
	switch {
	case b[0] == '{' && b[len(b)-1] == '}':
		rest := bytes.TrimLeft(b[1:], " \t\r\n")
		return rest[0] == '"' || rest[0] == '}'
	case b[0] == '[' && b[len(b)-1] == ']':
		rest := bytes.TrimLeft(b[1:], " \t\r\n")
		return bytes.IndexByte([]byte(`{["]-0123456789tfn`), rest[0]) >= 0
	}
	return false
}

// wide reads ASCII out of UTF-16, so that its markup can be recognised; nil
// when the bytes are not that.
func wide(b []byte) []byte {
	little := bytes.HasPrefix(b, []byte{0xff, 0xfe}) || (len(b) > 3 && b[0] == '<' && b[1] == 0)
	big := bytes.HasPrefix(b, []byte{0xfe, 0xff}) || (len(b) > 3 && b[0] == 0 && b[1] == '<')
	if !little && !big {
		return nil
	}
	out := make([]byte, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		lo, hi := b[i], b[i+1]
		if big {
			lo, hi = hi, lo
		}
		switch {
		case hi == 0:
			out = append(out, lo)
		case hi == 0xfe && lo == 0xff: // the mark
		default:
			out = append(out, 'x')
		}
	}
	return out
}

// textual accepts what a strict sniffer calls binary for a few stray control
// bytes: text in an escape-sequence encoding, or a log with colours.
func textual(b []byte) bool {
	if len(b) == 0 || bytes.IndexByte(b, 0) >= 0 {
		return false
	}
	controls := 0
	for _, c := range b {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b {
			controls++
		}
	}
	if utf8.Valid(b) {
		return controls*20 <= len(b)
	}
	return controls == 0
}

// compatible says whether a declared type is the sniffed one or a special case
// of it: Office files are zips, icons have two names.
func compatible(declared, sniffed string) bool {
	if declared == sniffed {
		return true
	}
	switch sniffed {
	case Zip:
		return strings.HasPrefix(declared, "application/") && !isText(declared) && declared != PDF && declared != Binary
	case "application/x-gzip":
		return declared == "application/gzip" || strings.HasSuffix(declared, "gzip") || strings.HasSuffix(declared, "+gzip")
	}
	family, _, _ := strings.Cut(sniffed, "/")
	switch family {
	case "image", "audio", "video", "font":
		return strings.HasPrefix(declared, family+"/")
	}
	return false
}

func isText(t string) bool {
	if strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml") {
		return true
	}
	switch t {
	case JSON, XML, "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/x-ndjson", "application/jsonl", "application/yaml", "application/x-yaml", "application/toml",
		"application/sql", "application/x-sh", "application/csv", "application/x-www-form-urlencoded", "application/graphql":
		return true
	}
	return false
}

// mediaType takes the type out of a Content-Type field, also out of a broken
// one.
func mediaType(field string) string {
	if t, _, err := mime.ParseMediaType(field); err == nil && strings.Contains(t, "/") {
		return t
	}
	t, _, _ := strings.Cut(field, ";")
	t = strings.ToLower(strings.TrimSpace(t))
	if !strings.Contains(t, "/") || strings.ContainsAny(t, " ,") {
		return ""
	}
	return t
}
