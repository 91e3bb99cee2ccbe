package orchestrator

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
)

const (
	// defaultContextWindow is taken for a model that names none, in tokens.
	defaultContextWindow = 128_000
	minContextWindow     = 1_000
	maxContextWindow     = 1 << 30
	// maxModelID is the longest id of a model, in bytes.
	maxModelID = 128
)

// DefaultModelID is the default model as long as the configuration names none.
const DefaultModelID = "glm-5"

// Config is what the orchestrator can be told.
type Config struct {
	// Models that can be asked. Empty: everything but answering works.
	Models []ModelConfig `config:"models"`
	// DefaultModel answers where no model is named. When it is not among the
	// models and nobody chose it, the first model is taken.
	DefaultModel string `config:"default_model"`
	// Tools says which tools run and how.
	Tools ToolsConfig `config:"tools"`
	// Providers are tool providers of others.
	Providers []ProviderConfig `config:"providers"`
	// Runs bounds runs.
	Runs RunsConfig `config:"runs"`
}

// ModelConfig is one model.
type ModelConfig struct {
	// ID by which requests and default_model name it.
	ID string `config:"id"`
	// Name for people; the id when empty.
	Name string `config:"name"`
	// Model is how the provider calls it; the id when empty.
	Model string `config:"model"`
	// APIURL is the base address of a chat-completions API.
	APIURL string `config:"api_url"`
	// APIKey is sent as the endpoint wants it, mostly as a bearer token; empty for
	// local servers.
	APIKey config.Secret `config:"api_key"`
	// KeyOrigin is no setting: it says where APIKey came from, for the words of
	// an error. Whoever loads the configuration fills it in; zero: nothing is said.
	KeyOrigin config.SecretOrigin
	// ContextWindow in tokens, at least 1,000; 0: 128,000.
	ContextWindow int `config:"context_window"`
	// Timeout is the longest silence of the model, before its first byte and
	// between two bytes; 0: 2m before the first and 1m after it. A slow machine
	// with a long prompt may need more.
	Timeout time.Duration `config:"timeout"`
	// Headers are sent with every request.
	Headers map[string]string `config:"headers"`
	// Profile says what is particular about the endpoint: openai, azure, glm,
	// deepseek, qwen, kimi, mistral, gemini, openrouter, minimax, ollama, vllm,
	// sglang, or plain for none of them. A model behind a server that does not
	// read its answers for us has one of think-tags, think-open, hermes,
	// qwen-coder. Empty: by the address.
	Profile string `config:"profile"`
	// Thinking is on or off for models that can think before they answer; empty:
	// as the provider does by default. It is refused where the profile has no
	// switch for it.
	Thinking string `config:"thinking"`
	// ToolMode is native, by the protocol's tool calls, or prompted: the tools are
	// described in the prompt and calls are read from the text, for models without
	// tool calls. Empty: as the profile says, which is native for all of ours.
	ToolMode string `config:"tool_mode"`
	// Fallback are ids of models that are asked, in this order, where this one
	// cannot answer; theirs follow after them, and none is asked twice for one
	// answer. Empty: the run fails.
	Fallback []string `config:"fallback"`
}

// ToolsConfig is the policy for tools.
type ToolsConfig struct {
	// Enabled tools by name, "*" for all. Empty: all of our own that only read.
	// read_result always runs: cut results are read on with it.
	Enabled []string `config:"enabled"`
	// AutoApprove names tools that write or run code without asking a person.
	AutoApprove []string `config:"auto_approve"`
	// MaxIterations is how many rounds of one run may call tools.
	MaxIterations int `config:"max_iterations"`
	// Timeouts by name of the tool, over what its provider says.
	Timeouts map[string]time.Duration `config:"timeouts"`
}

// ProviderConfig is a tool provider of somebody else.
type ProviderConfig struct {
	// Name of the provider; its tools are <name>__<tool>.
	Name string `config:"name"`
	// Address of its gRPC server: host:port, or dns:///name:port for all replicas
	// behind a name.
	Address string `config:"address"`
	// Tools lowers what is assumed of its tools, by the provider's own name of
	// the tool: opaque, writing and untrusted.
	Tools map[string]TrustConfig `config:"tools"`
}

// TrustConfig is what the operator vouches for.
type TrustConfig struct {
	Effect  string `config:"effect"`
	Sink    string `config:"sink"`
	Trusted bool   `config:"trusted"`
}

// RunsConfig bounds runs.
type RunsConfig struct {
	// MaxTokens of an answer.
	MaxTokens int `config:"max_tokens"`
	// Timeout of a run.
	Timeout time.Duration `config:"timeout"`
	// PerUser runs of a user go on at once; Queued more may wait.
	PerUser int `config:"per_user"`
	Queued  int `config:"queued"`
	// PerProcess runs go on at once in one process.
	PerProcess int `config:"per_process"`
	// ParallelCalls of one answer are made at once.
	ParallelCalls int `config:"parallel_calls"`
}

// DefaultConfig has the values of the design.
func DefaultConfig() Config {
	e := engine.DefaultConfig()
	return Config{
		DefaultModel: DefaultModelID,
		Tools:        ToolsConfig{MaxIterations: e.MaxIterations},
		Runs: RunsConfig{
			MaxTokens: e.MaxTokens, Timeout: e.RunTimeout, PerUser: e.Limits.RunningPerUser, Queued: e.Limits.QueuedPerUser,
			PerProcess: e.MaxRuns, ParallelCalls: e.ParallelCalls,
		},
	}
}

func (c Config) engine() engine.Config {
	e := engine.DefaultConfig()
	e.MaxIterations = c.Tools.MaxIterations
	e.MaxTokens, e.RunTimeout, e.MaxRuns = c.Runs.MaxTokens, c.Runs.Timeout, c.Runs.PerProcess
	e.Limits.RunningPerUser, e.Limits.QueuedPerUser, e.ParallelCalls = c.Runs.PerUser, c.Runs.Queued, c.Runs.ParallelCalls
	return e
}

var providerName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// Validate names the first setting that cannot be.
func (c Config) Validate() error {
	if err := c.validateModels(); err != nil {
		return err
	}
	for _, n := range []struct {
		key        string
		value, low int
	}{
		{"tools.max_iterations", c.Tools.MaxIterations, 0}, {"runs.max_tokens", c.Runs.MaxTokens, 1}, {"runs.per_user", c.Runs.PerUser, 1},
		{"runs.queued", c.Runs.Queued, 0}, {"runs.per_process", c.Runs.PerProcess, 1}, {"runs.parallel_calls", c.Runs.ParallelCalls, 1},
	} {
		if n.value < n.low {
			return fmt.Errorf("%s: %d is too low; at least %d", n.key, n.value, n.low)
		}
	}
	if c.Runs.Timeout < time.Second {
		return fmt.Errorf("runs.timeout: %s is too short; at least 1s", c.Runs.Timeout)
	}
	if err := c.Tools.validate(); err != nil {
		return err
	}
	return c.validateProviders()
}

func (c Config) validateModels() error {
	seen := map[string]bool{}
	for i, m := range c.Models {
		at := fmt.Sprintf("models[%d]", i)
		switch {
		case m.ID == "":
			return fmt.Errorf("%s.id is empty: give the model an id", at)
		case len(m.ID) > maxModelID:
			return fmt.Errorf("%s.id has %d bytes; at most %d", at, len(m.ID), maxModelID)
		case seen[m.ID]:
			return fmt.Errorf("%s.id: %q is there twice", at, m.ID)
		case !isWebAddress(m.APIURL): // not shown: it may hold a key
			return fmt.Errorf("%s.api_url is not an http or https address, such as https://api.openai.com/v1", at)
		case m.ContextWindow != 0 && (m.ContextWindow < minContextWindow || m.ContextWindow > maxContextWindow):
			return fmt.Errorf("%s.context_window: %d is not between %d and %d tokens", at, m.ContextWindow, minContextWindow, maxContextWindow)
		case m.Timeout < 0:
			return fmt.Errorf("%s.timeout cannot be negative", at)
		}
		profile, err := provider.NamedProfile(m.Profile, m.APIURL)
		if err != nil {
			return fmt.Errorf("%s.profile: %w", at, err)
		}
		if err := profile.Check(provider.Thinking(m.Thinking), provider.ToolMode(m.ToolMode)); err != nil {
			return fmt.Errorf("%s.%w", at, err)
		}
		client, err := clientConfig(m)
		if err == nil {
			err = client.Validate()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		seen[m.ID] = true
	}
	for i, m := range c.Models {
		if err := validateFallback(m, seen); err != nil {
			return fmt.Errorf("models[%d].fallback%w", i, err)
		}
	}
	if len(c.Models) > 0 && c.DefaultModel != "" && c.DefaultModel != DefaultModelID && !seen[c.DefaultModel] {
		return fmt.Errorf("default_model: %q is not among the models", c.DefaultModel)
	}
	return nil
}

// validateFallback checks who answers in the place of a model. The error begins
// with the place in the list.
func validateFallback(m ModelConfig, known map[string]bool) error {
	for i, id := range m.Fallback {
		switch {
		case id == m.ID:
			return fmt.Errorf("[%d]: %q is the model itself; name another one", i, id)
		case !known[id]:
			return fmt.Errorf("[%d]: %q is not among the models", i, id)
		case slices.Index(m.Fallback, id) < i:
			return fmt.Errorf("[%d]: %q is there twice", i, id)
		}
	}
	return nil
}

func isWebAddress(s string) bool {
	u, err := url.Parse(strings.TrimSpace(s))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func (c ToolsConfig) validate() error {
	if slices.Contains(c.AutoApprove, "*") {
		return errors.New(`tools.auto_approve: "*" is not taken; name each tool that nobody is to be asked about`)
	}
	for name, d := range c.Timeouts {
		if d <= 0 || d > registry.MaxTimeout {
			return fmt.Errorf("tools.timeouts.%s: %s is not between 0 and %s", name, d, registry.MaxTimeout)
		}
	}
	return nil
}

func (c Config) validateProviders() error {
	seen := map[string]bool{}
	for i, p := range c.Providers {
		at := fmt.Sprintf("providers[%d]", i)
		switch {
		case !providerName.MatchString(p.Name):
			return fmt.Errorf("%s.name: %q must be small letters, digits and -, beginning with a letter", at, p.Name)
		case seen[p.Name]:
			return fmt.Errorf("%s.name: %q is there twice", at, p.Name)
		case p.Address == "":
			return fmt.Errorf("%s.address is empty: give host:port of the provider's gRPC server", at)
		}
		if err := rpc.CheckTarget(p.Address); err != nil {
			return fmt.Errorf("%s.address: %w", at, err)
		}
		seen[p.Name] = true
		for name, t := range p.Tools {
			if t.Effect != "" && !slices.Contains([]string{"pure", "keyed", "queryable", "opaque"}, t.Effect) {
				return fmt.Errorf("%s.tools.%s.effect: %q is none of pure, keyed, queryable, opaque", at, name, t.Effect)
			}
			if t.Sink != "" && !slices.Contains([]string{"read", "egress", "write", "exec"}, t.Sink) {
				return fmt.Errorf("%s.tools.%s.sink: %q is none of read, egress, write, exec", at, name, t.Sink)
			}
		}
	}
	return nil
}
