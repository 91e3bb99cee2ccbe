// Package jsonlines reads one JSON value a line and answers one JSON value a
// line, in the same order. A line that cannot be handled is answered with an
// error, and the next one is read.
package jsonlines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLineBytes is the longest line that is handled.
const MaxLineBytes = 64 << 20

const readBufferBytes = 64 << 10

// errTooLong is the answer to a line over the limit.
var errTooLong = errors.New("line: longer than 64 MiB")

// Handle answers every line of r that is not blank by calling answer with it,
// and writes each answer to w at once. Members of an input that are named in
// keys are repeated beside an error, so that it can be told what it is about.
// The error of Handle is that of reading or writing.
func Handle(r io.Reader, w io.Writer, keys []string, answer func(line []byte) (any, error)) error {
	return handle(r, w, keys, answer, MaxLineBytes)
}

func handle(r io.Reader, w io.Writer, keys []string, answer func([]byte) (any, error), limit int) error {
	in := bufio.NewReaderSize(r, readBufferBytes)
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := readLine(in, limit)
		tooLong := errors.Is(err, errTooLong)
		if err != nil && !tooLong && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read the input: %w", err)
		}
		ended := errors.Is(err, io.EOF)
		if line = bytes.TrimSpace(line); len(line) > 0 || tooLong {
			var value any
			problem := err
			if !tooLong {
				value, problem = guarded(answer, line)
			}
			if problem != nil {
				value = failure(line, keys, problem)
			}
			if err := encoder.Encode(value); err != nil {
				// Nothing of it was written: a value that is not JSON.
				if err := encoder.Encode(failure(line, keys, fmt.Errorf("answer: %w", err))); err != nil {
					return err
				}
			}
			if err := out.Flush(); err != nil {
				return fmt.Errorf("write the answers: %w", err)
			}
		}
		if ended {
			return nil
		}
	}
}

// readLine reads up to a line end. A line over the limit is read to its end and
// given up: errTooLong. The last line comes with io.EOF.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(piece, []byte("\n"))) > limit {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong // at the end, the next read says so again
		}
		return line, err
	}
}

// guarded keeps a panic over one line from taking the others with it.
func guarded(answer func([]byte) (any, error), line []byte) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("cannot be handled: %v", p)
		}
	}()
	return answer(line)
}

// failure is {"id": ..., "error": ...}.
func failure(line []byte, keys []string, problem error) map[string]any {
	out := map[string]any{"error": problem.Error()}
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return out
	}
	for _, key := range keys {
		if value, ok := members[key]; ok {
			out[key] = value
		}
	}
	return out
}

// Decode reads an object into v; members that v does not know are ignored. The
// error says in one line what is wrong.
func Decode(line []byte, v any) error {
	err := json.Unmarshal(line, v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil && line[0] == '{':
		return nil
	case err == nil:
		return errors.New("line: want a JSON object")
	case errors.As(err, &syntax):
		return fmt.Errorf("line: not valid JSON: %w at byte %d", err, syntax.Offset)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("line: want a JSON object, got %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%s: want %s, got %s", kind.Field, kind.Type, kind.Value)
	}
	return fmt.Errorf("line: %w", err)
}
