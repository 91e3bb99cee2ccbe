package provider

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// decoded is body without the content coding that its header names. None is asked
// for, but a request that names no coding accepts any (RFC 9110 section 12.5.3),
// and some gateways compress whatever they pass on. Only gzip is undone: a body in
// another coding is an error when it is read.
func decoded(body io.ReadCloser, h http.Header) io.ReadCloser {
	switch coding := strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))); coding {
	case "", "identity":
		return body
	case "gzip", "x-gzip":
		return &gzipBody{ReadCloser: body}
	default:
		return codedBody{ReadCloser: body, coding: coding}
	}
}

// gzipBody reads a compressed body. Its header is read with the first read, so
// that a body that does not come is waited for where all others are.
type gzipBody struct {
	io.ReadCloser
	plain *gzip.Reader
	err   error // of the header; it is final
}

func (b *gzipBody) Read(p []byte) (int, error) {
	if b.plain == nil && b.err == nil {
		b.plain, b.err = gzip.NewReader(b.ReadCloser)
	}
	if b.err != nil {
		return 0, notCompressed(b.err)
	}
	n, err := b.plain.Read(p)
	return n, notCompressed(err)
}

// notCompressed makes words of what gzip cannot read; what is wrong with the
// connection stays as it is.
func notCompressed(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader):
		return &notProtocol{"the answer calls itself gzip, which it is not"}
	case errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return &notProtocol{"the answer is broken gzip"}
	}
	return err
}

// codedBody is a body that cannot be read.
type codedBody struct {
	io.ReadCloser
	coding string
}

func (b codedBody) Read([]byte) (int, error) {
	return 0, &notProtocol{fmt.Sprintf("the answer is compressed (%.20q), which was not asked for", b.coding)}
}
