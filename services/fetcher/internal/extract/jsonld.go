package extract

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
)

// Limits of what is read of a page's JSON-LD.
const (
	maxLDBytes  = 256 << 10 // of one script
	maxLDThings = 500       // of a page
	maxLDDepth  = 8
)

// thing is one thing that the JSON-LD of a page describes.
type thing map[string]any

// ldThings reads the JSON-LD in scripts: single things, arrays, @graph. What
// cannot be read even leniently is left out.
func ldThings(scripts []string) []thing {
	var things []thing
	for _, s := range scripts {
		if len(s) > maxLDBytes {
			continue
		}
		var v any
		if json.Unmarshal([]byte(s), &v) != nil && json.Unmarshal(mendJSON(s), &v) != nil {
			continue
		}
		things = collectThings(things, v, 0)
	}
	return things
}

func collectThings(things []thing, v any, depth int) []thing {
	if depth > maxLDDepth || len(things) >= maxLDThings {
		return things
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			things = collectThings(things, e, depth+1)
		}
	case map[string]any:
		things = append(things, v)
		for _, key := range []string{"@graph", "mainEntity"} {
			things = collectThings(things, v[key], depth+1)
		}
	}
	return things
}

// mendJSON makes JSON of what pages have for it: in comments and CDATA
// sections, with comments inside, commas before an end, and line breaks within
// strings.
func mendJSON(s string) []byte {
	s = strings.TrimSpace(s)
	for _, cut := range []string{"<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA["} {
		s = strings.TrimSpace(strings.TrimPrefix(s, cut))
	}
	for _, cut := range []string{"-->", "//]]>", "/*]]>*/", "]]>", "//"} {
		s = strings.TrimSpace(strings.TrimSuffix(s, cut))
	}
	s = strings.TrimSuffix(s, ";")
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			n := stringEnd(s[i:])
			out = appendString(out, s[i:i+n])
			i += n
		case strings.HasPrefix(s[i:], "/*"):
			i = after(s, i+2, "*/")
		case strings.HasPrefix(s[i:], "//"):
			i = after(s, i+2, "\n")
		case c == ']' || c == '}':
			out = append(trimComma(out), c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// stringEnd is the length of the JSON string that s begins with.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// appendString appends a JSON string with spaces for control characters.
func appendString(out []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' {
			out = append(out, ' ')
		} else {
			out = append(out, s[i])
		}
	}
	return out
}

// after is the place behind the next end from i on.
func after(s string, i int, end string) int {
	if i > len(s) {
		return len(s)
	}
	if at := strings.Index(s[i:], end); at >= 0 {
		return i + at + len(end)
	}
	return len(s)
}

func trimComma(out []byte) []byte {
	n := len(out)
	for n > 0 && (out[n-1] <= ' ' || out[n-1] == ',') {
		n--
	}
	return out[:n]
}

// is says whether the thing has one of the types.
func (t thing) is(types ...string) bool {
	for _, name := range texts(t["@type"]) {
		name = name[strings.LastIndexByte(name, '/')+1:]
		if slices.Contains(types, name) {
			return true
		}
	}
	return false
}

// isArticle says whether the thing is an article of any kind.
func (t thing) isArticle() bool {
	for _, name := range texts(t["@type"]) {
		if strings.HasSuffix(name, "Article") || strings.HasSuffix(name, "BlogPosting") ||
			slices.Contains([]string{"Report", "SocialMediaPosting", "DiscussionForumPosting", "APIReference"}, name) {
			return true
		}
	}
	return false
}

// text is the first text that a property has: its own, or the name of what it
// is.
func (t thing) text(key string) string {
	if all := texts(t[key]); len(all) > 0 {
		return all[0]
	}
	return ""
}

// texts are the texts of a value: strings, and the names of things.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		if v = fold(html.UnescapeString(v)); v != "" {
			return []string{v}
		}
	case map[string]any:
		if name := texts(v["name"]); len(name) > 0 {
			return name
		}
		return texts(v["@value"])
	case []any:
		var all []string
		for _, e := range v {
			if len(all) < maxAuthors {
				all = append(all, texts(e)...)
			}
		}
		return all
	}
	return nil
}

// maxAuthors is how many names are read of one property.
const maxAuthors = 20
