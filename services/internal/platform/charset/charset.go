package charset

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Source says what decided.
type Source string

// Sources, strongest first.
const (
	SourceBOM      Source = "bom"
	SourceHeader   Source = "header"
	SourceMeta     Source = "meta"
	SourceBytes    Source = "bytes"    // the bytes are valid UTF-8, UTF-16 or ASCII
	SourceDetected Source = "detected" // by the statistics of the bytes
	SourceDefault  Source = "default"
)

// Result is the encoding of a page.
type Result struct {
	// Name is the WHATWG name in lower case, such as "utf-8" or "gbk".
	Name string
	// Source is what decided.
	Source Source
	// Overruled is a declared encoding that the bytes contradict, else empty.
	Overruled string
}

const (
	nameUTF8    = "utf-8"
	nameUTF16LE = "utf-16le"
	nameUTF16BE = "utf-16be"
	name1252    = "windows-1252"
)

// ToUTF8 finds the encoding of body and decodes it. Bytes that mean nothing in
// the encoding become U+FFFD; a byte order mark is dropped. contentType is the
// Content-Type field, or empty.
func ToUTF8(body []byte, contentType string) ([]byte, Result) {
	res := Detect(body, contentType)
	return decode(body, res.Name), res
}

// Detect finds the encoding of body.
func Detect(body []byte, contentType string) Result {
	if name := byteOrderMark(body); name != "" {
		return Result{Name: name, Source: SourceBOM}
	}
	var overruled string
	header := lookup(headerLabel(contentType))
	if header != "" {
		if plausible(body, header) {
			return Result{Name: header, Source: SourceHeader}
		}
		overruled = header
	}
	if meta := declared(body); meta != "" && meta != header {
		if plausible(body, meta) {
			return Result{Name: meta, Source: SourceMeta, Overruled: overruled}
		}
		if overruled == "" {
			overruled = meta
		}
	}
	res := guess(body)
	res.Overruled = overruled
	return res
}

// byteOrderMark names the encoding whose mark body begins with.
func byteOrderMark(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte{0xEF, 0xBB, 0xBF}):
		return nameUTF8
	case bytes.HasPrefix(body, []byte{0xFE, 0xFF}):
		return nameUTF16BE
	case bytes.HasPrefix(body, []byte{0xFF, 0xFE}):
		return nameUTF16LE
	}
	return ""
}

// headerLabel reads the charset parameter. A field that is not valid MIME is
// searched for it: servers send "text/html;charset=utf-8;" and worse.
func headerLabel(contentType string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return params["charset"]
	}
	return labelAfter(contentType, "charset")
}

// labelAfter finds key=label in free text; key is in small letters.
func labelAfter(s, key string) string {
	for {
		i := indexFold(s, key)
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+len(key):], " \t\r\n\f")
		if !strings.HasPrefix(s, "=") {
			continue
		}
		s = strings.TrimLeft(s[1:], " \t\r\n\f")
		if s != "" && (s[0] == '"' || s[0] == '\'') {
			if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
				return s[1 : 1+end]
			}
			return ""
		}
		if end := strings.IndexAny(s, "; \t\r\n\f,"); end >= 0 {
			return s[:end]
		}
		return s
	}
}

// lookup turns any label of the Encoding Standard into a name; empty for an
// unknown one and for the replacement encodings.
func lookup(label string) string {
	label = strings.TrimSpace(label)
	if label == "" {
		return ""
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil || name == "replacement" || name == "x-user-defined" {
		return ""
	}
	return name
}

// codec gives the decoder of a name. gbk is decoded as gb18030, its superset,
// as the standard wants.
func codec(name string) encoding.Encoding {
	switch name {
	case nameUTF16LE:
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case nameUTF16BE:
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case "gbk", "gb18030":
		return simplifiedchinese.GB18030
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return encoding.Replacement
	}
	return enc
}

func decode(body []byte, name string) []byte {
	if name == nameUTF8 {
		body = bytes.TrimPrefix(body, []byte{0xEF, 0xBB, 0xBF})
		if utf8.Valid(body) {
			return body
		}
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	out, _, err := transform.Bytes(codec(name).NewDecoder(), body)
	if err != nil {
		return bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return bytes.ToValidUTF8(out, []byte("\uFFFD"))
}
