package provider

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Profile says what is particular about an endpoint: about its answers where the
// bytes alone have more than one right reading, and about what it takes. The zero
// value reads nothing into an answer: text stays text.
type Profile struct {
	// ThinkTags reads <think>...</think> at the start of the text as reasoning.
	ThinkTags bool
	// TextCalls is the grammar in which tool calls are written into the text;
	// empty: they are not looked for.
	TextCalls Grammar
	// AnyTool takes a call in the text for a call whatever tool it names. Without
	// it only a tool that the request offered is called: everything else that
	// looks like a call is somebody's text about calls.
	AnyTool bool
	// ShortIDs says that the endpoint takes only ids of nine letters and digits
	// for calls (Mistral): those of other providers in the history are given
	// such a form.
	ShortIDs bool
}

// Grammar is a way to write tool calls into a text.
type Grammar string

// The grammars.
const (
	Hermes    Grammar = "hermes"     // <tool_call>{"name":...,"arguments":{...}}</tool_call>
	QwenCoder Grammar = "qwen-coder" // <tool_call><function=f><parameter=p>v</parameter></function></tool_call>
	GLM       Grammar = "glm"        // <tool_call>f<arg_key>p</arg_key><arg_value>v</arg_value></tool_call>
	DSML      Grammar = "dsml"       // <｜DSML｜tool_calls><｜DSML｜invoke name="f">...
)

// profiles are the profiles that a configuration can name. What a provider's own
// endpoint parses for itself is not in its profile.
var profiles = map[string]Profile{
	"plain":      {},
	"deepseek":   {TextCalls: DSML},
	"glm":        {TextCalls: GLM},
	"hermes":     {ThinkTags: true, TextCalls: Hermes},
	"qwen-coder": {TextCalls: QwenCoder},
	"think-tags": {ThinkTags: true},
	"minimax":    {ThinkTags: true},
	"mistral":    {ShortIDs: true},
}

// profileHosts are the endpoints whose profile is known, by the end of their host
// name.
var profileHosts = []struct{ suffix, profile string }{
	{"api.deepseek.com", "deepseek"},
	{"open.bigmodel.cn", "glm"},
	{"api.z.ai", "glm"},
	{"api.mistral.ai", "mistral"},
	{"api.minimax.io", "minimax"},
	{"api.minimaxi.com", "minimax"},
}

// ProfileNames are the names that NamedProfile knows, sorted.
func ProfileNames() []string { return slices.Sorted(maps.Keys(profiles)) }

// NamedProfile is the profile of a name, and for the empty name that of the
// endpoint: plain where nothing is known of it.
func NamedProfile(name, apiURL string) (Profile, error) {
	if name != "" {
		p, ok := profiles[name]
		if !ok {
			return Profile{}, fmt.Errorf("there is no profile %q: choose one of %s", name, strings.Join(ProfileNames(), ", "))
		}
		return p, nil
	}
	u, err := url.Parse(strings.TrimSpace(apiURL))
	if err != nil {
		return Profile{}, nil // New says what is wrong with it
	}
	host := strings.ToLower(u.Hostname())
	for _, h := range profileHosts {
		if host == h.suffix || strings.HasSuffix(host, "."+h.suffix) {
			return profiles[h.profile], nil
		}
	}
	return Profile{}, nil
}

// valid reports whether the profile can be applied.
func (p Profile) valid() error {
	if _, ok := grammars[p.TextCalls]; p.TextCalls != "" && !ok {
		return fmt.Errorf("there is no grammar %q of calls in a text: choose one of %s", p.TextCalls, strings.Join(slices.Sorted(grammarNames()), ", "))
	}
	return nil
}
