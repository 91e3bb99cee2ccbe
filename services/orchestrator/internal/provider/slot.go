package provider

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// slot is one tool call in the making.
type slot struct {
	ordinal  int // order of appearance
	index    int // the provider's index
	hasIndex bool
	inText   bool // it was written into the text
	id, name string
	args     strings.Builder
	shape    jsonShape
	last     int    // where the last piece of args starts
	prev     string // the piece before the last one
	extra    map[string]json.RawMessage
	fnExtra  map[string]json.RawMessage

	announced bool // the name was emitted
	emitted   int  // bytes of args that were emitted
}

// append adds the next piece of the arguments.
func (s *slot) append(piece string) {
	if piece == "" {
		return
	}
	if s.args.Len() > 0 {
		s.prev = s.args.String()[s.last:]
	}
	s.last = s.args.Len()
	s.args.WriteString(piece)
	s.shape.add(piece)
}

// unfinished reports whether the call is in the middle of its arguments.
func (s *slot) unfinished() bool {
	return s.name != "" && s.args.Len() > 0 && !s.complete()
}

// placeholder reports whether the arguments are an empty object so far. Gateways
// that translate another protocol begin a call with one and send its arguments
// after it; it is not emitted, since it may be nothing yet.
func (s *slot) placeholder() bool {
	return s.args.Len() <= 8 && s.complete() && strings.TrimSpace(s.args.String()) == "{}"
}

// restart forgets the arguments so far.
func (s *slot) restart() {
	s.args.Reset()
	s.shape, s.last, s.prev = jsonShape{}, 0, ""
}

// complete reports whether the arguments are one whole JSON object, by shape.
func (s *slot) complete() bool { return s.shape.closed }

// keepExtra stores members that are not understood.
func (s *slot) keepExtra(w *wireCall) {
	if len(w.Extra) > 0 {
		if s.extra == nil {
			s.extra = make(map[string]json.RawMessage)
		}
		maps.Copy(s.extra, w.Extra)
	}
	if len(w.Function.Extra) > 0 {
		if s.fnExtra == nil {
			s.fnExtra = make(map[string]json.RawMessage)
		}
		maps.Copy(s.fnExtra, w.Function.Extra)
	}
}

// call returns the finished call. Arguments that came cumulatively, each piece
// holding all before it, are read as the last piece.
func (s *slot) call() Call {
	args := strings.TrimSpace(s.args.String())
	switch {
	case args == "":
		args = "{}"
	case !json.Valid([]byte(args)):
		whole, tail := s.args.String()[:s.last], s.args.String()[s.last:]
		resent := strings.HasPrefix(tail, whole) || s.prev != "" && strings.HasPrefix(tail, s.prev)
		if resent && s.last > 0 && json.Valid([]byte(tail)) {
			args = strings.TrimSpace(tail)
		}
	}
	c := Call{ID: s.id, Name: s.name, Arguments: args}
	extra := maps.Clone(s.extra)
	if fn := encodeVerbatim(s.fnExtra); fn != nil {
		if extra == nil {
			extra = make(map[string]json.RawMessage)
		}
		extra["function"] = fn
	}
	c.Extra = encodeVerbatim(extra)
	return c
}

// sameValue reports whether two JSON texts hold the same value.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	// A re-encoded value differs by white space and escapes: never by a
	// factor of 8.
	if len(a) > 8*len(b) || len(b) > 8*len(a) {
		return false
	}
	decode := func(s string) (v any, ok bool) {
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		return v, d.Decode(&v) == nil
	}
	va, okA := decode(a)
	vb, okB := decode(b)
	return okA && okB && reflect.DeepEqual(va, vb)
}

// jsonShape follows a JSON text piece by piece and knows when its first object
// is closed. It costs a few steps a byte and keeps nothing.
type jsonShape struct {
	depth    int
	inString bool
	escaped  bool
	closed   bool
}

func (j *jsonShape) add(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case j.escaped:
			j.escaped = false
		case j.inString && c == '\\':
			j.escaped = true
		case c == '"':
			j.inString = !j.inString
		case j.inString:
		case c == '{' || c == '[':
			j.depth++
		case c == '}' || c == ']':
			j.depth--
			if j.depth <= 0 {
				j.closed = true
			}
		}
	}
}
