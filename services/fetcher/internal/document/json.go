package document

import (
	"context"
	"encoding/json"
	"strings"
)

// jsonIndentDepth is how deep values may nest to be indented: deeper ones would
// be mostly white space.
const jsonIndentDepth = 64

// maxReadableLine is the longest line, in bytes, of JSON that is in lines already.
const maxReadableLine = 200

// inLines says that text has no long line.
func inLines(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > maxReadableLine {
			return false
		}
	}
	return true
}

// readJSON sets JSON of long lines in short ones, indented by two. What is not
// valid stays as it is.
func readJSON(_ context.Context, in *Request) (*Document, error) {
	d := &Document{Kind: KindData, Language: "json", Plain: in.Text}
	if inLines(in.Text) {
		return d, nil
	}
	if !json.Valid([]byte(in.Text)) {
		d.warn("json: it is not valid JSON; shown as it is")
		return d, nil
	}
	pretty, whole := indentJSON(in.Text, in.MaxText)
	d.Plain = pretty
	if !whole {
		d.Cut = true
		d.warn("page_limit: the document is longer than what is read")
	}
	return d, nil
}

// indentJSON indents valid JSON until it has limit bytes, without changing a
// number or a text. Empty objects and arrays, and what nests deeper than
// jsonIndentDepth, stay on their line.
func indentJSON(text string, limit int) (pretty string, whole bool) {
	var out strings.Builder
	depth := 0
	line := func() {
		if depth <= jsonIndentDepth {
			out.WriteByte('\n')
			out.WriteString(strings.Repeat("  ", depth))
		}
	}
	for i := 0; i < len(text); i++ {
		if out.Len() > limit {
			return firstBytes(out.String(), limit), false
		}
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
		case '{', '[':
			out.WriteByte(c)
			next := i + 1
			for next < len(text) && strings.IndexByte(" \t\r\n", text[next]) >= 0 {
				next++
			}
			if next < len(text) && (text[next] == '}' || text[next] == ']') {
				out.WriteByte(text[next])
				i = next
				break
			}
			depth++
			line()
		case '}', ']':
			depth--
			if depth < jsonIndentDepth {
				line()
			}
			out.WriteByte(c)
		case ',':
			out.WriteByte(c)
			line()
		case ':':
			out.WriteString(": ")
		case '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			out.WriteString(text[i : end+1])
			i = end
		default:
			out.WriteByte(c)
		}
	}
	if out.Len() > limit {
		return firstBytes(out.String(), limit), false
	}
	return out.String(), true
}
