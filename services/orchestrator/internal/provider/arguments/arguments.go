// Package arguments reads the arguments that a model wrote for a tool.
//
// A text that is exactly one JSON object is taken as it is. Anything else is
// read leniently: one that can be meant in one way only becomes that object, and
// every repair is named, so that whoever decides about the call can refuse what
// was guessed. What could be meant in two ways is an error, never a guess: two
// different objects, a property that is there twice, 007, NaN, a text cut off
// in a place where a value would be lost.
package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Repair names one way in which a text was mended.
type Repair string

// The repairs.
const (
	CodeFence       Repair = "code fence removed"
	Surroundings    Repair = "text around the object removed"
	TrailingComma   Repair = "trailing comma removed"
	DoubleEncoding  Repair = "object unpacked from a string"
	RawControl      Repair = "control character in a string escaped"
	RepeatedObject  Repair = "object that was written twice read once"
	WhiteSpace      Repair = "white space that JSON does not know removed"
	SurplusComma    Repair = "surplus comma removed"
	MissingComma    Repair = "missing comma added"
	MissingColon    Repair = "missing colon added"
	MissingEnd      Repair = "missing end added"
	SurplusEnd      Repair = "surplus bracket removed"
	Quotes          Repair = "other quotation marks read as quotation marks"
	InnerQuotes     Repair = "quotation marks inside a string escaped"
	UnquotedName    Repair = "property name without quotation marks quoted"
	UnquotedText    Repair = "text without quotation marks quoted"
	ForeignLiteral  Repair = "literal of another language read"
	ForeignNumber   Repair = "number in another notation read"
	UnknownEscape   Repair = "backslash that begins no escape kept as a backslash"
	BrokenCharacter Repair = "broken character replaced"
	Comment         Repair = "comment removed"
	Ellipsis        Repair = "ellipsis removed"
	Punctuation     Repair = "other punctuation read as that of JSON"
	JoinedStrings   Repair = "strings joined"
	Entities        Repair = "HTML entities read"
)

// light are the repairs that leave every name and value as they were written.
var light = []Repair{CodeFence, Surroundings, TrailingComma, DoubleEncoding, RawControl, RepeatedObject, WhiteSpace}

// Object is the arguments of one call.
type Object struct {
	// JSON is the text of one object: well formed, names unique, numbers as they
	// were written.
	JSON string
	// Repairs are in the order of their first use, each once. None means that the
	// text was taken as it is.
	Repairs []Repair
}

// Light reports whether every repair is one after which nothing had to be
// guessed, so that a tool which changes things may be called as well.
func (o Object) Light() bool {
	return !slices.ContainsFunc(o.Repairs, func(r Repair) bool { return !slices.Contains(light, r) })
}

// maxTries is how many braces of a text are tried as the start of an object.
const maxTries = 8

// Exact takes a text that needs no repair: one JSON object, nothing, or null.
func Exact(text string) (Object, error) {
	switch text = strings.TrimSpace(text); text {
	case "", "null":
		return Object{JSON: "{}"}, nil
	}
	if text[0] != '{' {
		return Object{}, errors.New("not a JSON object")
	}
	if _, err := toolkit.Canonical([]byte(text)); err != nil {
		return Object{}, err
	}
	return Object{JSON: text}, nil
}

// Read takes a text exactly, and where that fails leniently. The error says what
// keeps it from being read, with the place in bytes where there is one.
func Read(text string) (Object, error) {
	exact, err := Exact(text)
	if err == nil {
		return exact, nil
	}
	if len(text) > toolkit.MaxArgumentBytes {
		return Object{}, err
	}
	r := &reader{}
	object, err := r.root(text, 0)
	if err != nil {
		return Object{}, err
	}
	// The last word is that of the reader whose result is hashed and run.
	if exact, err = Exact(object); err != nil {
		return Object{}, err
	}
	exact.Repairs = r.repairs
	return exact, nil
}

// root finds the object in a text and reads it.
func (r *reader) root(text string, unpacked int) (string, error) {
	trimmed := strings.TrimFunc(text, isBlank)
	if strings.TrimSpace(text) != trimmed {
		r.note(WhiteSpace)
	}
	text = trimmed
	switch {
	case text == "":
		return "{}", nil
	case text[0] == '[':
		return "", errors.New("an array where an object should be")
	case text[0] == '"' && unpacked < 2:
		return r.unpack(text, text, unpacked)
	case strings.HasPrefix(strings.TrimLeft(text[1:], " \t\r\n"), `\"`) && text[0] == '{' && unpacked < 2:
		return r.unpack(text, `"`+text+`"`, unpacked)
	case strings.Contains(text, "&quot;") && !strings.Contains(text, `"`):
		r.note(Entities)
		text = html.UnescapeString(text)
	}
	var first error
	at := strings.IndexByte(text, '{')
	for range maxTries {
		if at < 0 {
			break
		}
		before := r.repairs
		object, end, err := r.objectAt(text, at)
		if err == nil {
			r.surroundings(text[:at])
			return object, r.rest(object, text, end)
		}
		if first == nil {
			first = err
		}
		r.repairs = before
		// What lies outside the object that failed may still hold another one;
		// what lies inside it would be a part taken for the whole.
		if end <= at {
			break
		}
		next := strings.IndexByte(text[end:], '{')
		if next < 0 {
			break
		}
		at = end + next
	}
	if first == nil {
		first = errors.New("no object in the text")
	}
	return "", first
}

// unpack reads an object that was encoded as a string, or lost the quotation
// marks around it.
func (r *reader) unpack(text, quoted string, unpacked int) (string, error) {
	var inner string
	if json.Unmarshal([]byte(quoted), &inner) != nil {
		return "", errors.New("a string where an object should be")
	}
	if inner = strings.TrimFunc(inner, isBlank); inner == "" || inner[0] != '{' && inner[0] != '"' {
		return "", fmt.Errorf("a string where an object should be: %.40q", text)
	}
	r.note(DoubleEncoding)
	if exact, err := Exact(inner); err == nil {
		return exact.JSON, nil
	}
	return r.root(inner, unpacked+1)
}

// objectAt reads the object that begins at a place. end is the place after it; of
// one that cannot be read, the place after what was no part of an object at all,
// 0 when it was too much of an object to be passed over.
func (r *reader) objectAt(text string, at int) (object string, end int, err error) {
	r.in, r.pos, r.out, r.stack, r.properties = text, at, r.out[:0], r.stack[:0], 0
	if err := r.value(); err != nil {
		if r.properties == 0 {
			return "", at + 1, err
		}
		return "", 0, err
	}
	return string(r.out), r.pos, nil
}

// surroundings notes what stands before or after the object.
func (r *reader) surroundings(text string) {
	text = strings.TrimFunc(text, isBlank)
	switch {
	case text == "":
	case strings.Contains(text, "```"):
		r.note(CodeFence)
		if rest, _, _ := strings.Cut(text, "```"); strings.TrimSpace(rest) != "" {
			r.note(Surroundings)
		}
	case strings.Trim(text, "]}) \t\r\n") == "" && strings.ContainsAny(text, "]}"):
		r.note(SurplusEnd)
	case text == "," || text == ";":
		r.note(SurplusComma)
	default:
		r.note(Surroundings)
	}
}

// rest judges what follows the object. Another object must be the same one.
func (r *reader) rest(object, text string, end int) error {
	rest := text[end:]
	for range maxTries {
		next := strings.IndexByte(rest, '{')
		if next < 0 {
			r.surroundings(rest)
			return nil
		}
		r.surroundings(rest[:next])
		before := r.repairs
		second, after, err := r.objectAt(rest, next)
		r.repairs = before
		switch {
		case err != nil && after == 0:
			return errors.New("there is a second object, which cannot be read")
		case err != nil: // braces in prose
			r.note(Surroundings)
			rest = rest[after:]
			continue
		case !sameObject(object, second):
			return errors.New("there are two different objects: one call takes one")
		}
		r.note(RepeatedObject)
		rest = rest[after:]
	}
	return errors.New("there are too many objects: one call takes one")
}

// sameObject reports whether two JSON texts hold the same value.
func sameObject(a, b string) bool {
	if a == b {
		return true
	}
	decode := func(s string) (v any) {
		d := json.NewDecoder(bytes.NewReader([]byte(s)))
		d.UseNumber()
		_ = d.Decode(&v)
		return v
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// isBlank reports whether a character is white space to a reader of text.
func isBlank(c rune) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\v', '\f', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF, 0x2060:
		return true
	}
	return c >= 0x2000 && c <= 0x200B
}

// note lists a repair once.
func (r *reader) note(what Repair) {
	if !slices.Contains(r.repairs, what) {
		r.repairs = append(slices.Clip(r.repairs), what)
	}
}

// errorf is an error at the place where the reader is.
func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d: "+format, append([]any{r.pos}, args...)...)
}

// rune is the character at the place where the reader is, -1 at the end.
func (r *reader) rune() (c rune, size int) {
	if r.pos >= len(r.in) {
		return -1, 0
	}
	if b := r.in[r.pos]; b < utf8.RuneSelf {
		return rune(b), 1
	}
	return utf8.DecodeRuneInString(r.in[r.pos:])
}
