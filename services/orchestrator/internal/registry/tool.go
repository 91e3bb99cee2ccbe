package registry

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// DefaultTimeout is for tools that name none.
	DefaultTimeout = 15 * time.Second
	// MaxTimeout bounds what a provider or the configuration may ask for.
	MaxTimeout = 10 * time.Minute
	// maxDescription is what a description may have of characters: it is in
	// every prompt.
	maxDescription = 4096
)

// Tool is a registered tool.
type Tool struct {
	Name        string // by which it is called
	RemoteName  string // by which its provider knows it
	Provider    *Provider
	Title       string
	Description string
	// Parameters and Schema are the JSON Schema of the arguments, which is of
	// an object.
	Parameters json.RawMessage
	Schema     *structpb.Struct
	Validator  *toolkit.Validator
	Effect     string
	Sink       string
	Polling    bool
	Untrusted  bool
	Kind       string
	Timeout    time.Duration
	Version    string
	Enabled    bool
	// Asks says that a person must approve each call.
	Asks bool
}

// Trust lowers what is assumed of a foreign tool. Empty fields change nothing.
type Trust struct {
	Effect string
	Sink   string
	// Trusted says that the tool's results may be taken for its owner's words.
	Trusted bool
}

// The classes of tools, from the harmless to the risky.
var (
	effects = []string{"pure", "keyed", "queryable", "opaque"}
	sinks   = []string{"read", "egress", "write", "exec"}
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// tool checks what a provider says of a tool.
func (p Policy) tool(from *Provider, w *toolv1.Tool) (*Tool, error) {
	t := &Tool{
		Name: from.prefix() + w.Name, RemoteName: w.Name, Provider: from, Title: w.Title, Description: w.Description,
		Effect: w.Effect, Sink: w.Sink, Polling: w.Polling, Untrusted: w.OutputUntrusted, Kind: w.ResultKind, Version: w.Version,
		Timeout: DefaultTimeout,
	}
	if from.Foreign {
		t.distrust(from.Trust[w.Name])
	}
	switch {
	case !validName.MatchString(t.Name):
		return nil, fmt.Errorf("its name %q is not 1 to 64 letters, digits, _ and -", t.Name)
	case t.Description == "" || utf8.RuneCountInString(t.Description) > maxDescription:
		return nil, fmt.Errorf("it needs a description of 1 to %d characters", maxDescription)
	case !slices.Contains(effects, t.Effect):
		return nil, fmt.Errorf("effect %q is none of %s", t.Effect, strings.Join(effects, ", "))
	case !slices.Contains(sinks, t.Sink):
		return nil, fmt.Errorf("sink %q is none of %s", t.Sink, strings.Join(sinks, ", "))
	}
	if err := t.parameters(w.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if d := w.DefaultTimeout.AsDuration(); w.DefaultTimeout != nil && d > 0 {
		t.Timeout = min(d, MaxTimeout)
	}
	if d, ok := p.Timeouts[t.Name]; ok {
		t.Timeout = d
	}
	t.Enabled, t.Asks = p.enabled(t), p.asks(t)
	return t, nil
}

func (p *Provider) prefix() string {
	if p.Foreign {
		return p.Name + "__"
	}
	return ""
}

// distrust makes a foreign tool as risky as anything may be, but for what the
// configuration lowers. Its own claims only raise the risk.
func (t *Tool) distrust(trust Trust) {
	t.Effect = riskier(effects, t.Effect, trust.Effect, "opaque")
	t.Sink = riskier(sinks, t.Sink, trust.Sink, "write")
	t.Untrusted = t.Untrusted || !trust.Trusted
}

// riskier is what a tool claims or what the configuration says of it, else what
// is assumed: whichever is the more risky. A claim that is no class is none.
func riskier(classes []string, claimed, configured, assumed string) string {
	if configured == "" {
		configured = assumed
	}
	if slices.Index(classes, claimed) > slices.Index(classes, configured) {
		return claimed
	}
	return configured
}

// parameters takes over the schema of the arguments. Models are told that it is
// of an object also where it leaves that out: providers refuse a request with a
// tool whose schema does not say so.
func (t *Tool) parameters(wire *structpb.Struct) (err error) {
	if t.Validator, err = toolkit.NewValidatorStruct(wire); err != nil {
		return err
	}
	schema := wire.AsMap()
	if _, isText := schema["type"].(string); !isText {
		schema["type"] = "object"
	}
	if schema["properties"] == nil {
		schema["properties"] = map[string]any{}
	}
	if t.Schema, err = structpb.NewStruct(schema); err != nil {
		return err
	}
	t.Parameters, err = json.Marshal(schema) // the same text each time, so that prompts can be cached
	return err
}
