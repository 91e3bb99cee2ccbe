// Package filetype tells what a file is from its first bytes. The name of a file
// only refines what its bytes allow: text stays text and an archive stays an
// archive, so that a page with scripts is never served as an image or as text.
package filetype

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
)

// HeadBytes is how much of a file is looked at.
const HeadBytes = 4096

// Types that callers decide by.
const (
	Plain  = "text/plain"
	HTML   = "text/html"
	SVG    = "image/svg+xml"
	XML    = "text/xml"
	Binary = "application/octet-stream"
)

// Detect names the media type of a file from its first [HeadBytes] bytes, without
// parameters. name may be empty.
func Detect(head []byte, name string) string {
	head = head[:min(len(head), HeadBytes)]
	if len(head) == 0 {
		return refine(Plain, name)
	}
	sniffed, _, err := mime.ParseMediaType(http.DetectContentType(head))
	switch {
	case err != nil:
		return Binary
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return "application/vnd.sqlite3"
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return "application/x-executable"
	case isUTF16(head): // valid text, but not in the encoding that text is read in
		return Binary
	case sniffed == Plain && isBinary(head): // the library looks at 512 bytes only
		return Binary
	case (sniffed == Plain || sniffed == XML) && isMarkup(head, "<svg"):
		return SVG
	case sniffed == Plain && isMarkup(head, "<html", "<script", "<body", "<!doctype html", "<iframe"):
		return HTML
	}
	return refine(sniffed, name)
}

// IsText says that a file of this type can be read as text.
func IsText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+xml") || textNames[mediaType]
}

var textNames = map[string]bool{"application/json": true, "application/x-ndjson": true, "application/yaml": true}

// ofText are the types that the end of a name may give to plain text. None of
// them makes a browser run anything.
var ofText = map[string]string{
	".csv": "text/csv", ".tsv": "text/tab-separated-values", ".md": "text/markdown",
	".json": "application/json", ".jsonl": "application/x-ndjson", ".yml": "application/yaml", ".yaml": "application/yaml",
}

// ofZip are the documents that are zip archives.
var ofZip = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}

func refine(sniffed, name string) string {
	end := strings.ToLower(path.Ext(name))
	var refined string
	switch sniffed {
	case Plain:
		refined = ofText[end]
	case "application/zip":
		refined = ofZip[end]
	}
	if refined == "" {
		return sniffed
	}
	return refined
}

func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// isBinary finds a byte that no text has (WHATWG MIME sniffing, "binary data
// byte").
func isBinary(head []byte) bool {
	return bytes.ContainsFunc(head, func(r rune) bool {
		return r <= 0x08 || r == 0x0b || (r >= 0x0e && r <= 0x1a) || (r >= 0x1c && r <= 0x1f)
	})
}

// isMarkup says that text which begins with a tag holds one of the given ones.
func isMarkup(head []byte, tags ...string) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n\f")
	if !bytes.HasPrefix(text, []byte("<")) {
		return false
	}
	text = bytes.ToLower(text)
	for _, tag := range tags {
		if bytes.Contains(text, []byte(tag)) {
			return true
		}
	}
	return false
}
