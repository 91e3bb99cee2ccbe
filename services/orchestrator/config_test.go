package orchestrator

import (
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

func TestTheDefaultsAreThoseOfTheDesign(t *testing.T) {
	c := DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if c.DefaultModel != "glm-5" || c.Tools.MaxIterations != 5 || c.Runs.MaxTokens != 4096 || c.Runs.PerUser != 4 || c.Runs.Queued != 20 || c.Runs.PerProcess != 64 {
		t.Errorf("%+v", c)
	}
	e := c.engine()
	if e.MaxIterations != 5 || e.MaxTokens != 4096 || e.MaxRuns != 64 || e.Limits.RunningPerUser != 4 || e.Limits.QueuedPerUser != 20 || e.RunTimeout != c.Runs.Timeout {
		t.Errorf("%+v", e)
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	model := func(change func(*ModelConfig)) func(*Config) {
		return func(c *Config) {
			m := ModelConfig{ID: "m", APIURL: "https://models.example/v1", APIKey: config.Secret("sk-hush")}
			change(&m)
			c.Models = []ModelConfig{m}
		}
	}
	models := func(a, b []string) func(*Config) {
		return func(c *Config) {
			c.Models = []ModelConfig{{ID: "a", APIURL: "http://a", Fallback: a}, {ID: "b", APIURL: "http://b", Fallback: b}}
		}
	}
	provider := func(change func(*ProviderConfig)) func(*Config) {
		return func(c *Config) {
			p := ProviderConfig{Name: "far", Address: "127.0.0.1:5000"}
			change(&p)
			c.Providers = []ProviderConfig{p}
		}
	}
	cases := []struct {
		name  string
		set   func(*Config)
		words string // empty: it is fine
	}{
		{"a model", model(func(*ModelConfig) {}), ""},
		{"a model with spaces around its address", model(func(m *ModelConfig) { m.APIURL = " http://127.0.0.1:11434 " }), ""},
		{"a model without an id", model(func(m *ModelConfig) { m.ID = "" }), "models[0].id is empty"},
		{"an endless id", model(func(m *ModelConfig) { m.ID = strings.Repeat("m", 129) }), "models[0].id has 129 bytes"},
		{"one model twice", func(c *Config) {
			c.Models = []ModelConfig{{ID: "m", APIURL: "http://a"}, {ID: "m", APIURL: "http://b"}}
		}, `models[1].id: "m" is there twice`},
		{"a profile", model(func(m *ModelConfig) { m.Profile = "hermes" }), ""},
		{"a profile that nobody knows", model(func(m *ModelConfig) { m.Profile = "harmes" }), `models[0].profile: there is no profile "harmes": choose one of azure, deepseek, gemini, glm, hermes`},
		{"thinking that the endpoint can switch", model(func(m *ModelConfig) { m.Profile, m.Thinking = "glm", "off" }), ""},
		{"thinking that nobody can switch", model(func(m *ModelConfig) { m.Thinking = "off" }), `models[0].thinking: with the profile "plain" there is no way to switch it`},
		{"thinking as a truth value", model(func(m *ModelConfig) { m.Profile, m.Thinking = "glm", "true" }), `models[0].thinking: "true" is neither on nor off`},
		{"tools in the prompt", model(func(m *ModelConfig) { m.ToolMode = "prompted" }), ""},
		{"tools in no way that there is", model(func(m *ModelConfig) { m.ToolMode = "text" }), `models[0].tool_mode: "text" is neither native nor prompted`},
		{"a deployment without its version", model(func(m *ModelConfig) { m.APIURL = "https://r.openai.azure.com/openai/deployments/d?api-key=hush" }), "models[0]: model \"m\": api_url of an Azure deployment needs its API version"},
		{"a key of two lines", model(func(m *ModelConfig) { m.APIKey = "sk\nhush" }), "models[0]: model \"m\": api_key holds white space"},
		{"fallbacks in a loop", models([]string{"b"}, []string{"a"}), ""},
		{"a fallback that is not there", models([]string{"b", "c"}, nil), `models[0].fallback[1]: "c" is not among the models`},
		{"a model as its own fallback", models(nil, []string{"b"}), `models[1].fallback[0]: "b" is the model itself`},
		{"a fallback twice", models([]string{"b", "b"}, nil), `models[0].fallback[1]: "b" is there twice`},
		{"no address", model(func(m *ModelConfig) { m.APIURL = "" }), "models[0].api_url"},
		{"an address of another kind", model(func(m *ModelConfig) { m.APIURL = "ftp://sk-hush@models.example" }), "models[0].api_url"},
		{"an address without a host", model(func(m *ModelConfig) { m.APIURL = "https:///v1" }), "models[0].api_url"},
		{"an address that is none", model(func(m *ModelConfig) { m.APIURL = "http://[::sk-hush" }), "models[0].api_url"},
		{"a negative window", model(func(m *ModelConfig) { m.ContextWindow = -1 }), "models[0].context_window"},
		{"a window in thousands of tokens", model(func(m *ModelConfig) { m.ContextWindow = 128 }), "models[0].context_window: 128"},
		{"the smallest window", model(func(m *ModelConfig) { m.ContextWindow = 1000 }), ""},
		{"a window beyond counting", model(func(m *ModelConfig) { m.ContextWindow = 1 << 40 }), "models[0].context_window"},
		{"a negative silence", model(func(m *ModelConfig) { m.Timeout = -1 }), "models[0].timeout"},
		{"a default model that is not there", func(c *Config) { model(func(*ModelConfig) {})(c); c.DefaultModel = "other" }, `default_model: "other"`},
		{"a default model without any model", func(c *Config) { c.DefaultModel = "other" }, ""},
		{"no rounds with tools", func(c *Config) { c.Tools.MaxIterations = 0 }, ""},
		{"fewer rounds than none", func(c *Config) { c.Tools.MaxIterations = -1 }, "tools.max_iterations: -1"},
		{"no tokens", func(c *Config) { c.Runs.MaxTokens = 0 }, "runs.max_tokens: 0"},
		{"no runs of a user", func(c *Config) { c.Runs.PerUser = 0 }, "runs.per_user: 0"},
		{"a negative queue", func(c *Config) { c.Runs.Queued = -1 }, "runs.queued: -1"},
		{"no runs", func(c *Config) { c.Runs.PerProcess = 0 }, "runs.per_process: 0"},
		{"no calls", func(c *Config) { c.Runs.ParallelCalls = 0 }, "runs.parallel_calls: 0"},
		{"runs of a moment", func(c *Config) { c.Runs.Timeout = time.Millisecond }, "runs.timeout: 1ms"},
		{"a tool of a moment", func(c *Config) { c.Tools.Timeouts = map[string]time.Duration{"x": 0} }, "tools.timeouts.x: 0s"},
		{"a tool of an hour", func(c *Config) { c.Tools.Timeouts = map[string]time.Duration{"x": time.Hour} }, "tools.timeouts.x: 1h0m0s"},
		{"a tool of a minute", func(c *Config) { c.Tools.Timeouts = map[string]time.Duration{"x": time.Minute} }, ""},
		{"nobody is ever asked", func(c *Config) { c.Tools.AutoApprove = []string{"*"} }, "tools.auto_approve"},
		{"a provider", provider(func(*ProviderConfig) {}), ""},
		{"a provider without a name", provider(func(p *ProviderConfig) { p.Name = "" }), "providers[0].name"},
		{"a provider with capitals", provider(func(p *ProviderConfig) { p.Name = "Far" }), "providers[0].name"},
		{"a provider with the separator in its name", provider(func(p *ProviderConfig) { p.Name = "a__b" }), "providers[0].name"},
		{"a provider without an address", provider(func(p *ProviderConfig) { p.Address = "" }), "providers[0].address"},
		{"a provider without a port", provider(func(p *ProviderConfig) { p.Address = "far.example" }), "providers[0].address"},
		{"a provider at a web address", provider(func(p *ProviderConfig) { p.Address = "https://far.example:443" }), "providers[0].address"},
		{"a provider with replicas", provider(func(p *ProviderConfig) { p.Address = "dns:///far.example:3001" }), ""},
		{"one provider twice", func(c *Config) {
			c.Providers = []ProviderConfig{{Name: "far", Address: "a:1"}, {Name: "far", Address: "b:1"}}
		}, `providers[1].name: "far" is there twice`},
		{"an effect of no class", provider(func(p *ProviderConfig) { p.Tools = map[string]TrustConfig{"x": {Effect: "none"}} }), "providers[0].tools.x.effect"},
		{"a sink of no class", provider(func(p *ProviderConfig) { p.Tools = map[string]TrustConfig{"x": {Sink: "none"}} }), "providers[0].tools.x.sink"},
		{"a tool that is vouched for", provider(func(p *ProviderConfig) {
			p.Tools = map[string]TrustConfig{"x": {Effect: "pure", Sink: "read", Trusted: true}}
		}), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			c.set(&cfg)
			err := cfg.Validate()
			if c.words == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%v does not name %s", err, c.words)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("a key is shown: %v", err)
			}
		})
	}
}

func TestTheDefaultModelIsOneOfTheModels(t *testing.T) {
	two := []ModelConfig{{ID: "a", APIURL: "http://127.0.0.1:1"}, {ID: "b", Name: "Bee", APIURL: "http://127.0.0.1:1", ContextWindow: 8000}}
	cases := []struct {
		name   string
		models []ModelConfig
		def    string
		want   string
	}{
		{"named", two, "b", "b"},
		{"named by nobody", two, DefaultModelID, "a"},
		{"left empty", two, "", "a"},
		{"without models", nil, "b", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := newModels(Config{Models: c.models, DefaultModel: c.def}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer m.close()
			if m.Default() != c.want || len(m.IDs()) != len(c.models) {
				t.Errorf("default %q of %v", m.Default(), m.IDs())
			}
			for _, w := range m.wire {
				if w.IsDefault != (w.Id == c.want) {
					t.Errorf("%v", w)
				}
			}
			if _, ok := m.Model("none"); ok {
				t.Error("a model that nobody has")
			}
		})
	}
	m, err := newModels(Config{Models: two}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if a, _ := m.Model("a"); a.ContextWindow != 128_000 || a.Name != "a" || a.Provider != "127.0.0.1" {
		t.Errorf("%+v", a)
	}
	if w := m.wire[1]; w.Name != "Bee" || w.ContextWindow != 8000 {
		t.Errorf("%v", w)
	}
}
