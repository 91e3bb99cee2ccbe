package provider

import (
	"bytes"
	"unicode/utf8"
)

// chunkReader reads the frames of one answer. Nearly all of them are one piece of
// text or reasoning in the same few members; those are read by a scan that
// allocates the piece and nothing else. The scan gives up at the first thing that
// it does not know, and the frame is read by parseChunk, so that it needs no
// tolerance of its own: whatever it reads, parseChunk reads the same.
type chunkReader struct {
	chunk  chunk
	choice [1]choice
	delta  delta

	in      []byte
	pos     int
	scratch []byte // a string with escapes, decoded
}

// read reads one frame. The chunk is valid until the next call.
func (r *chunkReader) read(frame []byte) (*chunk, error) {
	if r.scan(frame) {
		return &r.chunk, nil
	}
	return parseChunk(frame)
}

// Members of a frame that the scan has seen: a repeated one makes it give up.
const (
	sawID = 1 << iota
	sawObject
	sawCreated
	sawModel
	sawFingerprint
	sawTier
	sawUsage
	sawObfuscation
	sawChoices

	sawIndex
	sawDelta
	sawFinish
	sawLogprobs

	sawRole
	sawContent
	sawReasoningContent
	sawReasoning
	sawRefusal
	sawToolCalls
)

// scan reads a frame of the common shape, and reports whether it is one.
func (r *chunkReader) scan(frame []byte) bool {
	r.in, r.pos = frame, 0
	r.delta = delta{}
	r.choice[0] = choice{}
	r.chunk = chunk{ID: r.chunk.ID, Model: r.chunk.Model}
	var id, model bool
	ok := r.object(func(name []byte) (int, bool) {
		switch string(name) {
		case "id":
			id = true
			return sawID, r.same(&r.chunk.ID)
		case "object":
			raw, ok := r.raw()
			r.chunk.Object = "chat.completion.chunk"
			return sawObject, ok && string(raw) == "chat.completion.chunk"
		case "created":
			return sawCreated, r.integer()
		case "model":
			model = true
			return sawModel, r.same(&r.chunk.Model)
		case "system_fingerprint":
			return sawFingerprint, r.ignored()
		case "service_tier":
			return sawTier, r.ignored()
		case "obfuscation":
			return sawObfuscation, r.ignored()
		case "usage":
			return sawUsage, r.null()
		case "choices":
			return sawChoices, r.choices()
		}
		return 0, false
	})
	if !id {
		r.chunk.ID = ""
	}
	if !model {
		r.chunk.Model = ""
	}
	return ok && r.pos == len(r.in)
}

// choices reads a list of one choice.
func (r *chunkReader) choices() bool {
	c := &r.choice[0]
	ok := r.byte('[') && r.object(func(name []byte) (int, bool) {
		switch string(name) {
		case "index":
			c.Index.set = true
			return sawIndex, r.byte('0')
		case "delta":
			c.Delta = &r.delta
			return sawDelta, r.text()
		case "finish_reason":
			return sawFinish, r.null()
		case "logprobs":
			return sawLogprobs, r.null()
		}
		return 0, false
	}) && r.byte(']')
	r.chunk.Choices = r.choice[:]
	return ok
}

// text reads a delta of text.
func (r *chunkReader) text() bool {
	d := &r.delta
	return r.object(func(name []byte) (int, bool) {
		switch string(name) {
		case "role":
			return sawRole, r.ignored()
		case "content":
			return sawContent, r.piece(&d.Content.text)
		case "reasoning_content":
			return sawReasoningContent, r.piece((*string)(&d.ReasoningContent))
		case "reasoning":
			return sawReasoning, r.piece((*string)(&d.Reasoning))
		case "refusal":
			return sawRefusal, r.null()
		case "tool_calls":
			return sawToolCalls, r.null()
		}
		return 0, false
	})
}

// object reads an object whose members are read by member, which gives each a bit.
func (r *chunkReader) object(member func(name []byte) (int, bool)) bool {
	if !r.byte('{') {
		return false
	}
	for seen := 0; ; {
		name, ok := r.raw()
		if !ok || !r.byte(':') {
			return false
		}
		bit, ok := member(name)
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if !r.byte(',') {
			return r.byte('}')
		}
	}
}

// space passes over the white space of JSON.
func (r *chunkReader) space() {
	for r.pos < len(r.in) {
		switch r.in[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// byte reads one byte and the white space around it.
func (r *chunkReader) byte(b byte) bool {
	r.space()
	if r.pos >= len(r.in) || r.in[r.pos] != b {
		return false
	}
	r.pos++
	r.space()
	return true
}

// raw reads a string without escapes.
func (r *chunkReader) raw() ([]byte, bool) {
	if !r.byteAt('"') {
		return nil, false
	}
	start := r.pos
	for ; r.pos < len(r.in); r.pos++ {
		switch c := r.in[r.pos]; {
		case c == '"':
			r.pos++
			return r.in[start : r.pos-1], true
		case c == '\\' || c < 0x20 || c >= utf8.RuneSelf:
			return nil, false
		}
	}
	return nil, false
}

// byteAt reads one byte exactly here.
func (r *chunkReader) byteAt(b byte) bool {
	if r.pos >= len(r.in) || r.in[r.pos] != b {
		return false
	}
	r.pos++
	return true
}

// same reads a string that is nearly always the one of the frame before.
func (r *chunkReader) same(into *text) bool {
	if r.null() {
		*into = ""
		return true
	}
	raw, ok := r.raw()
	if ok && string(raw) != string(*into) {
		*into = text(raw)
	}
	return ok
}

// ignored reads a string or null that nobody asks for.
func (r *chunkReader) ignored() bool {
	if r.null() {
		return true
	}
	_, ok := r.raw()
	return ok
}

func (r *chunkReader) null() bool {
	if !bytes.HasPrefix(r.in[r.pos:], []byte("null")) {
		return false
	}
	r.pos += len("null")
	return true
}

// integer reads a number without sign, point and exponent.
func (r *chunkReader) integer() bool {
	start := r.pos
	for r.pos < len(r.in) && r.in[r.pos] >= '0' && r.in[r.pos] <= '9' {
		r.pos++
	}
	n := r.pos - start
	return n == 1 || n > 1 && r.in[start] != '0'
}

// piece reads a string of any text, or null. The texts of providers with U+0000 or
// bytes that are no UTF-8 are not read here.
func (r *chunkReader) piece(into *string) bool {
	if r.null() {
		return true
	}
	if !r.byteAt('"') {
		return false
	}
	start, plain := r.pos, true
	r.scratch = r.scratch[:0]
	for r.pos < len(r.in) {
		switch c := r.in[r.pos]; {
		case c == '"':
			text := r.in[start:r.pos]
			r.pos++
			if !plain {
				r.scratch = append(r.scratch, text...)
				text = r.scratch
			}
			*into = string(text)
			return utf8.Valid(text)
		case c < 0x20:
			return false
		case c == '\\':
			r.scratch = append(r.scratch, r.in[start:r.pos]...)
			if !r.escape() {
				return false
			}
			start, plain = r.pos, false
		default:
			r.pos++
		}
	}
	return false
}

// escape reads one escape. Halves of surrogate pairs and U+0000 are not read here.
func (r *chunkReader) escape() bool {
	if r.pos+1 >= len(r.in) {
		return false
	}
	c := r.in[r.pos+1]
	if c != 'u' {
		plain := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if plain < 0 {
			return false
		}
		r.scratch = append(r.scratch, "\"\\/\b\f\n\r\t"[plain])
		r.pos += 2
		return true
	}
	if r.pos+6 > len(r.in) {
		return false
	}
	var n rune
	for _, h := range r.in[r.pos+2 : r.pos+6] {
		switch {
		case h >= '0' && h <= '9':
			n = n<<4 | rune(h-'0')
		case h|0x20 >= 'a' && h|0x20 <= 'f':
			n = n<<4 | rune(h|0x20-'a'+10)
		default:
			return false
		}
	}
	if n == 0 || !utf8.ValidRune(n) {
		return false
	}
	r.scratch = utf8.AppendRune(r.scratch, n)
	r.pos += 6
	return true
}
