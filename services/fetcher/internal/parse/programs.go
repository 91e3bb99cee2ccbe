package parse

import "bytes"

// withoutPrograms leaves out what the scripts and style sheets of a page say: it
// is half of many pages, the parser reads it a byte at a time, and nobody
// here runs it. The elements stay, and so do scripts that hold data or formulas
// (JSON-LD, MathJax). The result may share memory with page.
//
// It follows the tokenizer of the HTML standard (section 13.2.5) as far as is
// needed to tell a script from the word in a comment, an attribute or a title,
// and leaves the rest of the page as it is where that takes more.
func withoutPrograms(page []byte) []byte {
	var out []byte
	kept := 0    // page up to here is in out, or left out
	foreign := 0 // open elements of SVG and MathML, in which no text is raw
	for i := next(page, 0); i >= 0; i = next(page, i) {
		t := readTag(page, i, foreign > 0)
		if i = t.end; i < 0 {
			break
		}
		name := elementOf(t.name)
		if name == foreignElement {
			foreign = nested(foreign, t)
		}
		if name == 0 || name == foreignElement || t.closing || foreign > 0 {
			continue
		}
		if i = rawEnd(page, t); i < 0 || name == plainElement {
			break
		}
		if name == styleElement || name == scriptElement && isProgram(t.attributes) {
			if out == nil {
				out = make([]byte, 0, len(page))
			}
			out = append(out, page[kept:t.end]...)
			kept = i
		}
	}
	if out == nil {
		return page
	}
	return append(out, page[kept:]...)
}

// nested is how many foreign elements are open behind a tag of one.
func nested(open int, t tag) int {
	switch {
	case t.closing:
		return max(open-1, 0)
	case bytes.HasSuffix(t.attributes, []byte("/>")):
		return open
	}
	return open + 1
}

// next is where the next tag may begin; -1 when there is none.
func next(page []byte, from int) int {
	if at := bytes.IndexByte(page[from:], '<'); at >= 0 {
		return from + at
	}
	return -1
}

// element is a kind of element that matters here.
type element int

const (
	rawElement   element = iota + 1 // its content is text
	plainElement                    // and nothing ends it
	scriptElement
	styleElement
	foreignElement
)

var elements = map[string]element{
	"script": scriptElement, "style": styleElement, "svg": foreignElement, "math": foreignElement,
	"textarea": rawElement, "title": rawElement, "xmp": rawElement, "iframe": rawElement, "noembed": rawElement, "noframes": rawElement,
	"plaintext": plainElement,
}

// longestName is that of the longest of the elements, in bytes.
const longestName = len("plaintext")

// elementOf is 0 for an element of no interest.
func elementOf(name []byte) element {
	if len(name) > longestName {
		return 0
	}
	var small [longestName]byte
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		small[i] = c
	}
	return elements[string(small[:len(name)])]
}

// tag is what begins with "<": a tag, or a comment and the like without a name.
type tag struct {
	name, attributes []byte
	closing          bool
	end              int // behind it; -1 when the page ends before
}

func readTag(page []byte, at int, foreign bool) tag {
	rest := page[at+1:]
	t := tag{closing: bytes.HasPrefix(rest, []byte("/"))}
	name := at + 1
	if t.closing {
		name++
	}
	switch {
	case name < len(page) && isLetter(page[name]):
	case bytes.HasPrefix(rest, []byte("!--")):
		return tag{end: commentEnd(page, at+len("<!--"))}
	case foreign && bytes.HasPrefix(rest, []byte("![CDATA[")):
		return tag{end: behind(page, at, "]]>")}
	case t.closing, bytes.HasPrefix(rest, []byte("!")), bytes.HasPrefix(rest, []byte("?")):
		return tag{end: behind(page, at, ">")}
	default:
		return tag{end: at + 1} // a sign in a text
	}
	end := name
	for end < len(page) && !isSpace(page[end]) && page[end] != '/' && page[end] != '>' {
		end++
	}
	t.name, t.end = page[name:end], tagEnd(page, end)
	if t.end >= 0 {
		t.attributes = page[end:t.end]
	}
	return t
}

// commentEnd is where a comment ends whose text begins at from.
func commentEnd(page []byte, from int) int {
	for _, empty := range []string{">", "->"} {
		if bytes.HasPrefix(page[from:], []byte(empty)) {
			return from + len(empty)
		}
	}
	for i := from; ; {
		at := bytes.Index(page[i:], []byte("--"))
		if at < 0 {
			return -1
		}
		i += at + 2
		rest := bytes.TrimPrefix(page[i:], []byte("!"))
		if bytes.HasPrefix(rest, []byte(">")) {
			return len(page) - len(rest) + 1
		}
		i-- // of three dashes the last two may end it
	}
}

// behind is where the first end after at has ended.
func behind(page []byte, at int, end string) int {
	n := bytes.Index(page[at:], []byte(end))
	if n < 0 {
		return -1
	}
	return at + n + len(end)
}

// tagEnd is where a tag ends whose name ends at i: a sign in the value of an
// attribute does not end it.
func tagEnd(page []byte, i int) int {
	for i < len(page) {
		if page[i] == '>' {
			return i + 1
		}
		if page[i] == '/' || isSpace(page[i]) {
			i++
			continue
		}
		// The name of an attribute, of which "=" may be the first character.
		for i++; i < len(page) && page[i] != '=' && page[i] != '>' && page[i] != '/' && !isSpace(page[i]); {
			i++
		}
		i = skipSpace(page, i)
		if i == len(page) || page[i] != '=' {
			continue
		}
		if i = valueEnd(page, skipSpace(page, i+1)); i < 0 {
			return -1
		}
	}
	return -1
}

// valueEnd is where the value of an attribute ends that begins at i; -1 when the
// page ends before.
func valueEnd(page []byte, i int) int {
	if i == len(page) {
		return -1
	}
	if quote := page[i]; quote == '"' || quote == '\'' {
		n := bytes.IndexByte(page[i+1:], quote)
		if n < 0 {
			return -1
		}
		return i + 1 + n + 1
	}
	for i < len(page) && page[i] != '>' && !isSpace(page[i]) {
		i++
	}
	return i
}

// rawEnd is where the text of an element ends and its end tag begins; -1 when
// that is not told here.
func rawEnd(page []byte, t tag) int {
	for i := t.end; ; {
		at := bytes.Index(page[i:], []byte("</"))
		if at < 0 {
			return -1
		}
		i += at + 2
		end := i + len(t.name)
		if end >= len(page) || !bytes.EqualFold(page[i:end], t.name) || page[end] != '>' && page[end] != '/' && !isSpace(page[end]) {
			continue
		}
		if text := page[t.end : i-2]; bytes.Contains(text, []byte("<!--")) && bytes.Contains(bytes.ToLower(text), []byte("<script")) {
			return -1 // a script may have scripts in comments (section 13.2.5.26)
		}
		return i - 2
	}
}

// isProgram reports whether a script with such attributes holds a program.
func isProgram(attributes []byte) bool {
	a := bytes.ToLower(attributes)
	if bytes.Contains(a, []byte("json")) || bytes.Contains(a, []byte("math/")) {
		return false
	}
	return !bytes.Contains(a, []byte("type")) || bytes.Contains(a, []byte("javascript")) || bytes.Contains(a, []byte("module"))
}

func skipSpace(page []byte, i int) int {
	for i < len(page) && isSpace(page[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
