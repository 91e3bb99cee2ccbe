package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/storable"
)

// chunk is one frame of an answer, read tolerantly: a member of an unexpected
// type is skipped, the rest of the frame counts. A frame may also be a whole
// answer that was not streamed ("message" in place of "delta").
type chunk struct {
	ID      text        `json:"id"`
	Model   text        `json:"model"`
	Choices choices     `json:"choices"`
	Usage   *usage      `json:"usage"`
	Groq    *usageOwner `json:"x_groq"`

	// Error members. Some endpoints put message and code, or detail, at the top.
	Error    json.RawMessage `json:"error"`
	Errors   json.RawMessage `json:"errors"`
	Object   text            `json:"object"`
	Message  json.RawMessage `json:"message"`
	Msg      json.RawMessage `json:"msg"`
	Code     text            `json:"code"`
	Success  *bool           `json:"success"`
	Detail   json.RawMessage `json:"detail"`
	BaseResp baseResp        `json:"base_resp"`
}

// baseResp is where MiniMax says how a call went: 0 is well.
type baseResp struct {
	StatusCode number `json:"status_code"`
	StatusMsg  text   `json:"status_msg"`
}

type usageOwner struct {
	Usage *usage `json:"usage"`
}

type choice struct {
	Index        number          `json:"index"`
	Delta        *delta          `json:"delta"`
	Message      *delta          `json:"message"`
	FinishReason text            `json:"finish_reason"`
	Usage        *usage          `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

type delta struct {
	Content          content       `json:"content"`
	Refusal          text          `json:"refusal"`
	ReasoningContent text          `json:"reasoning_content"`
	Reasoning        text          `json:"reasoning"`
	ReasoningDetails rawList       `json:"reasoning_details"`
	ToolCalls        wireCalls     `json:"tool_calls"`
	FunctionCall     *wireFunction `json:"function_call"`
}

type usage struct {
	PromptTokens      number            `json:"prompt_tokens"`
	CompletionTokens  number            `json:"completion_tokens"`
	InputTokens       number            `json:"input_tokens"`
	OutputTokens      number            `json:"output_tokens"`
	CachedTokens      number            `json:"cached_tokens"`           // Kimi
	CacheHitTokens    number            `json:"prompt_cache_hit_tokens"` // DeepSeek
	CacheReadTokens   number            `json:"cache_read_input_tokens"` // gateways to Anthropic
	PromptDetails     promptDetails     `json:"prompt_tokens_details"`
	InputDetails      promptDetails     `json:"input_tokens_details"`
	CompletionDetails completionDetails `json:"completion_tokens_details"`
	OutputDetails     completionDetails `json:"output_tokens_details"`
}

type promptDetails struct {
	CachedTokens number `json:"cached_tokens"`
}

type completionDetails struct {
	ReasoningTokens number `json:"reasoning_tokens"`
}

// counts returns the usage in neutral terms.
func (u *usage) counts() Usage {
	first := func(values ...number) int {
		for _, v := range values {
			if v.value > 0 {
				return v.value
			}
		}
		return 0
	}
	return Usage{
		InputTokens:     first(u.PromptTokens, u.InputTokens),
		OutputTokens:    first(u.CompletionTokens, u.OutputTokens),
		CachedTokens:    first(u.PromptDetails.CachedTokens, u.InputDetails.CachedTokens, u.CacheHitTokens, u.CachedTokens, u.CacheReadTokens),
		ReasoningTokens: first(u.CompletionDetails.ReasoningTokens, u.OutputDetails.ReasoningTokens),
	}
}

// parseChunk reads one frame. It fails only on what is not a JSON object.
func parseChunk(frame []byte) (*chunk, error) {
	frame = bytes.TrimSpace(frame)
	if len(frame) == 0 || frame[0] != '{' {
		return nil, errors.New("not a JSON object")
	}
	var c chunk
	// A value of the wrong type is skipped by encoding/json, which goes on and
	// reports it at the end: that report is not a failure here.
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(frame, &c); err != nil && !errors.As(err, &mismatch) {
		return nil, err
	}
	return &c, nil
}

// failure returns the error object that the frame carries, nil when it carries
// none.
func (c *chunk) failure() json.RawMessage {
	if present(c.Error) {
		return c.Error
	}
	for _, ch := range c.Choices {
		if present(ch.Error) {
			return ch.Error
		}
	}
	said := c.Message
	if !present(said) {
		said = c.Msg
	}
	switch {
	case c.Object == "error",
		len(c.Choices) == 0 && present(said) && (c.Success != nil && !*c.Success || !c.Code.isWell()):
		return failureOf(said, c.Code)
	case c.BaseResp.StatusCode.value != 0:
		whole, _ := marshalPlain(map[string]any{"status_code": c.BaseResp.StatusCode.value, "status_msg": c.BaseResp.StatusMsg})
		return whole
	case len(c.Choices) == 0 && present(c.Errors):
		return c.Errors
	case len(c.Choices) == 0 && c.Usage == nil && c.ID == "" && present(c.Detail):
		return c.Detail
	}
	return nil
}

func failureOf(message json.RawMessage, code text) json.RawMessage {
	whole, _ := marshalPlain(map[string]any{"message": message, "code": code})
	return whole
}

// isWell reports whether a code is none, or one of those that say that nothing is
// wrong.
func (t text) isWell() bool {
	switch t {
	case "", "0", "200", "success", "ok":
		return true
	}
	return false
}

func present(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", "{}", `""`, "false":
		return false
	}
	return true
}

// text is a string member; a number is read as its digits, anything else as
// absent.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	switch {
	case len(raw) > 0 && raw[0] == '"':
		*t = text(unquote(raw))
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		*t = text(raw)
	}
	return nil
}

// unquote decodes a JSON string; most have no escapes and need no decoder. Every
// text of a provider comes through here, and what cannot be stored of it ends
// here: what is shown live is what is kept.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) && len(raw) >= 2 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return storable.Text(s)
}

// number is an integer member that may come as a float or as a string.
type number struct {
	value int
	set   bool
}

func (n *number) UnmarshalJSON(raw []byte) error {
	raw = bytes.Trim(raw, `"`)
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && f >= -1 && f <= 1<<53 {
		n.value, n.set = int(f), true
	}
	return nil
}

// choices is the list of choices; an object alone is read as a list of one,
// anything else as empty.
type choices []choice

func (c *choices) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	var list []choice
	if tolerant(raw, &list) {
		*c = list
	}
	return nil
}

// rawList is a list kept as it came.
type rawList []json.RawMessage

func (l *rawList) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, item := range list {
			*l = append(*l, verbatim(item))
		}
	}
	return nil
}

// texts are the texts of details of reasoning, one after the other.
func (l rawList) texts() string {
	var all string
	for _, raw := range l {
		var part struct {
			Text    text `json:"text"`
			Summary text `json:"summary"`
		}
		if tolerant(raw, &part) {
			all += string(part.Text + part.Summary)
		}
	}
	return all
}

// verbatim is a copy of a JSON value as it came, but in UTF-8: encoding/json
// takes other bytes inside strings, databases and providers do not.
func verbatim(raw json.RawMessage) json.RawMessage {
	return bytes.ToValidUTF8(raw, []byte("\uFFFD"))
}

// content is the text of an answer: a string, a part of which text and thinking
// are read, or a list of both (Mistral).
type content struct {
	text      string
	reasoning string
}

func (c *content) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		c.text = unquote(raw)
		return nil
	}
	if len(raw) > 0 && raw[0] == '{' {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	var parts []contentPart
	if tolerant(raw, &parts) {
		for _, p := range parts {
			c.text += string(p.Text)
			c.reasoning += thinkingText(p.Thinking)
		}
	}
	return nil
}

// contentPart is one part of a content: an object, or its text alone.
type contentPart struct {
	Text     text            `json:"text"`
	Thinking json.RawMessage `json:"thinking"`
}

func (p *contentPart) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		p.Text = text(unquote(raw))
		return nil
	}
	type members contentPart
	tolerant(raw, (*members)(p))
	return nil
}

// thinkingText reads the thinking member of a part: a string or a list of text
// parts. It does not descend further, so that nesting costs nothing.
func thinkingText(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return asText(raw)
	}
	var parts []struct {
		Text text `json:"text"`
	}
	var all string
	if len(raw) > 0 && tolerant(raw, &parts) {
		for _, p := range parts {
			all += string(p.Text)
		}
	}
	return all
}

// tolerant decodes raw and reports whether anything could be read, members of
// a wrong type being skipped.
func tolerant(raw []byte, into any) bool {
	var mismatch *json.UnmarshalTypeError
	err := json.Unmarshal(raw, into)
	return err == nil || errors.As(err, &mismatch)
}
