package provider

import (
	"context"
	"encoding/json"
)

// Streamer streams one model call.
type Streamer interface {
	// Stream sends req and calls yield for each delta, in order and on the
	// caller's goroutine. An error from yield stops the call and is returned
	// as it is; any other error is an *Error. The Response is complete only
	// when the error is nil; with an error it holds what had arrived.
	Stream(ctx context.Context, req Request, yield func(Delta) error) (Response, error)
}

// Role says who speaks in a Message.
type Role string

// The roles of a prompt.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one prompt message, provider-neutral.
type Message struct {
	Role    Role
	Content string
	// Reasoning and ReasoningField are an assistant's thinking and the wire
	// member it came in. They are echoed under that very name on assistant
	// messages with calls, which some thinking models demand.
	Reasoning      string
	ReasoningField string
	// Calls are the tool calls of an assistant message.
	Calls []Call
	// CallID names the call that a tool message answers.
	CallID string
	Name   string
	// Extra is Response.Extra of the answer this message was made from: a JSON
	// object whose members go back to the provider verbatim.
	Extra json.RawMessage
}

// Call is one complete tool call that the model proposed.
type Call struct {
	ID   string
	Name string
	// Arguments is the raw JSON text as the model wrote it, not validated;
	// "{}" when it wrote nothing.
	Arguments string
	// Extra is a JSON object with the members of the wire call that are not
	// understood here, kept verbatim because some providers demand them back
	// (thought signatures). Nil when there are none.
	Extra json.RawMessage
}

// ToolSpec tells the model about one tool.
type ToolSpec struct {
	Name        string
	Description string
	// Parameters is a JSON Schema; nil means an object without properties.
	Parameters json.RawMessage
}

// Request is one model call.
type Request struct {
	Messages []Message
	Tools    []ToolSpec
	// ToolChoiceNone forbids tool calls while the tools stay listed, which
	// providers want as long as the history holds calls.
	ToolChoiceNone bool
	// MaxTokens limits the answer; 0 leaves it to the provider.
	MaxTokens int
	// Temperature is sent when not nil, also when it is 0.
	Temperature *float64
}

// Usage counts the tokens of one model call.
type Usage struct {
	InputTokens     int
	OutputTokens    int
	CachedTokens    int // part of InputTokens
	ReasoningTokens int // part of OutputTokens
	// Estimated is true when the provider told nothing and the counts were
	// guessed from the length of the texts.
	Estimated bool
}

// DeltaKind says what a Delta carries.
type DeltaKind int

// The kinds of delta.
const (
	Text DeltaKind = iota + 1
	Reasoning
	CallPiece
)

// Delta is one step of a streaming answer.
type Delta struct {
	Kind DeltaKind
	// Text is the piece of a Text or Reasoning delta, never empty for those.
	Text string
	// Call is set for CallPiece.
	Call CallFragment
}

// CallFragment is one piece of a tool call in the making. It is for showing
// progress: what is run comes from Response.Calls.
type CallFragment struct {
	// Ordinal groups the fragments of one call; calls are numbered from 0 in
	// the order in which they appeared.
	Ordinal int
	// ID and Name are set on the first fragment of a call; ID stays empty when
	// the provider gives none.
	ID, Name string
	// Arguments is the next piece of the JSON text.
	Arguments string
}

// Finish says why the model stopped.
type Finish string

// The reasons to stop. FinishToolCalls is set exactly when there are calls to
// run: calls decide, not the provider's label. An answer cut by FinishLength
// or FinishContentFilter never carries calls.
const (
	FinishStop          Finish = "stop"
	FinishToolCalls     Finish = "tool_calls"
	FinishLength        Finish = "length"
	FinishContentFilter Finish = "content_filter"
	FinishUnknown       Finish = "unknown"
)

// Response is the whole answer of one model call.
type Response struct {
	Text           string
	Reasoning      string
	ReasoningField string
	Calls          []Call
	Usage          Usage
	Finish         Finish
	// Model is the name that the provider says answered.
	Model     string
	RequestID string
	// Extra is a JSON object with further members of the answer that must go
	// back to the provider with it (reasoning_details). Nil when there are none.
	Extra json.RawMessage
	// Warnings names what was mended or skipped to read the answer, at most
	// a few short sentences; for logs and diagnosis.
	Warnings []string
}
