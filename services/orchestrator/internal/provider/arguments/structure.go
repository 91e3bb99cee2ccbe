package arguments

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// reader reads one object leniently and writes it as JSON.
type reader struct {
	in         string
	pos        int
	out        []byte
	stack      []byte // the brackets that are open: '{' and '['
	properties int    // names with a colon read so far
	repairs    []Repair
}

// value reads one value.
func (r *reader) value() error {
	if err := r.space(); err != nil {
		return err
	}
	c, _ := r.rune()
	switch {
	case c < 0:
		return r.errorf("the text ends where a value should be")
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case r.quoteHere() != nil:
		return r.stringValue()
	}
	return r.word()
}

func (r *reader) open(bracket byte) error {
	if len(r.stack) >= toolkit.MaxArgumentDepth {
		return r.errorf("nested deeper than %d levels", toolkit.MaxArgumentDepth)
	}
	r.stack = append(r.stack, bracket)
	r.out = append(r.out, bracket)
	r.pos++
	return nil
}

func (r *reader) close(bracket byte) {
	r.stack = r.stack[:len(r.stack)-1]
	r.out = append(r.out, bracket)
}

func (r *reader) object() error {
	if err := r.open('{'); err != nil {
		return err
	}
	names := map[string]bool{}
	for {
		ended, err := r.between('}')
		if err != nil {
			return err
		}
		if ended {
			r.close('}')
			return nil
		}
		start := r.pos
		name, err := r.name()
		if err != nil {
			return err
		}
		if names[name] {
			r.pos = start
			return r.errorf("property %.40q is there twice", name)
		}
		names[name] = true
		if len(names) > 1 {
			r.out = append(r.out, ',')
		}
		r.out = append(appendString(r.out, name), ':')
		if err := r.colon(name); err != nil {
			return err
		}
		r.properties++
		if err := r.value(); err != nil {
			return err
		}
	}
}

func (r *reader) array() error {
	if err := r.open('['); err != nil {
		return err
	}
	for items := 0; ; items++ {
		ended, err := r.between(']')
		if err != nil {
			return err
		}
		if ended {
			r.close(']')
			return nil
		}
		if items > 0 {
			r.out = append(r.out, ',')
		}
		if err := r.value(); err != nil {
			return err
		}
	}
}

// between reads what stands between two members, and reports whether the
// container ends here. The end of the input ends it, and so does the end of an
// outer container; a bracket that ends nothing is dropped.
func (r *reader) between(end byte) (ended bool, err error) {
	commas, first := 0, r.out[len(r.out)-1] == '{' || r.out[len(r.out)-1] == '['
	outer := byte('}')
	if end == '}' {
		outer = ']'
	}
	for {
		if err := r.space(); err != nil {
			return false, err
		}
		c, size := r.rune()
		switch {
		case c < 0:
			r.trailing(commas, first)
			r.note(MissingEnd)
			return true, nil
		case c == rune(end):
			r.pos++
			r.trailing(commas, first)
			return true, nil
		case c == rune(outer) && slices.Contains(r.stack, opening(outer)):
			r.trailing(commas, first)
			r.note(MissingEnd)
			return true, nil
		case c == rune(outer):
			r.pos++
			r.note(SurplusEnd)
		case c == ',' || c == '，' || c == '、' || c == ';' || c == '；':
			if c != ',' {
				r.note(Punctuation)
			}
			commas++
			r.pos += size
		case strings.HasPrefix(r.in[r.pos:], "..."):
			r.pos += 3
			r.note(Ellipsis)
			commas = 0
			first = true
		case c == '…':
			r.pos += size
			r.note(Ellipsis)
			commas = 0
			first = true
		default:
			r.separated(commas, first)
			return false, nil
		}
	}
}

// trailing notes the commas before an end.
func (r *reader) trailing(commas int, first bool) {
	switch {
	case commas == 1 && !first:
		r.note(TrailingComma)
	case commas > 0:
		r.note(SurplusComma)
	}
}

// separated notes the commas before a member.
func (r *reader) separated(commas int, first bool) {
	switch {
	case first && commas > 0, commas > 1:
		r.note(SurplusComma)
	case !first && commas == 0:
		r.note(MissingComma)
	}
}

func opening(end byte) byte {
	if end == '}' {
		return '{'
	}
	return '['
}

// name reads the name of a property.
func (r *reader) name() (string, error) {
	if r.quoteHere() != nil {
		return r.text(true)
	}
	rest := r.in[r.pos:]
	n := strings.IndexFunc(rest, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '$' && c != '-' && c != '.'
	})
	switch {
	case n < 0:
		return "", r.errorf("the text ends in the name of a property")
	case n == 0:
		return "", r.errorf("the name of a property should be here")
	}
	r.pos += n
	if after, closed := strings.CutPrefix(rest[n:], `"`); closed && strings.HasPrefix(strings.TrimLeftFunc(after, isBlank), ":") {
		r.pos++ // only the opening mark was lost
	}
	r.note(UnquotedName)
	return rest[:n], nil
}

// colon reads what stands between a name and its value.
func (r *reader) colon(name string) error {
	if err := r.space(); err != nil {
		return err
	}
	c, size := r.rune()
	switch {
	case c == ':':
	case c == '：' || c == '=':
		r.note(Punctuation)
		if strings.HasPrefix(r.in[r.pos:], "=>") {
			size++
		}
	case r.quoteHere() != nil || c == '{' || c == '[':
		r.note(MissingColon)
		return nil
	default:
		return r.errorf("a colon should follow the property name %.40q", name)
	}
	r.pos += size
	if err := r.space(); err != nil {
		return err
	}
	if c, _ := r.rune(); c == ',' || c == '}' || c == ']' {
		return r.errorf("the property %.40q has no value", name)
	}
	return nil
}

// space passes over white space and comments.
func (r *reader) space() error {
	for {
		c, size := r.rune()
		rest := r.in[r.pos:]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.pos++
		case c >= 0 && isBlank(c):
			r.note(WhiteSpace)
			r.pos += size
		case c == '#' || strings.HasPrefix(rest, "//"):
			r.note(Comment)
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			r.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return r.errorf("a comment is not closed")
			}
			r.note(Comment)
			r.pos += n + 4
		default:
			return nil
		}
	}
}

// appendString writes a string as JSON.
func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 0x20:
			out = append(out, c)
		case bytes.IndexByte([]byte("\b\t\n\f\r"), c) >= 0:
			out = append(out, '\\', "btn?fr"[c-'\b'])
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		}
	}
	return append(out, '"')
}
