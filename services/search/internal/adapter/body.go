package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// JSONBody writes a request body: JSON with the characters as they are.
func JSONBody(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// BearerPost asks an API for JSON with JSON, with the key as a bearer token: at
// path below base, which may end with a slash.
func BearerPost(base, path, key string, body any) (Request, error) {
	data, err := JSONBody(body)
	if err != nil {
		return Request{}, fmt.Errorf("write request: %w", err)
	}
	return Request{
		Method: http.MethodPost,
		URL:    strings.TrimSuffix(base, "/") + path,
		Header: http.Header{
			"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"},
			"Authorization": {"Bearer " + key},
		},
		Body: data, Keyed: true,
	}, nil
}
