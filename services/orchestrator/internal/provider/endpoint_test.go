package provider

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheEndpointIsFoundFromWhatPeopleWrite(t *testing.T) {
	const azure = "https://r.openai.azure.com/openai/deployments/gpt"
	tests := []struct{ name, in, want string }{
		{"host alone", "https://api.deepseek.com", "https://api.deepseek.com/v1/chat/completions"},
		{"host alone, of GLM", "https://open.bigmodel.cn", "https://open.bigmodel.cn/api/paas/v4/chat/completions"},
		{"host alone, of Gemini", "https://generativelanguage.googleapis.com/", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		{"host alone, of Azure", "https://r.openai.azure.com", "https://r.openai.azure.com/openai/v1/chat/completions"},
		{"a deployment", azure + "?api-version=2024-10-21", azure + "/chat/completions?api-version=2024-10-21"},
		{"a deployment and slash", azure + "/?api-version=2024-10-21", azure + "/chat/completions?api-version=2024-10-21"},
		{"a deployment, whole path", azure + "/chat/completions?api-version=2024-10-21", azure + "/chat/completions?api-version=2024-10-21"},
		{"Azure's models", "https://r.services.ai.azure.com/models?api-version=2024-05-01-preview", "https://r.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview"},
		{"Azure with both versions", "https://r.openai.azure.com/openai/v1?api-version=preview", "https://r.openai.azure.com/openai/v1/chat/completions?api-version=preview"},
		{"a deployment that is named like a version", "https://r.openai.azure.com/openai/deployments/v1?api-version=1", "https://r.openai.azure.com/openai/deployments/v1/chat/completions?api-version=1"},
		{"host and slash", "http://localhost:11434/", "http://localhost:11434/v1/chat/completions"},
		{"with version", "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"},
		{"with version and slash", "https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"},
		{"whole path", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/chat/completions"},
		{"whole path and slash", "https://api.openai.com/v1/chat/completions/", "https://api.openai.com/v1/chat/completions"},
		{"another version", "https://open.bigmodel.cn/api/paas/v4", "https://open.bigmodel.cn/api/paas/v4/chat/completions"},
		{"version in the middle", "https://generativelanguage.googleapis.com/v1beta/openai/", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		{"a path without version", "https://relay.example/openai", "https://relay.example/openai/v1/chat/completions"},
		{"whole path without version", "https://relay.example/chat/completions", "https://relay.example/chat/completions"},
		{"a query stays", "https://x.example/v1/chat/completions?api-version=2024", "https://x.example/v1/chat/completions?api-version=2024"},
		{"white space is trimmed", "  https://api.openai.com/v1\n", "https://api.openai.com/v1/chat/completions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := endpointURL(tt.in, profileOf(tt.in).BasePath)
			if err != nil || u.String() != tt.want {
				t.Errorf("%v, %v; want %s", u, err, tt.want)
			}
		})
	}
}

func TestAWrongConfigurationNamesWhatToCorrect(t *testing.T) {
	good := Config{Model: "m", APIURL: "https://a.example/v1", APIKey: "secret-value-1"}
	with := func(change func(*Config)) Config {
		c := good
		change(&c)
		return c
	}
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no model", with(func(c *Config) { c.Model = " " }), "models[].name"},
		{"no address", with(func(c *Config) { c.APIURL = "" }), "api_url is empty"},
		{"no scheme", with(func(c *Config) { c.APIURL = "api.openai.com/v1" }), "http:// or https://"},
		{"another scheme", with(func(c *Config) { c.APIURL = "ftp://a.example" }), "http:// or https://"},
		{"a password in the address", with(func(c *Config) { c.APIURL = "https://u:secret-value-1@a.example" }), "api_key"},
		{"no address at all", with(func(c *Config) { c.APIURL = "https://a b\x7f/secret-value-1" }), "api_url"},
		{"a deployment without its version", with(func(c *Config) { c.APIURL = "https://r.openai.azure.com/openai/deployments/gpt" }), "add ?api-version="},
		{"a line break in the key", with(func(c *Config) { c.APIKey = "secret-value-1\nexport X" }), "not copied cleanly"},
		{"a key with other letters", with(func(c *Config) { c.APIKey = "secret-value-1…" }), "not copied cleanly"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), "secret-value-1") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestAConfigurationIsPrintedWithoutItsKey(t *testing.T) {
	c := Config{Model: "m", APIURL: "https://a.example/v1?key=secret-value-1", APIKey: "secret-value-1", Headers: map[string]string{"Api-Key": "secret-value-1"}}
	client := newTestClient(t, c)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{c, &c, client} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, "secret") || !strings.Contains(s, "a.example") {
				t.Errorf("%s of %T prints %s", verb, v, s)
			}
		}
	}
}
