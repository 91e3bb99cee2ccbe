package adapter

import (
	"bytes"
	"encoding/json"
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
