package jsonapi

import "encoding/json"

// Text is a string that an API may also leave null, or send as something else
// from one day to the next: then it is empty, and the rest of the answer is read
// all the same.
type Text string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (t *Text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = Text(s)
	} else {
		*t = ""
	}
	return nil
}

// Texts is a list of strings under the same rule: what is no string is left
// out, and what is no list is empty.
type Texts []string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (t *Texts) UnmarshalJSON(b []byte) error {
	*t = nil
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil
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
type Code string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (c *Code) UnmarshalJSON(b []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(b, &s) == nil:
		*c = Code(s)
	case json.Unmarshal(b, &n) == nil:
		*c = Code(n)
	default:
		*c = ""
	}
	return nil
}
