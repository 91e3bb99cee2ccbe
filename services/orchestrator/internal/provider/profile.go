package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Profile says what is particular about an endpoint: about its answers where the
// bytes alone have more than one right reading, and about what it takes. It is
// data; the zero value is the most tolerant: nothing is read into an answer, and
// a request holds only what every endpoint takes.
type Profile struct {
	// Name is what a configuration calls it; for texts only.
	Name string

	// ThinkTags reads <think>...</think> at the start of the text as reasoning.
	ThinkTags bool
	// ThinkOpen reads the text up to </think> as reasoning, whether <think> stands
	// before it or not: the template of some models ends with it, so that they
	// never write it. An answer without </think> is reasoning only.
	ThinkOpen bool
	// TextCalls is the grammar in which tool calls are written into the text;
	// empty: they are not looked for.
	TextCalls Grammar
	// AnyTool takes a call in the text for a call whatever tool it names. Without
	// it only a tool that the request offered is called: everything else that
	// looks like a call is somebody's text about calls.
	AnyTool bool

	// BasePath is added to an address that has no path; empty: /v1.
	BasePath string
	// KeyHeader is the header that carries the key; empty: Authorization, as a
	// bearer token.
	KeyHeader string

	// IDs says which ids of calls the endpoint takes back.
	IDs IDRule
	// Schemas is the dialect of JSON Schema in which it takes the parameters of
	// tools. Arguments are checked against the whole schema in any case.
	Schemas Dialect
	// KeepsReasoning says that reasoning never goes back. Without it reasoning
	// goes back, under the name it came by, with every answer that called tools.
	KeepsReasoning bool
	// ReasoningField is the member without which the endpoint refuses an answer
	// that called tools, also one that came without reasoning. It is sent under
	// this name, but where thinking is switched off; empty: none is demanded.
	ReasoningField string
	// Signature is the member of calls that the endpoint may demand back, and
	// CallMembers a JSON object whose members stand for it: the first call of an
	// answer gets them when no call of it has members of its own, as those that
	// another model made. It is done once a refusal named the Signature; empty:
	// never.
	Signature, CallMembers string

	// NoUsage says that stream_options is not sent: the endpoint refuses it or
	// counts tokens without it. What it does not count is estimated.
	NoUsage bool
	// NoToolChoice says that the endpoint knows no tool_choice; that no tool may be
	// called is said in a system message of its own.
	NoToolChoice bool
	// ParallelCalls sends parallel_tool_calls: true, for an endpoint that makes
	// one call at a time without it.
	ParallelCalls bool
	// MaxTokens is the member that limits the answer; empty: max_tokens.
	MaxTokens string
	// Body and ToolBody are JSON objects whose members every request has, and
	// every request that offers tools; empty: none.
	Body, ToolBody string
	// ThinkOn and ThinkOff are JSON objects whose members switch thinking on and
	// off; empty: the endpoint has no such switch.
	ThinkOn, ThinkOff string
	// ToolMode is taken where the configuration names none; empty: native.
	ToolMode ToolMode
}

// IDRule is a rule for the ids of calls. A calling answer and its results always
// have the same.
type IDRule string

// The rules.
const (
	// IDsUpTo64 sends ids of up to 64 bytes as they came, and a hash of others:
	// what most endpoints take (AstrBot#7735).
	IDsUpTo64 IDRule = ""
	// IDsVerbatim sends every id as it came, for models that read something in
	// their own (Kimi: functions.name:0).
	IDsVerbatim IDRule = "verbatim"
	// IDsOfNine sends ids of nine letters and digits as they came, and a hash of
	// others (Mistral).
	IDsOfNine IDRule = "nine"
)

// Thinking is what a configuration wants of a model that can think before it
// answers.
type Thinking string

// The settings. The empty one leaves it to the provider.
const (
	ThinkingOn  Thinking = "on"
	ThinkingOff Thinking = "off"
)

// ToolMode is how tools reach a model and calls come back.
type ToolMode string

// The modes.
const (
	// ToolsNative uses the protocol's tools and tool_calls.
	ToolsNative ToolMode = "native"
	// ToolsPrompted describes the tools in a system message and reads calls from
	// the text, for models and servers without tool calls.
	ToolsPrompted ToolMode = "prompted"
)

// Grammar is a way to write tool calls into a text.
type Grammar string

// The grammars.
const (
	Hermes    Grammar = "hermes"     // <tool_call>{"name":...,"arguments":{...}}</tool_call>
	QwenCoder Grammar = "qwen-coder" // <tool_call><function=f><parameter=p>v</parameter></function></tool_call>
	GLM       Grammar = "glm"        // <tool_call>f<arg_key>p</arg_key><arg_value>v</arg_value></tool_call>
	DSML      Grammar = "dsml"       // <｜DSML｜tool_calls><｜DSML｜invoke name="f">...
)

// Check reports whether an endpoint of this profile can be asked so; the errors
// name the configuration key to correct.
func (p Profile) Check(thinking Thinking, mode ToolMode) error {
	switch mode {
	case "", ToolsNative, ToolsPrompted:
	default:
		return fmt.Errorf("tool_mode: %q is neither native nor prompted", mode)
	}
	switch thinking {
	case "", ThinkingOn, ThinkingOff:
	default:
		return fmt.Errorf("thinking: %q is neither on nor off; leave it out for the provider's default", thinking)
	}
	if thinking == "" || p.thinking(thinking) != "" {
		return nil
	}
	if p.ThinkOn == "" && p.ThinkOff == "" {
		return fmt.Errorf("thinking: with the profile %q there is no way to switch it; leave thinking out, or set profile to that of the endpoint", p.title())
	}
	return fmt.Errorf("thinking: with the profile %q it cannot be switched %s; leave thinking out", p.title(), thinking)
}

// thinking are the members that switch thinking; empty where there are none.
func (p Profile) thinking(t Thinking) string {
	switch t {
	case ThinkingOn:
		return p.ThinkOn
	case ThinkingOff:
		return p.ThinkOff
	}
	return ""
}

func (p Profile) title() string {
	if p.Name == "" {
		return plainProfile
	}
	return p.Name
}

// valid reports whether the profile can be applied.
func (p Profile) valid() error {
	if _, ok := grammars[p.TextCalls]; p.TextCalls != "" && !ok {
		return fmt.Errorf("there is no grammar %q of calls in a text: choose one of %s", p.TextCalls, strings.Join(slices.Sorted(grammarNames()), ", "))
	}
	if _, ok := dialects[p.Schemas]; !ok {
		return fmt.Errorf("there is no dialect %q of JSON Schema", p.Schemas)
	}
	for _, object := range []string{p.Body, p.ToolBody, p.ThinkOn, p.ThinkOff, p.CallMembers} {
		var members map[string]json.RawMessage
		if object != "" && (json.Unmarshal([]byte(object), &members) != nil || members == nil) {
			return errors.New("the profile's additions to the request are no JSON objects: " + object)
		}
	}
	return nil
}
