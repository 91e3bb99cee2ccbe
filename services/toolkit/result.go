package toolkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Result is what a tool answers.
type Result struct {
	// Value is marshalled to the JSON text of the result, unless RawJSON is set.
	Value any
	// RawJSON is the JSON text itself.
	RawJSON json.RawMessage
	// IsError says that the call failed in the tool's own terms.
	IsError bool
	// Origins names where untrusted parts come from, as "source:origin", for
	// example "fetch_page:example.com".
	Origins []string
	// CostUSD is the money spent, in US dollars.
	CostUSD float64
}

// JSON is the result with v as its content.
func JSON(v any) Result { return Result{Value: v} }

// Fail is a failure in the tool's own terms. reason is stable and UPPER_SNAKE,
// message tells the model what to do instead, and retryable says whether the
// same call may succeed later.
func Fail(reason, message string, retryable bool) Result {
	type failure struct {
		Reason    string `json:"reason"`
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	}
	return Result{IsError: true, Value: struct {
		Success bool    `json:"success"`
		Error   failure `json:"error"`
	}{Error: failure{reason, message, retryable}}}
}

// Reasons of the failures that a provider makes by itself.
const (
	// ReasonInvalidArguments: the arguments break the schema; the message has the
	// pointer, what is expected and what is there.
	ReasonInvalidArguments = "INVALID_ARGUMENTS"
	// ReasonTimeout: the call took too long. Retryable only for a pure tool; any
	// other may have taken effect.
	ReasonTimeout = "TIMEOUT"
	// ReasonCancelled: CancelCall ended the call.
	ReasonCancelled = "CANCELLED"
	// ReasonResultTooLarge: the tool made more than the provider may send.
	ReasonResultTooLarge = "RESULT_TOO_LARGE"
)

// store gives the result in the form in which it is kept and sent. An error
// means a bug in the tool.
func (r Result) store(maxBytes int) (StoredResult, error) {
	text, err := r.text()
	if err != nil {
		return StoredResult{}, err
	}
	if math.IsNaN(r.CostUSD) || math.IsInf(r.CostUSD, 0) || r.CostUSD < 0 {
		return StoredResult{}, fmt.Errorf("cost of %v US dollars is no amount", r.CostUSD)
	}
	for _, origin := range r.Origins {
		if !utf8.ValidString(origin) {
			return StoredResult{}, errors.New("an origin is not valid UTF-8")
		}
	}
	if len(text) > maxBytes {
		tooLarge := Fail(ReasonResultTooLarge, fmt.Sprintf(
			"the result of %d bytes is over the limit of %d; ask for less", len(text), maxBytes), false)
		tooLarge.CostUSD = r.CostUSD
		return tooLarge.store(math.MaxInt)
	}
	return StoredResult{ContentJSON: text, IsError: r.IsError, Origins: r.Origins, CostUSD: r.CostUSD}, nil
}

func (r Result) text() (string, error) {
	if r.RawJSON != nil {
		if !json.Valid(r.RawJSON) || !utf8.Valid(r.RawJSON) {
			return "", errors.New("RawJSON of the result is not valid JSON")
		}
		return string(r.RawJSON), nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // models read it, browsers do not
	if err := enc.Encode(r.Value); err != nil {
		return "", fmt.Errorf("result cannot be written as JSON: %w", err)
	}
	return string(bytes.TrimRight(out.Bytes(), "\n")), nil
}
