// Package registry knows the tools of all providers. The orchestrator never
// learns a tool: everything that it knows of one comes from the provider's own
// ListTools and from the configuration.
package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// DefaultTimeout is for tools that name none.
	DefaultTimeout = 15 * time.Second
	// maxTimeout bounds what a provider may ask for.
	maxTimeout = 10 * time.Minute
	// refreshEvery is how often providers are asked for changes.
	refreshEvery = 30 * time.Second
	// listTimeout bounds one question.
	listTimeout = 5 * time.Second
	// maxTools bounds a provider's list.
	maxTools = 256
)

// Provider is somebody who has tools.
type Provider struct {
	// Name of the provider; a foreign one's tools are <name>__<tool>.
	Name   string
	Client toolv1.ToolProviderServiceClient
	// Foreign providers are not ours: whatever they claim, their tools are
	// opaque, writing and untrusted until Trust says less, and the names of
	// our tools stay ours.
	Foreign bool
	Trust   map[string]Trust
}

// Trust lowers what is assumed of a foreign tool. Empty fields change nothing.
type Trust struct {
	Effect string
	Sink   string
	// Trusted says that the tool's results may be taken for its owner's words.
	Trusted bool
}

// Policy is what the configuration says about tools.
type Policy struct {
	// Enabled tools, by name; "*" stands for all. Empty: all tools of our own
	// that only read.
	Enabled []string
	// AutoApprove names tools that write or run code without asking.
	AutoApprove []string
	// Timeouts by name of the tool.
	Timeouts map[string]time.Duration
}

// Tool is a registered tool.
type Tool struct {
	Name        string // by which it is called
	RemoteName  string // by which its provider knows it
	Provider    *Provider
	Title       string
	Description string
	Parameters  json.RawMessage
	Schema      *structpb.Struct
	Validator   *toolkit.Validator
	Effect      string
	Sink        string
	Polling     bool
	Untrusted   bool
	Kind        string
	Timeout     time.Duration
	Version     string
	Enabled     bool
	// Asks says that a person must approve each call.
	Asks bool
}

// Snapshot is the registered tools at one moment. It never changes.
type Snapshot struct {
	byName map[string]*Tool
	all    []*Tool
}

// Get is the tool with the name, or nil. Names are compared letter by letter.
func (s *Snapshot) Get(name string) *Tool { return s.byName[name] }

// All are the tools by name.
func (s *Snapshot) All() []*Tool { return s.all }

// EnabledNames are the names of the tools that may be called.
func (s *Snapshot) EnabledNames() []string {
	var names []string
	for _, t := range s.all {
		if t.Enabled {
			names = append(names, t.Name)
		}
	}
	return names
}

// Near are enabled tools whose names look like the one given, at most three.
func (s *Snapshot) Near(name string) []string {
	plain := func(s string) string {
		return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(s))
	}
	want := plain(name)
	var near []string
	for _, n := range s.EnabledNames() {
		p := plain(n)
		if p == want || (len(want) > 3 && (strings.Contains(p, want) || strings.Contains(want, p))) {
			near = append(near, n)
		}
	}
	return near[:min(len(near), 3)]
}

// Registry keeps the snapshot fresh.
type Registry struct {
	providers []*Provider
	policy    Policy
	log       *slog.Logger
	current   atomic.Pointer[Snapshot]

	mu    sync.Mutex // one refresh at a time
	lists map[string][]*Tool
}

// New makes a registry without tools; Load fills it.
func New(providers []*Provider, policy Policy, log *slog.Logger) *Registry {
	r := &Registry{providers: providers, policy: policy, log: log, lists: map[string][]*Tool{}}
	r.current.Store(&Snapshot{})
	return r
}

// Snapshot is the tools as they are now.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Load asks every provider. A provider of our own that does not answer, a tool
// that does not fit the contract and a name that is taken are errors; a foreign
// provider that does not answer is asked again later.
func (r *Registry) Load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.providers {
		list, err := r.list(ctx, p)
		switch {
		case err == nil:
			r.lists[p.Name] = list
		case p.Foreign:
			r.log.WarnContext(ctx, "tool provider does not answer; it is asked again", "provider", p.Name, "error", err)
		default:
			return fmt.Errorf("tools of %s: %w", p.Name, err)
		}
	}
	s, err := r.build()
	if err != nil {
		return err
	}
	if missing := r.misnamed(s); len(missing) > 0 {
		r.log.WarnContext(ctx, "the configuration names tools that nobody has", "tools", missing)
	}
	r.current.Store(s)
	return nil
}

// Run refreshes until ctx ends.
func (r *Registry) Run(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.refresh(ctx)
		}
	}
}

// refresh asks again. What cannot be had, or does not fit, stays as it was.
func (r *Registry) refresh(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.providers {
		list, err := r.list(ctx, p)
		if err != nil {
			r.log.WarnContext(ctx, "tool provider does not answer", "provider", p.Name, "error", err)
			continue
		}
		before := r.lists[p.Name]
		r.lists[p.Name] = list
		s, err := r.build()
		if err != nil {
			r.lists[p.Name] = before
			r.log.WarnContext(ctx, "new tools of a provider were refused", "provider", p.Name, "error", err)
			continue
		}
		r.current.Store(s)
	}
}

func (r *Registry) build() (*Snapshot, error) {
	s := &Snapshot{byName: map[string]*Tool{}}
	for _, p := range r.providers {
		for _, t := range r.lists[p.Name] {
			if other := s.byName[t.Name]; other != nil {
				return nil, fmt.Errorf("tool %s is offered by %s and by %s; rename one of them", t.Name, other.Provider.Name, p.Name)
			}
			s.byName[t.Name] = t
			s.all = append(s.all, t)
		}
	}
	slices.SortFunc(s.all, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func (r *Registry) misnamed(s *Snapshot) []string {
	var out []string
	for _, name := range slices.Concat(r.policy.Enabled, r.policy.AutoApprove) {
		if name != "*" && s.Get(name) == nil && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (r *Registry) list(ctx context.Context, p *Provider) ([]*Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	res, err := p.Client.ListTools(ctx, &toolv1.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	if len(res.Tools) > maxTools {
		return nil, fmt.Errorf("%d tools; at most %d are taken", len(res.Tools), maxTools)
	}
	tools := make([]*Tool, 0, len(res.Tools))
	for _, wire := range res.Tools {
		t, err := r.tool(p, wire)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", wire.Name, err)
		}
		tools = append(tools, t)
	}
	return tools, nil
}

var (
	effects = []string{"pure", "keyed", "queryable", "opaque"}
	sinks   = []string{"read", "egress", "write", "exec"}
)

func (r *Registry) tool(p *Provider, w *toolv1.Tool) (*Tool, error) {
	t := &Tool{
		Name: w.Name, RemoteName: w.Name, Provider: p, Title: w.Title, Description: w.Description, Schema: w.Parameters,
		Effect: w.Effect, Sink: w.Sink, Polling: w.Polling, Untrusted: w.OutputUntrusted, Kind: w.ResultKind, Version: w.Version,
		Timeout: DefaultTimeout,
	}
	if p.Foreign {
		t.distrust(p)
	}
	switch {
	case !validName(t.Name):
		return nil, errors.New("names are 1 to 64 letters, digits, _ and -")
	case !slices.Contains(effects, t.Effect):
		return nil, fmt.Errorf("effect %q is none of %s", t.Effect, strings.Join(effects, ", "))
	case !slices.Contains(sinks, t.Sink):
		return nil, fmt.Errorf("sink %q is none of %s", t.Sink, strings.Join(sinks, ", "))
	}
	var err error
	if t.Validator, err = toolkit.NewValidatorStruct(w.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if t.Parameters, err = parameters(w.Parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	if d := w.DefaultTimeout.AsDuration(); w.DefaultTimeout != nil && d > 0 {
		t.Timeout = min(d, maxTimeout)
	}
	if d, ok := r.policy.Timeouts[t.Name]; ok {
		t.Timeout = d
	}
	t.Enabled, t.Asks = r.policy.enabled(t), r.policy.asks(t)
	return t, nil
}

// distrust makes a foreign tool as risky as anything may be, but for what the
// configuration lowers. Its own claims only raise the risk.
func (t *Tool) distrust(p *Provider) {
	trust := p.Trust[t.RemoteName]
	t.Name = p.Name + "__" + t.RemoteName
	t.Effect = cmp.Or(trust.Effect, "opaque")
	claimed := t.Sink
	t.Sink = cmp.Or(trust.Sink, "write")
	if claimed == "exec" {
		t.Sink = "exec"
	}
	t.Untrusted = t.Untrusted || !trust.Trusted
}

func (p Policy) enabled(t *Tool) bool {
	if len(p.Enabled) == 0 {
		return !t.Provider.Foreign && t.Sink == "read"
	}
	return slices.Contains(p.Enabled, t.Name) || slices.Contains(p.Enabled, "*")
}

func (p Policy) asks(t *Tool) bool {
	return (t.Sink == "write" || t.Sink == "exec") && !slices.Contains(p.AutoApprove, t.Name)
}

func parameters(s *structpb.Struct) (json.RawMessage, error) {
	if s == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	b, err := protojson.Marshal(s)
	if err != nil {
		return nil, err
	}
	var any map[string]any // encoding/json writes it the same way each time
	if err := json.Unmarshal(b, &any); err != nil {
		return nil, err
	}
	return json.Marshal(any)
}

func validName(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
