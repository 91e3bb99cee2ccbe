package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
)

// maxDepth is how many objects and lists may stand inside each other. Free JSON
// (google.protobuf.Struct) costs several levels of messages for each of its own,
// and every reader behind this one has a limit of its own.
const maxDepth = 100

// ReasonTooDeep: the body is nested too deeply.
const ReasonTooDeep = "TOO_DEEP"

// Limits of a request body.
type Limits struct {
	// MaxBytes of a body; more is 413.
	MaxBytes int64
	// ReadTimeout is how long a caller may take to send the body; 0: for ever.
	ReadTimeout time.Duration
}

// Body is a request body that was read and checked.
type Body struct {
	io.Reader
	// Lenient ignores unknown fields instead of refusing them.
	Lenient bool
	// Path are the parameters that the address of the request holds. The body may
	// say the same, but nothing else.
	Path map[string]string

	bytes []byte
	err   error
}

// Close does nothing: the bytes are in memory.
func (*Body) Close() error { return nil }

// Of finds the checked body of r; nil when r was not read by [Limits.Read].
func Of(r *http.Request) *Body {
	b, _ := r.Body.(*Body)
	return b
}

// Bytes are the whole body.
func (b *Body) Bytes() []byte { return b.bytes }

// Failure is why the body of r could not be decoded; nil when it could.
func Failure(r *http.Request) error {
	if b := Of(r); b != nil {
		return b.err
	}
	return nil
}

// Read checks the body of r and puts a [Body] in its place. It answers false
// and the problem when the body is refused. No body at all is fine: a handler
// that needs one says so itself.
func (l Limits) Read(w http.ResponseWriter, r *http.Request) (envelope.Problem, bool) {
	none := r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0
	if p, ok := checkType(r.Header, none); !ok {
		return p, false
	}
	if none {
		r.Body = &Body{Reader: http.NoBody}
		return envelope.Problem{}, true
	}
	if r.ContentLength > l.MaxBytes {
		w.Header().Set("Connection", "close") // do not read what is refused
		return l.tooLarge(), false
	}
	if l.ReadTimeout > 0 {
		rc := http.NewResponseController(w)
		if rc.SetReadDeadline(time.Now().Add(l.ReadTimeout)) == nil {
			defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
		}
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, l.MaxBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return l.tooLarge(), false
	case err != nil:
		return envelope.New(http.StatusBadRequest, "BODY_INCOMPLETE",
			"the request body broke off: send it whole, within %s", l.ReadTimeout), false
	}
	if len(raw) > 0 {
		if p, ok := checkSyntax(raw); !ok {
			return p, false
		}
	}
	r.Body = &Body{Reader: bytes.NewReader(raw), bytes: raw}
	return envelope.Problem{}, true
}

func (l Limits) tooLarge() envelope.Problem {
	return envelope.New(http.StatusRequestEntityTooLarge, "BODY_TOO_LARGE",
		"the request body is larger than %d bytes", l.MaxBytes)
}

// checkType lets application/json through. A type is only asked for where there
// is a body, but a wrong one is refused even without: it is what a form of a
// foreign page would send.
func checkType(h http.Header, none bool) (envelope.Problem, bool) {
	const reason = "UNSUPPORTED_MEDIA_TYPE"
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return envelope.New(http.StatusUnsupportedMediaType, reason, "a request body cannot be compressed: send it without Content-Encoding"), false
	}
	types := h.Values("Content-Type")
	if len(types) == 0 && none {
		return envelope.Problem{}, true
	}
	wrong := envelope.New(http.StatusUnsupportedMediaType, reason, "send the request body as Content-Type: application/json")
	if len(types) != 1 {
		return wrong, false
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	if err != nil || mediaType != "application/json" {
		return wrong, false
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return wrong, false
	}
	return envelope.Problem{}, true
}

func checkSyntax(raw []byte) (envelope.Problem, bool) {
	const reason = "INVALID_JSON"
	if at := invalidUTF8(raw); at >= 0 {
		return envelope.New(http.StatusBadRequest, reason, "the request body is not UTF-8 at %s", position(raw, at)), false
	}
	if at := tooDeep(raw); at >= 0 {
		return envelope.New(http.StatusBadRequest, ReasonTooDeep, "the request body is nested deeper than %d levels at %s", maxDepth, position(raw, at)), false
	}
	// Unmarshal checks all of raw, trailing bytes included, before it looks at
	// the target.
	var whole json.RawMessage
	err := json.Unmarshal(raw, &whole)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return envelope.New(http.StatusBadRequest, reason, "the request body is not valid JSON at %s: %s",
			position(raw, int(syntax.Offset)-1), syntax.Error()), false
	case err != nil:
		return envelope.New(http.StatusBadRequest, reason, "the request body is not valid JSON"), false
	}
	if first := bytes.TrimLeft(raw, " \t\r\n"); first[0] != '{' {
		return envelope.New(http.StatusBadRequest, reason, "the request body must be a JSON object"), false
	}
	return envelope.Problem{}, true
}

// tooDeep finds the bracket that opens one level too many; -1 when there is none.
func tooDeep(raw []byte) int {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

func invalidUTF8(raw []byte) int {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// position of a byte as line and column, both from 1; a column is a character.
func position(raw []byte, at int) string {
	at = min(max(at, 0), len(raw))
	before := raw[:at]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf("line %d, column %d", line, column)
}
