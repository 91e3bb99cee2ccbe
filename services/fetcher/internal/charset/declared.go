package charset

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// prescan is how far into a page a declaration is looked for, in bytes. The
// HTML standard asks for 1,024; pages with long heads declare later, and
// browsers follow them by reloading.
const prescan = 64 << 10

var xmlDeclaration = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// declared reads the encoding that the page itself names, by XML declaration or
// meta element. UTF-16 in a meta means UTF-8, for the meta could be read at all
// (HTML standard, "prescan a byte stream").
func declared(body []byte) string {
	head := body[:min(len(body), prescan)]
	if m := xmlDeclaration.FindSubmatch(head); m != nil {
		if name := lookup(string(m[1])); name != "" {
			return readable(name)
		}
	}
	if !containsFold(head, "charset") {
		return ""
	}
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if tag, hasAttr := z.TagName(); string(tag) == "meta" && hasAttr {
				if name := lookup(metaLabel(z)); name != "" {
					return readable(name)
				}
			}
		}
	}
}

// metaLabel reads charset=..., or content=...charset=... beside
// http-equiv=content-type, of the meta element the tokenizer stands on.
func metaLabel(z *html.Tokenizer) string {
	var label, content string
	var isContentType bool
	for more := true; more; {
		var key, val []byte
		key, val, more = z.TagAttr()
		switch string(key) {
		case "charset":
			label = string(val)
		case "content":
			content = labelAfter(string(val), "charset")
		case "http-equiv":
			isContentType = strings.EqualFold(strings.TrimSpace(string(val)), "content-type")
		}
	}
	if label == "" && isContentType {
		return content
	}
	return label
}

func readable(name string) string {
	if name == nameUTF16LE || name == nameUTF16BE {
		return nameUTF8
	}
	return name
}

// containsFold looks for an ASCII word in any letter case. Only one that is
// there needs the tokenizer.
func containsFold(b []byte, word string) bool {
	for len(b) >= len(word) {
		i := bytes.IndexAny(b, word[:1]+strings.ToUpper(word[:1]))
		if i < 0 || len(b)-i < len(word) {
			return false
		}
		if strings.EqualFold(string(b[i:i+len(word)]), word) {
			return true
		}
		b = b[i+1:]
	}
	return false
}
