package provider

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// assembler turns the chunks of one answer into deltas and the response. It
// does no I/O, knows no clock and holds no more than the limits allow.
type assembler struct {
	maxBytes int // of everything that is kept
	maxCalls int
	tools    map[string]bool // names the request offered
	newID    func() string

	prose          *prose // reads what the profile finds in the text; nil: nothing
	size           int
	text           strings.Builder
	reasoning      strings.Builder
	reasoningField string
	detailed       bool // thoughts are read in the details
	details        []json.RawMessage
	slots          []*slot
	byIndex        map[int]*slot
	byID           map[string]*slot
	usage          *Usage
	finish         string // as the provider wrote it
	model, id      string
	manyIDs        bool // chunks of the answer have had ids of their own
	choice         int  // index of the choice that is read
	chosen         bool // choice is known
	streamed       bool // text or thoughts came in deltas
	legacy         bool // the calls of the answer come as function_call
	warnings       []string
}

func newAssembler(cfg Config, tools []ToolSpec) *assembler {
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		names[t.Name] = true
	}
	return &assembler{
		maxBytes: cfg.MaxMessage, maxCalls: cfg.MaxCalls, tools: names, newID: newCallID,
		byIndex: make(map[int]*slot), byID: make(map[string]*slot), prose: newProse(cfg.Profile, names),
	}
}

// newCallID makes an id for a call that came without one: nine alphanumerics,
// which every provider accepts, Mistral demands.
func newCallID() string { return rand.Text()[:9] }

// limitError says which limit an answer went over.
type limitError struct{ what string }

func (e *limitError) Error() string { return e.what }
func (e *limitError) Unwrap() error { return errTooLarge }

// add takes the next chunk and calls yield for what is new in it. Only one
// choice is read, the first, or whichever comes where that does not: we never ask
// for more.
func (a *assembler) add(c *chunk, yield func(Delta) error) error {
	if a.model == "" {
		a.model = string(c.Model)
	}
	if a.another(c) {
		a.warn("a second answer in the stream was not read")
		if a.usage == nil {
			a.count(c.Usage)
		}
		return nil
	}
	if a.id == "" {
		a.id = string(c.ID)
	}
	a.manyIDs = a.manyIDs || c.ID != "" && string(c.ID) != a.id
	a.count(c.Usage)
	if c.Groq != nil {
		a.count(c.Groq.Usage)
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if !a.reads(ch, c.Choices) {
			continue
		}
		a.count(ch.Usage)
		if d := a.deltaOf(ch); d != nil {
			if err := a.delta(d, yield); err != nil {
				return err
			}
		}
		// After the delta: the last piece may share its chunk with the finish.
		if ch.FinishReason != "" {
			a.finish = string(ch.FinishReason)
		}
	}
	return nil
}

// reads reports whether a choice is the one that is read.
func (a *assembler) reads(ch *choice, all choices) bool {
	if !a.chosen {
		a.chosen = true
		if !slices.ContainsFunc(all, func(o choice) bool { return o.Index.value == 0 }) {
			a.choice = ch.Index.value
		}
	}
	return ch.Index.value == a.choice
}

// deltaOf is what is new in a choice. A message after deltas is the whole answer
// once more: what came in pieces is not read again.
func (a *assembler) deltaOf(ch *choice) *delta {
	if d := ch.Delta; d != nil {
		a.streamed = a.streamed || d.Content != content{} || d.ReasoningContent != "" || d.Reasoning != ""
		return d
	}
	if d := ch.Message; d == nil || !a.streamed {
		return d
	}
	a.warn("the answer came in pieces and then as a whole: read once")
	return &delta{ToolCalls: ch.Message.ToolCalls, FunctionCall: ch.Message.FunctionCall}
}

// another reports whether a chunk is of another answer than the one that is
// whole: a relay that asked twice sends both (one call would then be made twice).
// Where chunks have had ids of their own, an id tells nothing.
func (a *assembler) another(c *chunk) bool {
	return a.finished() && !a.manyIDs && len(c.Choices) > 0 && a.id != "" && c.ID != "" && string(c.ID) != a.id
}

// count takes the usage of the call so far: it is cumulative wherever it is
// sent more than once, so the last one counts, never the sum.
func (a *assembler) count(u *usage) {
	if u == nil {
		return
	}
	if n := u.counts(); n != (Usage{}) {
		a.usage = &n
	}
}

func (a *assembler) delta(d *delta, yield func(Delta) error) error {
	if err := a.think(d, yield); err != nil {
		return err
	}
	if err := a.read(d.Content.text+string(d.Refusal), yield); err != nil {
		return err
	}
	for _, raw := range d.ReasoningDetails {
		if err := a.grow(len(raw) + entryCost); err != nil {
			return err
		}
		a.details = append(a.details, raw)
	}
	f := d.FunctionCall
	old := f != nil && (f.Name != "" || f.Arguments != "")
	switch {
	case old && len(d.ToolCalls) == 0 && (a.legacy || len(a.slots) == 0):
		a.legacy = true // the form before tool_calls
		return a.calls([]wireCall{{Function: *f}}, yield)
	case a.legacy && len(d.ToolCalls) > 0, old:
		// Servers that send both forms mean one call.
		a.warn("tool calls came in the old form as well: read once")
	}
	if a.legacy {
		return nil
	}
	return a.calls(d.ToolCalls, yield)
}

// think takes the reasoning of a delta. Gateways send it under two names at
// once: the first name seen is the one that is read (vllm#27755). The texts of
// details are read where there is neither name (MiniMax).
func (a *assembler) think(d *delta, yield func(Delta) error) error {
	piece := d.Content.reasoning
	for _, f := range []struct {
		name string
		text text
	}{{"reasoning_content", d.ReasoningContent}, {"reasoning", d.Reasoning}} {
		if f.text == "" || a.detailed || a.reasoningField != "" && a.reasoningField != f.name {
			continue
		}
		a.reasoningField = f.name
		piece += string(f.text)
	}
	if a.reasoningField == "" {
		said := d.ReasoningDetails.texts()
		a.detailed = a.detailed || said != ""
		piece += said
	}
	return a.say(piece, Reasoning, yield)
}

// read takes a piece of the answer's text.
func (a *assembler) read(piece string, yield func(Delta) error) error {
	if a.prose == nil || piece == "" {
		return a.say(piece, Text, yield)
	}
	if err := a.grow(len(piece)); err != nil {
		return err
	}
	return a.prose.add(piece, a.hear(yield))
}

// end takes the end of the answer: text that was held back, because it could have
// become something else, is text now.
func (a *assembler) end(yield func(Delta) error) error {
	if a.prose == nil {
		return nil
	}
	return a.prose.end(finishOf(a.finish) != FinishLength, a.hear(yield))
}

// hear is where the parts of a text go.
func (a *assembler) hear(yield func(Delta) error) listener {
	return listener{
		text: func(piece string, kind DeltaKind) error { return a.tell(piece, kind, yield) },
		call: func(c textCall) error { return a.written(c, yield) },
	}
}

func (a *assembler) say(piece string, kind DeltaKind, yield func(Delta) error) error {
	if piece == "" {
		return nil
	}
	if err := a.grow(len(piece)); err != nil {
		return err
	}
	return a.tell(piece, kind, yield)
}

// tell emits a piece that was counted.
func (a *assembler) tell(piece string, kind DeltaKind, yield func(Delta) error) error {
	into := &a.text
	if kind == Reasoning {
		into = &a.reasoning
	}
	into.WriteString(piece)
	return yield(Delta{Kind: kind, Text: piece})
}

// entryCost is counted for each value that is kept by itself, beside its bytes:
// what a list or a map needs for it.
const entryCost = 64

// grow counts n more bytes of the answer.
func (a *assembler) grow(n int) error {
	if a.size += n; a.size > a.maxBytes {
		return &limitError{fmt.Sprintf("the answer is longer than %d bytes", a.maxBytes)}
	}
	return nil
}

func (a *assembler) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if len(a.warnings) < maxWarnings && !slices.Contains(a.warnings, w) {
		a.warnings = append(a.warnings, w)
	}
}

// finished reports whether the provider said that the answer is whole.
func (a *assembler) finished() bool { return a.finish != "" }

// response returns the answer so far.
func (a *assembler) response() Response {
	r := Response{
		Text: a.text.String(), Reasoning: a.reasoning.String(), ReasoningField: a.reasoningField,
		Finish: finishOf(a.finish), Model: a.model, RequestID: a.id,
	}
	r.Calls = a.finishedCalls()
	switch {
	case r.Finish == FinishLength || r.Finish == FinishContentFilter:
		if len(r.Calls) > 0 {
			a.warn("%d tool calls dropped: the answer was cut (%s)", len(r.Calls), r.Finish)
			r.Calls = nil
		}
	case len(r.Calls) > 0:
		r.Finish = FinishToolCalls
	case r.Finish == FinishToolCalls:
		a.warn("finish reason %q without a tool call", a.finish)
		r.Finish = FinishStop
	}
	if len(a.details) > 0 {
		if list, err := marshalPlain(a.details); err == nil {
			r.Extra = encodeVerbatim(map[string]json.RawMessage{"reasoning_details": list})
		}
	}
	if a.usage != nil {
		r.Usage = *a.usage
	}
	r.Warnings = slices.Clone(a.warnings)
	return r
}

// finishOf reads the finish reasons of the common providers. The one of a
// stream that ended with [DONE] alone is stop.
func finishOf(reason string) Finish {
	switch strings.ToLower(reason) {
	case "", "stop", "end_turn", "eos", "stop_sequence", "completed":
		return FinishStop
	case "tool_calls", "tool_use", "function_call":
		return FinishToolCalls
	case "length", "max_tokens", "model_length", "model_context_window_exceeded":
		return FinishLength
	case "content_filter", "content_filtered", "sensitive", "safety", "refusal", "recitation", "prohibited_content":
		return FinishContentFilter
	}
	return FinishUnknown
}

// brokenOff reports whether a finish reason says that the provider did not get to
// the end of the answer.
func brokenOff(reason string) bool {
	switch strings.ToLower(reason) {
	case "error", "network_error", "abort", "insufficient_system_resource": // GLM, SGLang and vLLM, DeepSeek
		return true
	}
	return false
}
