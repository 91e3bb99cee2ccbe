package provider

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// plainProfile is the name of the zero profile.
const plainProfile = "plain"

// ollamaPort is nobody else's.
const ollamaPort = "11434"

// knownProfile is a profile with the endpoints that it is taken for.
type knownProfile struct {
	Profile
	hosts []string // ends of host names, at a dot
	ports []string
}

// typeSwitch switches thinking as GLM invented it and others took over.
const (
	typeEnabled  = `{"thinking":{"type":"enabled"}}`
	typeDisabled = `{"thinking":{"type":"disabled"}}`
)

// profiles are those that a configuration can name: endpoints first, then models
// behind a server that does not read their answers. What a provider's own endpoint
// parses for itself is not in its profile.
var profiles = []knownProfile{
	{Profile: Profile{Name: plainProfile}},

	{hosts: []string{"api.openai.com"}, Profile: Profile{
		Name:      "openai",
		MaxTokens: "max_completion_tokens", KeepsReasoning: true,
		ThinkOn: `{"reasoning_effort":"medium"}`, ThinkOff: `{"reasoning_effort":"none"}`,
	}},
	{hosts: []string{"openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"}, Profile: Profile{
		Name:     "azure",
		BasePath: "/openai/v1", KeyHeader: "Api-Key", KeepsReasoning: true,
		ThinkOn: `{"reasoning_effort":"medium"}`, ThinkOff: `{"reasoning_effort":"none"}`,
	}},
	{hosts: []string{"open.bigmodel.cn", "api.z.ai"}, Profile: Profile{
		Name:     "glm",
		BasePath: "/api/paas/v4", TextCalls: GLM, ToolBody: `{"tool_stream":true}`,
		// Reasoning goes back with calls only. Thoughts of earlier turns would be a
		// torso to an endpoint that keeps them by default, as that of the coding
		// plan does.
		ThinkOn: `{"thinking":{"type":"enabled","clear_thinking":true}}`, ThinkOff: typeDisabled,
	}},
	{hosts: []string{"api.deepseek.com"}, Profile: Profile{
		Name:      "deepseek",
		TextCalls: DSML, ReasoningField: "reasoning_content",
		ThinkOn: typeEnabled, ThinkOff: typeDisabled,
	}},
	{hosts: []string{"dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"}, Profile: Profile{
		Name:     "qwen",
		BasePath: "/compatible-mode/v1", ParallelCalls: true,
		ThinkOn: `{"enable_thinking":true}`, ThinkOff: `{"enable_thinking":false}`,
	}},
	{hosts: []string{"api.moonshot.cn", "api.moonshot.ai", "api.kimi.com"}, Profile: Profile{
		Name: "kimi",
		IDs:  IDsVerbatim, Schemas: SchemaCommon, ReasoningField: "reasoning_content",
		ThinkOn: typeEnabled, ThinkOff: typeDisabled,
	}},
	{hosts: []string{"api.mistral.ai", "codestral.mistral.ai"}, Profile: Profile{
		Name: "mistral",
		IDs:  IDsOfNine, KeepsReasoning: true, NoUsage: true, // it counts unasked
		ThinkOn: `{"reasoning_effort":"high"}`, ThinkOff: `{"reasoning_effort":"none"}`,
	}},
	{hosts: []string{"generativelanguage.googleapis.com"}, Profile: Profile{
		Name:     "gemini",
		BasePath: "/v1beta/openai", Schemas: SchemaGemini, KeepsReasoning: true,
		// Google's word for calls that it did not sign itself; some of its models
		// refuse the whole request without a signature.
		Signature:   "thought_signature",
		CallMembers: `{"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}`,
		ThinkOn:     `{"reasoning_effort":"medium"}`, ThinkOff: `{"reasoning_effort":"none"}`,
	}},
	{hosts: []string{"openrouter.ai"}, Profile: Profile{
		Name:     "openrouter",
		BasePath: "/api/v1",
		ThinkOn:  `{"reasoning":{"enabled":true}}`, ThinkOff: `{"reasoning":{"enabled":false}}`,
	}},
	{hosts: []string{"api.minimax.io", "api.minimaxi.com"}, Profile: Profile{
		Name:      "minimax",
		ThinkTags: true, MaxTokens: "max_completion_tokens", NoToolChoice: true,
		Body:    `{"reasoning_split":true}`, // thoughts apart from the text, and signed
		ThinkOn: `{"thinking":{"type":"adaptive"}}`, ThinkOff: typeDisabled,
	}},
	{hosts: []string{"ollama.com"}, ports: []string{ollamaPort}, Profile: Profile{
		Name:    "ollama",
		Schemas: SchemaCommon,
		ThinkOn: `{"reasoning_effort":"medium"}`, ThinkOff: `{"reasoning_effort":"none"}`,
	}},
	// Templates of models call the switch by either name and pass over the other.
	{Profile: Profile{
		Name:    "vllm",
		ThinkOn: `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`, ThinkOff: `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`,
	}},
	{Profile: Profile{
		Name:    "sglang",
		ThinkOn: `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`, ThinkOff: `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`,
	}},

	{Profile: Profile{Name: "hermes", ThinkTags: true, TextCalls: Hermes}},
	{Profile: Profile{Name: "qwen-coder", TextCalls: QwenCoder}},
	{Profile: Profile{Name: "think-tags", ThinkTags: true}},
	{Profile: Profile{Name: "think-open", ThinkOpen: true}},
}

// ProfileNames are the names that NamedProfile knows, sorted.
func ProfileNames() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.Name
	}
	slices.Sort(names)
	return names
}

// NamedProfile is the profile of a name, and for the empty name that of the
// endpoint: plain where nothing is known of it. The error lists the names.
func NamedProfile(name, apiURL string) (Profile, error) {
	if name == "" {
		return profileOf(apiURL), nil
	}
	for _, p := range profiles {
		if p.Name == name {
			return p.Profile, nil
		}
	}
	return Profile{}, fmt.Errorf("there is no profile %q: choose one of %s", name, strings.Join(ProfileNames(), ", "))
}

// profileOf is the profile of an endpoint. An address that is none has the plain
// one: New says what is wrong with it.
func profileOf(apiURL string) Profile {
	u, err := url.Parse(strings.TrimSpace(apiURL))
	if err != nil {
		return profiles[0].Profile
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, p := range profiles {
		if slices.Contains(p.ports, u.Port()) || slices.ContainsFunc(p.hosts, func(end string) bool {
			return host == end || strings.HasSuffix(host, "."+end)
		}) {
			return p.Profile
		}
	}
	return profiles[0].Profile
}
