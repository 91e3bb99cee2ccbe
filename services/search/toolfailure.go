package search

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// toolMiss is the result of a search that an engine blocked, or answered with
// what cannot be read.
type toolMiss struct {
	Success  bool         `json:"success"`
	Outcome  outcome.Code `json:"outcome"`
	Results  []toolResult `json:"results"`
	Error    toolError    `json:"error"`
	Markdown string       `json:"markdown"`
}

type toolError struct {
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// toolFailure turns a refusal into words for the model.
func toolFailure(err error) (toolkit.Result, error) {
	refusal, ok := errors.AsType[*rpcerr.Error](err)
	if !ok {
		return toolkit.Result{}, err
	}
	message := refusal.Message()
	if wait, ok := rpcerr.RetryDelay(refusal); ok {
		message = strings.TrimSuffix(message, ".") + ". Wait about " + outcome.Span(wait) + "."
	}
	if code := outcome.Code(refusal.Reason()); missed(code) {
		return toolkit.JSON(toolMiss{
			Outcome: code, Results: []toolResult{}, Markdown: message,
			Error: toolError{refusal.Reason(), message, retryable(refusal)},
		}), nil
	}
	return toolkit.Fail(refusal.Reason(), message, retryable(refusal)), nil
}

// missed reports whether the tool worked and the engine did not: it blocked, or
// sent what is no answer. Other words may well be answered, so this is no
// failure of the tool, whose failures in a row end a run.
func missed(c outcome.Code) bool {
	switch c {
	case outcome.Challenge, outcome.DecoySuspected, outcome.JSShell, outcome.LayoutUnrecognised:
		return true
	}
	return false
}

func retryable(err *rpcerr.Error) bool {
	switch err.Code() {
	case codes.Unavailable, codes.DeadlineExceeded:
		return true
	case codes.ResourceExhausted:
		return err.Reason() != string(outcome.QuotaExhausted)
	}
	return false
}
