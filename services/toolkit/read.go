package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of one JSON text of arguments.
const (
	// MaxArgumentBytes is the most bytes the arguments of one call may have. The
	// contract has the same number.
	MaxArgumentBytes = 1 << 20
	// MaxArgumentDepth is how deep arrays and objects may be nested.
	MaxArgumentDepth = 64
)

// reader parses exactly one JSON text (RFC 8259) into nil, bool, json.Number,
// string, []any and map[string]any.
//
// encoding/json is not used because it forgives what must not be forgiven in
// something that is hashed: of two equal names the last wins, and invalid UTF-8
// and lone surrogates silently become U+FFFD, so two different texts would get
// one hash. RFC 8785 section 3.1 demands I-JSON (RFC 7493), which forbids them.
type reader struct {
	in    []byte
	pos   int
	depth int
}

func parseJSON(data []byte) (any, error) {
	if len(data) > MaxArgumentBytes {
		return nil, fmt.Errorf("JSON text of %d bytes is over the limit of %d", len(data), MaxArgumentBytes)
	}
	r := &reader{in: data}
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	r.space()
	if r.pos < len(r.in) {
		return nil, r.errorf("text goes on after the end of the value")
	}
	return v, nil
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: "+format, append([]any{r.pos}, args...)...)
}

func (r *reader) space() {
	for r.pos < len(r.in) {
		switch r.in[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

func (r *reader) peek() byte {
	if r.pos < len(r.in) {
		return r.in[r.pos]
	}
	return 0
}

func (r *reader) value() (any, error) {
	r.space()
	if r.pos == len(r.in) {
		return nil, r.errorf("the text ends where a value should be")
	}
	switch c := r.in[r.pos]; {
	case c == '{':
		return r.object()
	case c == '[':
		return r.array()
	case c == '"':
		return r.str()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	switch {
	case r.word("true"):
		return true, nil
	case r.word("false"):
		return false, nil
	case r.word("null"):
		return nil, nil
	}
	return nil, r.errorf("no JSON value begins with %s", shown(r.in[r.pos:]))
}

func (r *reader) word(w string) bool {
	if !bytes.HasPrefix(r.in[r.pos:], []byte(w)) {
		return false
	}
	r.pos += len(w)
	return true
}

func shown(in []byte) string {
	c, _ := utf8.DecodeRune(in)
	return strconv.QuoteRune(c)
}

func (r *reader) enter() error {
	if r.depth++; r.depth > MaxArgumentDepth {
		return r.errorf("nested deeper than %d levels", MaxArgumentDepth)
	}
	r.pos++
	r.space()
	return nil
}

func (r *reader) object() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	m := map[string]any{}
	if r.peek() == '}' {
		r.pos++
		return m, nil
	}
	for {
		r.space()
		if r.peek() != '"' {
			return nil, r.errorf("a property name in double quotes should be here")
		}
		start := r.pos
		name, err := r.str()
		if err != nil {
			return nil, err
		}
		if _, dup := m[name]; dup {
			r.pos = start
			return nil, r.errorf("property %q is there twice", clip(name))
		}
		if r.space(); r.peek() != ':' {
			return nil, r.errorf("a colon should follow the property name %q", clip(name))
		}
		r.pos++
		if m[name], err = r.value(); err != nil {
			return nil, err
		}
		switch r.space(); r.peek() {
		case ',':
			r.pos++
		case '}':
			r.pos++
			return m, nil
		default:
			return nil, r.errorf("a comma or } should follow the value of %q", clip(name))
		}
	}
}

func (r *reader) array() (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer func() { r.depth-- }()
	a := []any{}
	if r.peek() == ']' {
		r.pos++
		return a, nil
	}
	for {
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		a = append(a, v)
		switch r.space(); r.peek() {
		case ',':
			r.pos++
		case ']':
			r.pos++
			return a, nil
		default:
			return nil, r.errorf("a comma or ] should follow item %d", len(a)-1)
		}
	}
}

func (r *reader) digits() bool {
	start := r.pos
	for r.pos < len(r.in) && r.in[r.pos] >= '0' && r.in[r.pos] <= '9' {
		r.pos++
	}
	return r.pos > start
}

func (r *reader) number() (any, error) {
	start := r.pos
	if r.peek() == '-' {
		r.pos++
	}
	if r.peek() == '0' {
		r.pos++
		if c := r.peek(); c >= '0' && c <= '9' {
			return nil, r.errorf("a number must not begin with 0")
		}
	} else if !r.digits() {
		return nil, r.errorf("a digit should be here")
	}
	if r.peek() == '.' {
		if r.pos++; !r.digits() {
			return nil, r.errorf("a digit should follow the point")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		if !r.digits() {
			return nil, r.errorf("a digit should follow the exponent sign")
		}
	}
	n := json.Number(r.in[start:r.pos])
	// RFC 8785 knows numbers as IEEE 754 doubles; one that overflows has no form.
	if f, err := n.Float64(); err != nil || math.IsInf(f, 0) {
		r.pos = start
		return nil, r.errorf("number %s is too large", clip(string(n)))
	}
	return n, nil
}

func (r *reader) str() (string, error) {
	r.pos++ // the opening quote
	start := r.pos
	for r.pos < len(r.in) { // fast path: no escapes
		switch c := r.in[r.pos]; {
		case c == '"':
			s := string(r.in[start:r.pos])
			if !utf8.ValidString(s) {
				return "", r.errorf("a string is not valid UTF-8")
			}
			r.pos++
			return s, nil
		case c == '\\':
			return r.escaped(append([]byte(nil), r.in[start:r.pos]...))
		case c < 0x20:
			return "", r.errorf("control character 0x%02x in a string must be escaped", c)
		}
		r.pos++
	}
	return "", r.errorf("a string is not closed")
}

func (r *reader) escaped(out []byte) (string, error) {
	for r.pos < len(r.in) {
		c := r.in[r.pos]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return "", r.errorf("a string is not valid UTF-8")
			}
			r.pos++
			return string(out), nil
		case c < 0x20:
			return "", r.errorf("control character 0x%02x in a string must be escaped", c)
		case c != '\\':
			out = append(out, c)
			r.pos++
			continue
		}
		ch, err := r.escape()
		if err != nil {
			return "", err
		}
		out = utf8.AppendRune(out, ch)
	}
	return "", r.errorf("a string is not closed")
}

var errLoneSurrogate = errors.New("half of a surrogate pair stands alone")

// escape reads one escape, or the two that make a surrogate pair.
func (r *reader) escape() (rune, error) {
	r.pos++ // the backslash
	c := r.peek()
	switch c {
	case '"', '\\', '/':
		r.pos++
		return rune(c), nil
	case 'b':
		r.pos++
		return '\b', nil
	case 'f':
		r.pos++
		return '\f', nil
	case 'n':
		r.pos++
		return '\n', nil
	case 'r':
		r.pos++
		return '\r', nil
	case 't':
		r.pos++
		return '\t', nil
	case 'u':
		first, err := r.hex4()
		if err != nil || !utf16.IsSurrogate(first) {
			return first, err
		}
		if r.peek() != '\\' || r.pos+1 >= len(r.in) || r.in[r.pos+1] != 'u' {
			return 0, r.errorf("%w", errLoneSurrogate)
		}
		r.pos++
		second, err := r.hex4()
		if err != nil {
			return 0, err
		}
		pair := utf16.DecodeRune(first, second)
		if pair == utf8.RuneError {
			return 0, r.errorf("%w", errLoneSurrogate)
		}
		return pair, nil
	}
	return 0, r.errorf("a backslash must not stand before %s", shown(r.in[r.pos:]))
}

// hex4 reads "uXXXX".
func (r *reader) hex4() (rune, error) {
	if r.pos+5 > len(r.in) {
		return 0, r.errorf("four hexadecimal digits should follow \\u")
	}
	n, err := strconv.ParseUint(string(r.in[r.pos+1:r.pos+5]), 16, 16)
	if err != nil {
		return 0, r.errorf("four hexadecimal digits should follow \\u")
	}
	r.pos += 5
	return rune(n), nil
}

// maxShownBytes is how much of a caller's value an error repeats.
const maxShownBytes = 80

// clip shortens a value for an error message, at a character boundary.
func clip(s string) string { return clipTo(s, maxShownBytes) }

func clipTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
