package transport

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/brotli"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/charset"
)

// errCoding says that a body is not what its Content-Encoding claims.
var errCoding = errors.New("content coding")

// readBody reads at most MaxBodyBytes of the decoded body, so that a small
// answer cannot grow without bound.
func readBody(body io.Reader, coding string) (data []byte, truncated bool, err error) {
	plain, err := decoder(bufio.NewReader(body), coding)
	if err != nil {
		return nil, false, err
	}
	data, truncated, err = readCapped(plain)
	if err != nil {
		return nil, false, asCodingError(err)
	}
	return data, truncated, nil
}

// ReadPage reads a stored page under the limit of answers.
func ReadPage(r io.Reader) ([]byte, error) {
	data, _, err := readCapped(r)
	return data, err
}

func readCapped(r io.Reader) (data []byte, truncated bool, err error) {
	data, err = io.ReadAll(io.LimitReader(r, MaxBodyBytes+1))
	if err != nil {
		return nil, false, err
	}
	if len(data) > MaxBodyBytes {
		return data[:MaxBodyBytes], true, nil
	}
	return data, false, nil
}

// decoder undoes one content coding (RFC 9110 section 8.4). More than one is
// never sent by engines and refused.
func decoder(body *bufio.Reader, coding string) (io.Reader, error) {
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		return body, nil // nothing is nothing in every coding
	}
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(body)
		if err != nil {
			return nil, asCodingError(err)
		}
		return r, nil
	case "deflate":
		// The name means zlib, yet some servers send the bare stream.
		if head, err := body.Peek(2); err == nil && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
			r, err := zlib.NewReader(body)
			if err != nil {
				return nil, asCodingError(err)
			}
			return r, nil
		}
		return flate.NewReader(body), nil
	case "br":
		return brotli.NewReader(body), nil
	}
	return nil, fmt.Errorf("%w %q is unknown", errCoding, coding)
}

// asCodingError tells a broken coding from a broken connection.
func asCodingError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrHeader) ||
		errors.Is(err, zlib.ErrChecksum) || errors.As(err, &corrupt) || strings.HasPrefix(err.Error(), "brotli:") {
		return fmt.Errorf("%w is broken: %w", errCoding, err)
	}
	return err
}

var utf8Mark = []byte("\xef\xbb\xbf")

// UTF8 decodes a page. Bytes that are valid UTF-8 are taken for it whatever is
// declared; else the declaration counts, header before meta, as far as the bytes
// do not contradict it, and then what the bytes look like.
func UTF8(body []byte, contentType string) []byte {
	body = bytes.TrimPrefix(body, utf8Mark)
	if isUTF8(body) {
		return body
	}
	text, _ := charset.ToUTF8(body, contentType)
	return text
}

// isUTF8 reports whether a text is UTF-8, but for a character cut at its end.
func isUTF8(text []byte) bool {
	for cut := range utf8.UTFMax {
		if cut > len(text) {
			return false
		}
		if whole := text[:len(text)-cut]; utf8.Valid(whole) {
			return cut == 0 || !utf8.FullRune(text[len(whole):])
		}
	}
	return false
}
