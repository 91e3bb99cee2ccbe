package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errNoDone ends a stream that was closed without [DONE].
var errNoDone = errors.New("the stream ended without [DONE]")

// notProtocol is an answer that is no chat completion at all.
type notProtocol struct{ what string }

func (e *notProtocol) Error() string { return e.what }

// frameBody is an answer's body in the canonical form that go-openai is given:
// "data: " and one line of JSON, nothing else, "data: [DONE]" at the end. An
// answer that was not streamed becomes one frame; errors in any shape become a
// frame with an "error" member; what cannot be framed is a read error.
type frameBody struct {
	src        io.Closer
	events     *eventReader
	maxMessage int

	frame []byte // bytes not yet handed out
	buf   []byte // backs frame; nil until the first frame
	begun bool
	err   error // returned once frame is empty
}

func newFrameBody(src io.ReadCloser, maxLine, maxMessage int) *frameBody {
	return &frameBody{src: src, events: newEventReader(src, maxLine, maxMessage), maxMessage: maxMessage}
}

func (b *frameBody) Close() error { return b.src.Close() }

func (b *frameBody) Read(p []byte) (int, error) {
	for len(b.frame) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.err = b.fill()
	}
	n := copy(p, b.frame)
	b.frame = b.frame[n:]
	return n, nil
}

// fill makes the next frame.
func (b *frameBody) fill() error {
	if !b.begun {
		b.begun = true
		first, err := b.events.sniff()
		if err != nil {
			return ended(err)
		}
		if first == '{' || first == '[' || first == '<' {
			return b.whole(first)
		}
	}
	ev, err := b.events.next()
	switch {
	case errors.Is(err, io.EOF) && b.buf == nil && b.events.strange:
		return &notProtocol{"the answer is neither an event stream nor JSON"}
	case err != nil:
		return ended(err)
	}
	payload := bytes.TrimSpace(ev.data)
	payload = bytes.TrimSpace(bytes.TrimPrefix(payload, []byte("data:"))) // doubled by relays
	switch {
	case len(payload) == 0 || payload[0] == ':': // a comment sent as data
		return nil
	case string(payload) == "[DONE]":
		b.put(payload)
		return io.EOF
	case ev.name == "error":
		payload = asErrorFrame(payload)
	}
	b.put(payload)
	return nil
}

// whole reads an answer that is not a stream.
func (b *frameBody) whole(first byte) error {
	body, err := io.ReadAll(io.LimitReader(b.events.r, int64(b.maxMessage)+1))
	if err != nil {
		return ended(err)
	}
	if len(body) > b.maxMessage {
		return fmt.Errorf("the answer is %w of %d bytes", errTooLarge, b.maxMessage)
	}
	if first == '<' {
		return &notProtocol{fmt.Sprintf("a web page came in place of an answer (%s)", htmlTitle(body))}
	}
	var members map[string]json.RawMessage
	if !json.Valid(body) {
		if b.isLines(body) {
			b.events = newEventReader(bytes.NewReader(body), b.events.maxLine, b.events.maxEvent)
			return nil // each line is a frame, as in a stream
		}
		if isCut(body) {
			return errNoDone
		}
		return &notProtocol{"the answer is neither an event stream nor JSON"}
	}
	_ = json.Unmarshal(body, &members)
	switch {
	case members["choices"] != nil:
	case holdsChoices(members["data"]): // some relays put the answer into an envelope
		body = members["data"]
	default:
		body = asErrorFrame(body)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		return &notProtocol{"the answer is not JSON"}
	}
	b.put(line.Bytes())
	b.frame = append(b.frame, "data: [DONE]\n"...)
	return io.EOF
}

func holdsChoices(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members["choices"] != nil
}

// isLines reports whether a body is lines of which the first is a whole object.
func (b *frameBody) isLines(body []byte) bool {
	first := body[:max(lineEnd(body), 0)]
	return len(first) > 0 && first[0] == '{' && json.Valid(first)
}

// isCut reports whether body is the beginning of a JSON value.
func isCut(body []byte) bool {
	err := json.NewDecoder(bytes.NewReader(body)).Decode(new(json.RawMessage))
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// put makes payload the next frame. Line feeds inside JSON are white space. The
// blank after the brace hides errors from go-openai, which would read only the
// shape {"error":{...}} and report it late; we read them all.
func (b *frameBody) put(payload []byte) {
	b.buf = append(b.buf[:0], "data: "...)
	if bytes.HasPrefix(payload, []byte(`{"error"`)) {
		b.buf = append(b.buf, "{ "...)
		payload = payload[1:]
	}
	start := len(b.buf)
	b.buf = append(b.buf, payload...)
	for end := lineEnd(b.buf[start:]); end >= 0; end = lineEnd(b.buf[start:]) {
		start += end
		b.buf[start] = ' '
	}
	b.buf = append(b.buf, '\n')
	b.frame = b.buf
}

// asErrorFrame puts what an endpoint said about an error under "error", unless
// it is there already.
func asErrorFrame(payload []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) == nil && present(members["error"]) {
		return payload
	}
	var value any = json.RawMessage(payload)
	if !json.Valid(payload) {
		value = string(payload)
	}
	framed, err := marshalPlain(map[string]any{"error": value})
	if err != nil {
		return payload
	}
	return framed
}

// ended tells a stream that was closed from one that was finished by [DONE].
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errNoDone
	}
	return err
}
