package arguments

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// quote is a kind of quotation mark.
type quote struct {
	open    string
	closers []string
	other   bool // not the mark of JSON
}

// quotes are tried in this order.
var quotes = []quote{
	{`"""`, []string{`"""`}, true},
	{`"`, []string{`"`}, false},
	{`'''`, []string{`'''`}, true},
	{`'`, []string{`'`}, true},
	{"`", []string{"`"}, true},
	{`<|"|>`, []string{`<|"|>`}, true}, // Gemma
	{"“", []string{"”", "“", `"`}, true},
	{"”", []string{"”", `"`}, true},
	{"„", []string{"“", "”", `"`}, true},
	{"‘", []string{"’", "‘", "'"}, true},
	{"’", []string{"’", "'"}, true},
	{"＂", []string{"＂", `"`}, true},
	{"「", []string{"」"}, true},
	{"«", []string{"»"}, true},
}

// quoteHere is the quotation mark that the input goes on with, nil for none.
func (r *reader) quoteHere() *quote {
	if c, _ := r.rune(); c < 0 || unicode.IsLetter(c) || unicode.IsDigit(c) {
		return nil
	}
	rest := r.in[r.pos:]
	for i := range quotes {
		q := &quotes[i]
		if !strings.HasPrefix(rest, q.open) {
			continue
		}
		if len(q.open) == 3 && q.open[1] == q.open[0] && !strings.Contains(rest[3:], q.open) {
			continue // an empty string and the start of another
		}
		return q
	}
	return nil
}

// stringValue reads a string, and what is joined to it by a plus sign.
func (r *reader) stringValue() error {
	first, err := r.text(false)
	if err != nil {
		return err
	}
	s := []byte(first)
	for {
		back := r.pos
		if err := r.space(); err != nil {
			return err
		}
		if c, _ := r.rune(); c != '+' {
			r.pos = back
			break
		}
		r.pos++
		if err := r.space(); err != nil {
			return err
		}
		if r.quoteHere() == nil {
			return r.errorf("a string should follow the plus sign")
		}
		more, err := r.text(false)
		if err != nil {
			return err
		}
		r.note(JoinedStrings)
		s = append(s, more...)
	}
	r.out = appendString(r.out, string(s))
	return nil
}

// text reads a string in quotation marks of any kind.
func (r *reader) text(isName bool) (string, error) {
	q := r.quoteHere()
	if q.other {
		r.note(Quotes)
	}
	r.pos += len(q.open)
	var out []byte
	for {
		if end := r.closer(q); end > 0 {
			if r.ends(r.pos+end, isName) || len(q.open) > 1 && q.open[0] < utf8.RuneSelf {
				r.pos += end
				return string(out), nil
			}
			r.note(InnerQuotes)
			out = append(out, r.in[r.pos:r.pos+end]...)
			r.pos += end
			continue
		}
		c, size := r.rune()
		switch {
		case c < 0:
			return r.cutOff(out, isName)
		case c == '\\':
			var err error
			if out, err = r.escape(out, q); err != nil {
				return "", err
			}
			continue
		case c < 0x20:
			r.note(RawControl)
		case c == utf8.RuneError && size == 1:
			r.note(BrokenCharacter)
		}
		out = utf8.AppendRune(out, c)
		r.pos += size
	}
}

// cutOff decides about a string that the end of the input ends.
func (r *reader) cutOff(out []byte, isName bool) (string, error) {
	s := strings.TrimRightFunc(string(out), isBlank)
	switch {
	case isName:
		return "", r.errorf("the text ends in the name of a property")
	case strings.HasSuffix(s, "}"), strings.HasSuffix(s, "]"), strings.HasSuffix(s, "```"):
		return "", r.errorf("a string is not closed, and where it should end cannot be told")
	}
	r.note(MissingEnd)
	return string(out), nil
}

// closer is the length of the closing mark of q where the reader is, 0 for none.
func (r *reader) closer(q *quote) int {
	rest := r.in[r.pos:]
	for _, c := range q.closers {
		if strings.HasPrefix(rest, c) {
			return len(c)
		}
	}
	return 0
}

// ends decides whether a quotation mark that ends at a place closes its string,
// or is one of the text's own that should have been escaped: by what follows.
func (r *reader) ends(at int, isName bool) bool {
	look := reader{in: r.in, pos: at, stack: r.stack}
	look.blanks()
	c, size := look.rune()
	inArray := len(r.stack) > 0 && r.stack[len(r.stack)-1] == '['
	switch {
	case c < 0, c == '}', c == ']':
		return true
	case c == ':' || c == '：' || c == '=':
		return isName
	case isName:
		return look.quoteHere() != nil || c == '{' || c == '['
	case c == ',' || c == '，' || c == ';':
		look.pos += size
		return look.member(inArray)
	case c == '+':
		look.pos += size
		look.blanks()
		return look.quoteHere() != nil
	case c == '/' || c == '#':
		return c == '#' || strings.HasPrefix(look.in[look.pos:], "//") || strings.HasPrefix(look.in[look.pos:], "/*")
	}
	if inArray {
		return look.quoteHere() != nil
	}
	return look.named()
}

// blanks passes over white space.
func (r *reader) blanks() {
	for {
		c, size := r.rune()
		if c < 0 || !isBlank(c) {
			return
		}
		r.pos += size
	}
}

// member reports whether what follows a comma can be the next member.
func (r *reader) member(inArray bool) bool {
	r.blanks()
	c, _ := r.rune()
	switch {
	case c < 0, c == ',', c == '}', c == ']', c == '…', c == '#', c == '/',
		strings.HasPrefix(r.in[r.pos:], "..."):
		return true
	case inArray:
		return r.quoteHere() != nil || c == '{' || c == '[' || c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9' ||
			r.literal()
	}
	return r.named()
}

// literal reports whether a word of JSON or its relatives follows.
func (r *reader) literal() bool {
	rest := r.in[r.pos:]
	n := strings.IndexFunc(rest, func(c rune) bool { return !unicode.IsLetter(c) })
	if n < 0 || n > 9 {
		return false
	}
	_, known := literals[rest[:n]]
	return known || rest[:n] == "true" || rest[:n] == "false" || rest[:n] == "null"
}

// maxName is how many bytes are looked at to tell a name of a property.
const maxName = 256

// named reports whether a name and a colon follow.
func (r *reader) named() bool {
	rest := r.in[r.pos:min(len(r.in), r.pos+maxName)]
	if q := r.quoteHere(); q != nil {
		rest = rest[min(len(q.open), len(rest)):]
		end, skip := -1, 0
		for end < 0 && skip < len(rest) {
			if rest[skip] == '\\' {
				skip += 2
				continue
			}
			for _, c := range q.closers {
				if strings.HasPrefix(rest[skip:], c) {
					end = skip + len(c)
					break
				}
			}
			skip++
		}
		if end < 0 {
			return r.pos+maxName >= len(r.in) && !strings.ContainsAny(rest, ":}") // cut off in a name
		}
		rest = rest[end:]
	} else {
		n := strings.IndexFunc(rest, func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '$' && c != '-'
		})
		if n <= 0 {
			return false
		}
		rest = rest[n:]
	}
	rest = strings.TrimLeftFunc(rest, isBlank)
	return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "：") || strings.HasPrefix(rest, "=")
}

// escape reads what follows a backslash.
func (r *reader) escape(out []byte, q *quote) ([]byte, error) {
	r.pos++
	c, size := r.rune()
	plain := strings.IndexByte(`"\/bfnrt`, byte(c))
	switch {
	case c < 0:
		return nil, r.errorf("the text ends in an escape")
	case c < utf8.RuneSelf && plain >= 0:
		r.pos++
		return append(out, "\"\\/\b\f\n\r\t"[plain]), nil
	case c == 'u':
		return r.unicode(out)
	case r.closer(q) > 0, c == '\'', c == '`':
		r.note(UnknownEscape)
		r.pos += size
		return utf8.AppendRune(out, c), nil
	case c == '\n' || c == '\r': // a line that goes on
		r.note(RawControl)
		r.pos++
		return append(out, byte(c)), nil
	}
	r.note(UnknownEscape)
	return append(out, '\\'), nil
}

// unicode reads the escape of a character, or the two of a pair.
func (r *reader) unicode(out []byte) ([]byte, error) {
	if r.pos+5 > len(r.in) {
		return nil, r.errorf("the text ends in an escape")
	}
	first, ok := hex4(r.in[r.pos:])
	if !ok {
		r.note(UnknownEscape)
		return append(out, '\\'), nil
	}
	r.pos += 5
	if utf16.IsSurrogate(first) {
		if rest := r.in[r.pos:]; len(rest) >= 6 && rest[0] == '\\' {
			if second, ok := hex4(rest[1:]); ok {
				if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
					r.pos += 6
					return utf8.AppendRune(out, pair), nil
				}
			}
		}
		r.note(BrokenCharacter)
		first = utf8.RuneError
	}
	return utf8.AppendRune(out, first), nil
}

// hex4 reads "uXXXX".
func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 16)
	return rune(n), err == nil
}
