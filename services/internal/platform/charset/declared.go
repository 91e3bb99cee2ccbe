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
	if indexFold(head, "charset") < 0 {
		return "" // only a page that has the word needs the tokenizer
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

// indexFold finds a word of small ASCII letters in any letter case; -1 when it
// is not there. Folding the text itself would move the places of what is not
// ASCII.
func indexFold[T string | []byte](text T, word string) int {
next:
	for i := 0; i+len(word) <= len(text); i++ {
		for j := range len(word) {
			if text[i+j]|0x20 != word[j] {
				continue next
			}
		}
		return i
	}
	return -1
}
