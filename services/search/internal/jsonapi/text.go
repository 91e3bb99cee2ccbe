package jsonapi

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Text is a string that an API may also leave null, or send as something else
// from one day to the next: a number counts as its digits, anything else as
// empty, and the rest of the answer is read all the same.
type Text string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = Text(scalar(b))
	return nil
}

// scalar is a string, or a number as it is written; empty for anything else.
func scalar(b []byte) string {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		return s
	case json.Unmarshal(b, &n) == nil:
		return n.String()
	}
	return ""
}

// Texts is a list of strings under the same rule: what is no string is left
// out, one string alone is a list of one, and anything else is empty.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (t *Texts) UnmarshalJSON(b []byte) error {
	*t = nil
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		list = []json.RawMessage{b}
	}
	for _, item := range list {
		var s string
		if json.Unmarshal(item, &s) == nil && s != "" {
			*t = append(*t, s)
		}
	}
	return nil
}

// Code is an error code that some APIs send as a number and some as a string.
type Code = Text

// Number is a price or a count: at least 0 and finite, and 0 for whatever else
// stands there. A number in quotation marks is one.
type Number float64

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (n *Number) UnmarshalJSON(b []byte) error {
	*n = 0
	if f, err := strconv.ParseFloat(strings.TrimSpace(scalar(b)), 64); err == nil && f >= 0 && !math.IsInf(f, 0) {
		*n = Number(f)
	}
	return nil
}
