// Package registry knows the tools of all providers. The orchestrator never
// learns a tool: everything that it knows of one comes from the provider's own
// ListTools and from the configuration.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

const (
	// refreshEvery is how often providers are asked for changes.
	refreshEvery = 30 * time.Second
	// retryEvery is how often providers are asked that have not answered yet:
	// they may just be starting.
	retryEvery = 2 * time.Second
	// listTimeout bounds one question.
	listTimeout = 5 * time.Second
	// maxTools bounds a provider's list.
	maxTools = 256
)

// Provider is somebody who has tools.
type Provider struct {
	// Name of the provider, which no other has; a foreign one's tools are
	// <name>__<tool>.
	Name   string
	Client toolv1.ToolProviderServiceClient
	// Foreign providers are not ours: whatever they claim, their tools are
	// opaque, writing and untrusted until Trust says less, and the names of
	// our tools stay ours.
	Foreign bool
	// Remote providers are in another process, which may come later or be away
	// for a while.
	Remote bool
	// Trust is by the provider's own names of its tools.
	Trust map[string]Trust
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

func (p Policy) enabled(t *Tool) bool {
	if len(p.Enabled) == 0 {
		return !t.Provider.Foreign && t.Sink == "read"
	}
	return slices.Contains(p.Enabled, t.Name) || slices.Contains(p.Enabled, "*")
}

func (p Policy) asks(t *Tool) bool {
	return (t.Sink == "write" || t.Sink == "exec") && !slices.Contains(p.AutoApprove, t.Name)
}

// names are the tools that the policy names.
func (p Policy) names() []string {
	names := slices.Concat(p.Enabled, p.AutoApprove)
	for name := range p.Timeouts {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "*" })
}

// Registry keeps the snapshot fresh.
type Registry struct {
	providers []*Provider
	policy    Policy
	log       *slog.Logger
	current   atomic.Pointer[Snapshot]

	mu    sync.Mutex // one refresh at a time
	lists map[*Provider][]*Tool
	said  map[*Provider]string // the last warning about a provider
}

// New makes a registry without tools; Load fills it.
func New(providers []*Provider, policy Policy, log *slog.Logger) *Registry {
	r := &Registry{providers: providers, policy: policy, log: log, lists: map[*Provider][]*Tool{}, said: map[*Provider]string{}}
	r.current.Store(&Snapshot{})
	return r
}

// Snapshot is the tools as they are now.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Load asks every provider. A provider of this process that does not answer, a
// tool of our own that does not fit the contract and a name that is taken are
// errors. A provider elsewhere that does not answer is asked again later, and a
// foreign tool that does not fit is left out.
func (r *Registry) Load(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, got := range r.ask(ctx, r.providers) {
		p := r.providers[i]
		switch {
		case got.err == nil:
			r.lists[p] = got.tools
			r.warn(ctx, p, "tools of a provider were refused", got.refused)
		case p.Foreign || p.Remote:
			r.warn(ctx, p, "tool provider does not answer; it is asked again", got.err)
		default:
			return fmt.Errorf("tools of %s: %w", p.Name, got.err)
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
	refresh := time.NewTicker(refreshEvery)
	defer refresh.Stop()
	retry := time.NewTicker(retryEvery)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-refresh.C:
			r.refresh(ctx, r.providers)
		case <-retry.C:
			r.refresh(ctx, r.silent())
		}
	}
}

// silent are the providers that have not answered yet.
func (r *Registry) silent() []*Provider {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.providers), func(p *Provider) bool {
		_, answered := r.lists[p]
		return answered
	})
}

// refresh asks providers again. What cannot be had, or does not fit, stays as it
// was.
func (r *Registry) refresh(ctx context.Context, providers []*Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, got := range r.ask(ctx, providers) {
		if ctx.Err() != nil {
			return
		}
		p := providers[i]
		if got.err != nil {
			r.warn(ctx, p, "tools of a provider are not known anew; they stay as they were", got.err)
			continue
		}
		before := r.lists[p]
		r.lists[p] = got.tools
		s, err := r.build()
		if err != nil {
			r.lists[p] = before
			r.warn(ctx, p, "new tools of a provider were refused; they stay as they were", err)
			continue
		}
		r.warn(ctx, p, "tools of a provider were refused", got.refused)
		r.current.Store(s)
	}
}

// warn says what is wrong with a provider, once: it is asked all the time.
func (r *Registry) warn(ctx context.Context, p *Provider, message string, err error) {
	if err == nil {
		delete(r.said, p)
		return
	}
	if text := message + err.Error(); r.said[p] != text {
		r.said[p] = text
		r.log.WarnContext(ctx, message, "provider", p.Name, "error", err)
	}
}

func (r *Registry) build() (*Snapshot, error) {
	s := &Snapshot{byName: map[string]*Tool{}}
	for _, p := range r.providers {
		for _, t := range r.lists[p] {
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

// misnamed are the tools that the configuration names and nobody has, each with
// the one that may be meant. Those of a provider that has not answered yet are
// not among them.
func (r *Registry) misnamed(s *Snapshot) []string {
	named := r.policy.names()
	silent := func(string) bool { return false }
	for _, p := range r.providers {
		prefix, rest := p.prefix(), silent
		if _, answered := r.lists[p]; !answered {
			silent = func(name string) bool { return strings.HasPrefix(name, prefix) || rest(name) }
		}
		for tool := range p.Trust {
			named = append(named, prefix+tool)
		}
	}
	slices.Sort(named)
	named = slices.DeleteFunc(slices.Compact(named), func(name string) bool { return s.Get(name) != nil || silent(name) })
	var there []string
	for _, t := range s.All() {
		there = append(there, t.Name)
	}
	for i, name := range named {
		if meant := spelling.Nearest(name, there); meant != "" {
			named[i] = fmt.Sprintf("%s (did you mean %s?)", name, meant)
		}
	}
	return named
}

// list is what a provider answered.
type list struct {
	tools   []*Tool
	refused error // of single tools, which were left out
	err     error
}

// ask asks providers at the same time.
func (r *Registry) ask(ctx context.Context, providers []*Provider) []list {
	out := make([]list, len(providers))
	var wg sync.WaitGroup
	for i, p := range providers {
		wg.Go(func() { out[i] = r.list(ctx, p) })
	}
	wg.Wait()
	return out
}

func (r *Registry) list(ctx context.Context, p *Provider) list {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	res, err := p.Client.ListTools(ctx, &toolv1.ListToolsRequest{})
	if err != nil {
		return list{err: err}
	}
	if len(res.Tools) > maxTools {
		return list{err: fmt.Errorf("%d tools; at most %d are taken", len(res.Tools), maxTools)}
	}
	var out list
	for _, wire := range res.Tools {
		t, err := r.policy.tool(p, wire)
		if err != nil {
			out.refused = errors.Join(out.refused, fmt.Errorf("tool %q: %w", wire.Name, err))
			continue
		}
		out.tools = append(out.tools, t)
	}
	if out.refused != nil && !p.Foreign {
		return list{err: out.refused}
	}
	return out
}
