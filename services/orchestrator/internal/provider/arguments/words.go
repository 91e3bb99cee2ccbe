package arguments

import (
	"regexp"
	"strings"
)

// literals are the words of other languages for those of JSON.
var literals = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"None": "null", "NULL": "null", "Null": "null", "nil": "null", "undefined": "null",
}

var (
	number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	// loose are numbers that are only written in another way: +5, .5, 5.
	loose = regexp.MustCompile(`^[+-]?([1-9][0-9]*|0)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$`)
	// doubtful are words that are a number to one reader and another number, or a
	// text, to the next: NaN, Infinity, 007, 0x1F, 1_000.
	doubtful = regexp.MustCompile(`(?i)^[+-]?(nan|inf(inity)?|0[0-9_]+(\..*)?|0[xob][0-9a-f_]*|[0-9]+(_[0-9]+)+)$`)
)

// word reads a value that is neither a container nor in quotation marks: a
// number, a literal, or a text that lost its quotation marks.
func (r *reader) word() error {
	rest := r.in[r.pos:]
	end := r.endOfWord(rest)
	w := strings.TrimRightFunc(rest[:end], isBlank)
	cut := r.pos+end >= len(r.in)
	switch literal, known := literals[w]; {
	case w == "":
		return r.errorf("no value begins with %.10q", rest)
	case w == "true" || w == "false" || w == "null" || number.MatchString(w):
		r.out = append(r.out, w...)
	case known:
		r.note(ForeignLiteral)
		r.out = append(r.out, literal...)
	case doubtful.MatchString(w):
		return r.errorf("%.40q is not a number of JSON and could be meant in several ways", w)
	case loose.MatchString(w) && strings.ContainsAny(w, "0123456789"):
		return r.looseNumber(w, end)
	case cut:
		return r.errorf("the text ends in a value without quotation marks")
	case strings.ContainsAny(w, "\"{[<>(`"):
		return r.errorf("no value begins with %.10q", w)
	default:
		r.note(UnquotedText)
		r.out = appendString(r.out, strings.ToValidUTF8(w, "\uFFFD"))
	}
	r.pos += len(w)
	return nil
}

// endOfWord is the length of the word at the start of a text. A text without
// quotation marks may hold spaces and addresses.
func (r *reader) endOfWord(rest string) int {
	for i, c := range rest {
		switch c {
		case ',', '}', ']', '\n', '\r', '，', ';':
			return i
		case '/', '#':
			if i > 0 && isBlank(rune(rest[i-1])) && (c == '#' || strings.HasPrefix(rest[i:], "//") || strings.HasPrefix(rest[i:], "/*")) {
				return i
			}
		case '"', '\'':
			if i > 0 && isBlank(rune(rest[i-1])) { // the next name, its comma lost
				return i
			}
		}
	}
	return len(rest)
}

// looseNumber writes +5 as 5, .5 as 0.5 and 5. as 5.
func (r *reader) looseNumber(w string, length int) error {
	mantissa, exponent := w, ""
	if i := strings.IndexAny(w, "eE"); i >= 0 {
		mantissa, exponent = w[:i], w[i:]
	}
	sign := ""
	switch mantissa[0] {
	case '-':
		sign, mantissa = "-", mantissa[1:]
	case '+':
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" {
		return r.errorf("%.20q is not a number", w)
	}
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	r.note(ForeignNumber)
	r.out = append(r.out, sign+whole+fraction+exponent...)
	r.pos += min(len(w), length)
	return nil
}
