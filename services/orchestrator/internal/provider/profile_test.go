package provider

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

func TestAProfileIsChosenByNameOrByEndpoint(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"", "https://api.openai.com/v1", "openai"},
		{"", "https://team.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "azure"},
		{"", "https://open.bigmodel.cn/api/paas/v4", "glm"},
		{"", "https://API.Z.AI/api/paas/v4/", "glm"},
		{"", "https://api.deepseek.com/v1", "deepseek"},
		{"", "https://api.deepseek.com.", "deepseek"},
		{"", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen"},
		{"", "https://coding.dashscope.aliyuncs.com/v1", "qwen"},
		{"", "https://api.moonshot.cn/v1", "kimi"},
		{"", "https://api.kimi.com/coding/v1", "kimi"},
		{"", "https://api.mistral.ai/v1", "mistral"},
		{"", "https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"},
		{"", "https://openrouter.ai/api/v1", "openrouter"},
		{"", "https://api.minimax.io/v1", "minimax"},
		{"", "http://127.0.0.1:11434", "ollama"},
		{"", "http://gpu.example:11434/v1", "ollama"},
		{"", "https://notapi.deepseek.com.evil.example/v1", "plain"},
		{"", "https://evilapi.openai.com/v1", "plain"},
		{"", "http://127.0.0.1:8000", "plain"},
		{"", "::", "plain"},
		{"plain", "https://api.deepseek.com/v1", "plain"},
		{"hermes", "http://127.0.0.1:8000", "hermes"},
		{"vllm", "http://127.0.0.1:11434", "vllm"},
	}
	for _, tt := range tests {
		if got, err := NamedProfile(tt.name, tt.url); got.Name != tt.want || err != nil {
			t.Errorf("%q at %s: %s, %v", tt.name, tt.url, got.Name, err)
		}
	}
	if _, err := NamedProfile("harmes", ""); err == nil || !strings.Contains(err.Error(), "hermes") {
		t.Errorf("error %v", err)
	}
}

func TestProfilesCanBeApplied(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range profiles {
		if seen[p.Name] || p.valid() != nil {
			t.Errorf("%s: %v", p.Name, p.valid())
		}
		seen[p.Name] = true
		for _, mode := range []ToolMode{"", ToolsNative, ToolsPrompted} {
			if _, err := New(Config{Model: "m", APIURL: "http://a.example", Profile: p.Profile, ToolMode: mode}); err != nil {
				t.Errorf("%s, %s: %v", p.Name, mode, err)
			}
		}
	}
	if names := ProfileNames(); len(names) != len(profiles) || !slices.IsSorted(names) {
		t.Errorf("names %v", names)
	}
	for _, bad := range []Profile{{TextCalls: "xml"}, {Schemas: "xml"}, {Body: "[]"}, {ToolBody: "null"}, {ThinkOn: "{"}, {CallMembers: `"x"`}} {
		if _, err := New(Config{Model: "m", APIURL: "http://a.example", Profile: bad}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestASettingThatAProfileCannotKeepIsRefused(t *testing.T) {
	tests := []struct {
		name     string
		profile  string
		thinking Thinking
		mode     ToolMode
		says     string // empty: it is taken
	}{
		{"thinking left to the provider", "plain", "", "", ""},
		{"on at GLM", "glm", ThinkingOn, "", ""},
		{"off at Kimi", "kimi", ThinkingOff, "", ""},
		{"an endpoint without a switch", "plain", ThinkingOn, "", `thinking: with the profile "plain" there is no way to switch it`},
		{"no such setting", "glm", "yes", "", `thinking: "yes" is neither on nor off`},
		{"prompted tools", "plain", "", ToolsPrompted, ""},
		{"no such mode", "plain", "", "text", `tool_mode: "text" is neither native nor prompted`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := NamedProfile(tt.profile, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(Config{Model: "m", APIURL: "http://a.example", Profile: p, Thinking: tt.thinking, ToolMode: tt.mode})
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v", err)
			}
		})
	}
	one := Profile{Name: "half", ThinkOn: `{"a":1}`}
	if err := one.Check(ThinkingOff, ""); err == nil || !strings.Contains(err.Error(), "cannot be switched off") {
		t.Errorf("error %v", err)
	}
}

func TestTheKeyGoesInTheHeaderThatTheEndpointReads(t *testing.T) {
	tests := []struct {
		name, profile, key string
		headers            map[string]string
		auth, apiKey       string
	}{
		{"a bearer token", "openai", "k-1", nil, "Bearer k-1", ""},
		{"Azure's own header", "azure", "k-1", nil, "", "k-1"},
		{"no key", "plain", "", nil, "", ""},
		{"a configured header wins", "azure", "k-1", map[string]string{"api-key": "k-2", "authorization": "Bearer t"}, "Bearer t", "k-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile, _ := NamedProfile(tt.profile, "")
			seen := 0
			c := newTestClient(t, Config{Profile: profile, Headers: tt.headers, APIKey: config.Secret(tt.key), HTTPTransport: transport(func(r *http.Request) (*http.Response, error) {
				seen++
				if got := r.Header.Get("Authorization"); got != tt.auth {
					t.Errorf("%s: Authorization %q", r.URL.Path, got)
				}
				if got := r.Header.Get("Api-Key"); got != tt.apiKey {
					t.Errorf("%s: Api-Key %q", r.URL.Path, got)
				}
				if r.Method == http.MethodGet {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[]}`))}, nil
				}
				return answer(200, nil, okStream, whole)(r)
			})})
			if _, _, err := ask(c, hello); err != nil {
				t.Error(err)
			}
			if _, err := c.Probe(t.Context()); err != nil {
				t.Error(err)
			}
			if seen != 2 {
				t.Errorf("%d requests", seen)
			}
		})
	}
}
