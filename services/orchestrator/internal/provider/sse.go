package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errTooLarge is wrapped by every refusal to read on because of a size limit.
var errTooLarge = errors.New("over the size limit")

// event is one server-sent event. data is valid until the next call of next.
type event struct {
	name string
	data []byte
}

// eventReader reads server-sent events by the standard (WHATWG HTML section
// 9.2.6): lines end in LF, CR or CRLF, comments are skipped,
// several data lines make one event (the byte order mark is sniff's). It differs
// in three points, all for endpoints seen in the wild: the event that the end of
// the stream cuts off is still delivered; a line that starts with "{" counts as
// data, because some servers dump an error object into the stream without "data:";
// and data after a line that was a whole JSON object is the next event, because
// some forget the empty line between events.
type eventReader struct {
	r        *bufio.Reader
	maxLine  int // bytes of one line
	maxEvent int // bytes of one event's data

	line    []byte
	data    []byte
	name    string
	lines   int    // of data
	renamed string // what an event line after data said
	ahead   *event // the beginning of the next event, read already
	err     error  // a failure that was held back behind an event; it is final
	strange bool   // a line was no field of the format
	skipLF  bool   // the last line ended in CR: a LF that follows belongs to it
}

func newEventReader(r io.Reader, maxLine, maxEvent int) *eventReader {
	return &eventReader{r: bufio.NewReader(r), maxLine: maxLine, maxEvent: maxEvent}
}

// next returns the next event that has data. At the end of the input, and when
// the input fails, it delivers what it has first and the error after that.
func (e *eventReader) next() (event, error) {
	e.name, e.renamed, e.data, e.lines = "", "", e.data[:0], 0
	if begun := e.ahead; begun != nil {
		e.name, e.data, e.lines, e.ahead = begun.name, append(e.data, begun.data...), 1, nil
	}
	switch {
	case e.err != nil && e.lines > 0:
		return event{e.name, e.data}, nil
	case e.err != nil:
		return event{}, e.err
	}
	for {
		line, err := e.readLine()
		if len(line) > 0 {
			if fieldErr := e.field(line); fieldErr != nil {
				return event{}, fieldErr
			}
		}
		if e.lines > 0 && (err != nil || len(line) == 0 || e.ahead != nil) {
			e.err = err
			if e.ahead == nil {
				e.name = cmp.Or(e.renamed, e.name)
			}
			return event{e.name, e.data}, nil
		}
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			e.name = ""
		}
	}
}

// field takes one line of an event.
func (e *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	if line[0] == '{' {
		return e.addData(line)
	}
	switch string(name) {
	case "data":
		return e.addData(value)
	case "event":
		if e.lines > 0 {
			e.renamed = string(value)
			break
		}
		e.name = string(value)
	case "", "id", "retry": // comments and what is of no use here
	default: // a cut "data" is no sign of another format
		e.strange = e.strange || !bytes.HasPrefix([]byte("data"), line)
	}
	return nil
}

func (e *eventReader) addData(value []byte) error {
	if len(e.data)+len(value)+1 > e.maxEvent {
		return fmt.Errorf("an event of the stream is %w of %d bytes", errTooLarge, e.maxEvent)
	}
	if e.lines == 1 && e.isNext(value) {
		e.ahead = &event{e.renamed, bytes.Clone(value)}
		return nil
	}
	if e.lines > 0 {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
	e.lines++
	return nil
}

// isNext reports whether a data line cannot belong to the event whose first line
// is read: what is a whole object does not become JSON by more of it.
func (e *eventReader) isNext(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 0 && (value[0] == '{' || value[0] == '[') && bytes.HasPrefix(bytes.TrimSpace(e.data), []byte("{")) && json.Valid(e.data)
}

// readLine returns the next line without its end, valid until the next read. A
// line that the end of the input cuts off comes together with the error. A line
// is returned as soon as its CR is seen: waiting for the LF would hold back an
// event.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		buffered, err := e.peek()
		if err != nil {
			return e.line, err
		}
		end := lineEnd(buffered)
		piece := buffered
		if end >= 0 {
			piece = buffered[:end]
		}
		if len(e.line)+len(piece) > e.maxLine {
			return nil, fmt.Errorf("a line of the stream is %w of %d bytes", errTooLarge, e.maxLine)
		}
		if end < 0 {
			e.line = append(e.line, piece...)
			e.discard(len(piece))
			continue
		}
		e.skipLF = buffered[end] == '\r'
		e.discard(end + 1)
		if len(e.line) == 0 {
			return piece, nil // nearly always: it needs no copy
		}
		e.line = append(e.line, piece...)
		return e.line, nil
	}
}

// lineEnd is where the first line ends, -1 when it does not. It looks for both
// ends in one stretch after the other, so that a short line costs little even
// where only one of them is ever used.
func lineEnd(b []byte) int {
	const stretch = 256
	for from := 0; from < len(b); from += stretch {
		part := b[from:min(from+stretch, len(b))]
		end := bytes.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if cr := bytes.IndexByte(part, '\r'); cr >= 0 {
			end = cr
		}
		if end >= 0 {
			return from + end
		}
	}
	return -1
}

// sniff skips the byte order mark and white space that an answer may start with
// and returns its first byte, which stays unread. Servers send white space to
// keep a slow call alive.
func (e *eventReader) sniff() (byte, error) {
	if mark, _ := e.r.Peek(1); len(mark) == 1 && mark[0] == 0xEF {
		if mark, _ = e.r.Peek(3); string(mark) == "\xEF\xBB\xBF" {
			e.discard(3)
		}
	}
	for {
		first, err := e.r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch first[0] {
		case ' ', '\t', '\r', '\n':
			e.discard(1)
		default:
			return first[0], nil
		}
	}
}

// peek returns the bytes at hand, at least one, without the LF of a CRLF.
func (e *eventReader) peek() ([]byte, error) {
	for {
		first, err := e.r.Peek(1)
		if err != nil {
			return nil, err
		}
		if e.skipLF && first[0] == '\n' {
			e.skipLF = false
			e.discard(1)
			continue
		}
		e.skipLF = false
		return e.r.Peek(e.r.Buffered())
	}
}

// discard drops n bytes that are known to be buffered.
func (e *eventReader) discard(n int) {
	_, _ = e.r.Discard(n)
}
