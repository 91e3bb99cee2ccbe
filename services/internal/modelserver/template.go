package modelserver

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	placeholder = regexp.MustCompile(`\{\{\s*(user|result|url)\s*([^{}]*?)\s*\}\}`)
	address     = regexp.MustCompile(`https?://[^\s"'<>()\[\]{}\\|]+`)
)

// maxQuoted is how many bytes of a result an error shows.
const maxQuoted = 300

// fill replaces the placeholders of text from the conversation.
func (p *prompt) fill(text string) (string, error) {
	var failed error
	out := placeholder.ReplaceAllStringFunc(text, func(match string) string {
		m := placeholder.FindStringSubmatch(match)
		value, err := p.lookUp(m[1], strings.Fields(m[2]))
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %w", match, err)
		}
		return value
	})
	return out, failed
}

func (p *prompt) lookUp(kind string, args []string) (string, error) {
	if kind == "user" {
		return p.userText(), nil
	}
	if len(args) == 0 {
		return "", fmt.Errorf("want the name of a tool")
	}
	result, ok := p.result(args[0])
	if !ok {
		return "", fmt.Errorf("the conversation has no result of tool %q", args[0])
	}
	switch {
	case kind == "url":
		return nthAddress(result, args[1:])
	case len(args) == 1:
		return result, nil
	}
	return valueAt(result, args[1])
}

func nthAddress(result string, args []string) (string, error) {
	n := 0
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 0 {
			return "", fmt.Errorf("%q is not a number from 0", args[0])
		}
	}
	plain := strings.NewReplacer(`\u0026`, "&", `\/`, "/").Replace(result) // JSON inside
	found := address.FindAllString(plain, n+1)
	if len(found) <= n {
		return "", fmt.Errorf("the result holds %d addresses: %.*q", len(found), maxQuoted, result)
	}
	return strings.TrimRight(found[n], ".,;:!?"), nil
}

// valueAt reads result as JSON and returns what path points to; strings come
// without quotes.
func valueAt(result, path string) (string, error) {
	var value any
	if err := json.Unmarshal([]byte(result), &value); err != nil {
		return "", fmt.Errorf("the result is not JSON: %.*q", maxQuoted, result)
	}
	for _, key := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return "", fmt.Errorf("no element %q of %d in %.*q", key, len(v), maxQuoted, result)
			}
			value = v[i]
		default:
			value = nil
		}
		if value == nil {
			return "", fmt.Errorf("no %q in %.*q", key, maxQuoted, result)
		}
	}
	if s, ok := value.(string); ok {
		return s, nil
	}
	out, err := json.Marshal(value)
	return string(out), err
}

// fillValue fills every string of a value of the script.
func (p *prompt) fillValue(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return p.fill(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			filled, err := p.fillValue(item)
			if err != nil {
				return nil, err
			}
			out[k] = filled
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			filled, err := p.fillValue(item)
			if err != nil {
				return nil, err
			}
			out[i] = filled
		}
		return out, nil
	}
	return value, nil
}

// asBody returns a filled value as text: a string as it is, else JSON.
func asBody(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "{}", nil
	case string:
		return v, nil
	}
	out, err := json.Marshal(value)
	return string(out), err
}
