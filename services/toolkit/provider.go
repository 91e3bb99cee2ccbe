package toolkit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// Provider serves tools. Make one with [New], fill it with [Add].
type Provider struct {
	toolv1.UnimplementedToolProviderServiceServer

	cfg Config

	mu     sync.Mutex
	tools  map[string]*tool
	live   map[Key]*running      // calls that outlive their stream, by key
	all    map[*running]struct{} // every call without an outcome
	active int                   // tools at work, also those that do not stop
	closed bool
	calls  sync.WaitGroup // every call without an outcome
}

var _ toolv1.ToolProviderServiceServer = (*Provider)(nil)

// New makes a provider without tools.
func New(cfg Config) *Provider {
	return &Provider{
		cfg:   cfg.withDefaults(),
		tools: map[string]*tool{},
		live:  map[Key]*running{},
		all:   map[*running]struct{}{},
	}
}

// Register makes a gRPC server serve the tools.
func (p *Provider) Register(r grpc.ServiceRegistrar) {
	toolv1.RegisterToolProviderServiceServer(r, p)
}

// Close refuses new calls, cancels the running ones and waits until each has an
// outcome; a tool that does not stop is waited for no longer than a second.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	for r := range p.all {
		r.cancel(errShutdown)
	}
	p.mu.Unlock()
	p.calls.Wait()
	return nil
}

func (p *Provider) add(t *tool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := t.info.GetName()
	if p.tools[name] != nil {
		return fmt.Errorf("toolkit: adding tool %q: the provider has a tool of this name", name)
	}
	p.tools[name] = t
	return nil
}

func (p *Provider) tool(name string) (*tool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tools[name]; t != nil {
		return t, nil
	}
	return nil, StatusError(codes.NotFound, ReasonToolNotFound, "there is no tool %q", clip(name))
}

// ListTools implements the contract: every tool, by name.
func (p *Provider) ListTools(context.Context, *toolv1.ListToolsRequest) (*toolv1.ListToolsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &toolv1.ListToolsResponse{}
	for _, name := range slices.Sorted(maps.Keys(p.tools)) {
		out.Tools = append(out.Tools, p.tools[name].info)
	}
	return out, nil
}

// CallTool implements the contract.
func (p *Provider) CallTool(req *toolv1.CallToolRequest, stream callStream) error {
	ctx := stream.Context()
	t, err := p.tool(req.GetName())
	if err != nil {
		return err
	}
	if err := p.checkLease(ctx); err != nil {
		return err
	}
	if err := checkEffectKey(req.GetEffectKey(), t.effect.outlives()); err != nil {
		return err
	}
	canonical, changes, err := t.validator.Check([]byte(req.GetArgumentsJson()))
	if err != nil {
		return send(stream, finished(Fail(ReasonInvalidArguments, err.Error(), false)))
	}
	r, err := p.start(ctx, t, &Call{
		Name:          req.GetName(),
		EffectKey:     req.GetEffectKey(),
		ArgumentsJSON: string(canonical),
		Changes:       changes,
		Conversation:  firstMetadata(ctx, MetadataConversation),
	})
	if err != nil {
		return err
	}
	return watch(stream, r)
}

// GetCall implements the contract. A result over 3 MiB is left out, since it
// does not fit one message; CallTool with the same key streams it.
func (p *Provider) GetCall(ctx context.Context, req *toolv1.GetCallRequest) (*toolv1.GetCallResponse, error) {
	if err := checkEffectKey(req.GetEffectKey(), true); err != nil {
		return nil, err
	}
	key := Key{p.cfg.Caller(ctx), req.GetName(), req.GetEffectKey()}
	p.mu.Lock()
	live := p.live[key]
	p.mu.Unlock()
	if live != nil {
		return &toolv1.GetCallResponse{State: string(StateRunning)}, nil
	}
	if p.cfg.KeyStore == nil {
		return &toolv1.GetCallResponse{State: string(StateUnknown)}, nil
	}
	rec, err := p.cfg.KeyStore.Get(ctx, key)
	if err != nil {
		return nil, p.keyStoreFailed(ctx, key, err).Err()
	}
	out := &toolv1.GetCallResponse{State: string(rec.State)}
	if rec.Result != nil && len(rec.Result.ContentJSON) <= maxGetCallBytes {
		out.Result = rec.Result.proto()
	}
	return out, nil
}

// CancelCall implements the contract: it ends the call if it runs here.
func (p *Provider) CancelCall(ctx context.Context, req *toolv1.CancelCallRequest) (*toolv1.CancelCallResponse, error) {
	if err := checkEffectKey(req.GetEffectKey(), true); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.live[Key{p.cfg.Caller(ctx), req.GetName(), req.GetEffectKey()}]; r != nil {
		r.cancel(errCancelled)
	}
	return &toolv1.CancelCallResponse{}, nil
}

func checkEffectKey(key string, required bool) error {
	if required && key == "" || len(key) > maxEffectKeyBytes {
		return StatusError(codes.InvalidArgument, ReasonEffectKeyRequired,
			"effect_key of 1 to %d bytes is needed", maxEffectKeyBytes)
	}
	return nil
}

// checkLease refuses a call that arrives after the lease it was planned under.
func (p *Provider) checkLease(ctx context.Context) error {
	text := firstMetadata(ctx, MetadataNotAfter)
	if text == "" {
		return nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return StatusError(codes.InvalidArgument, ReasonBadNotAfter,
			"metadata %s must be unix milliseconds, got %q", MetadataNotAfter, clip(text))
	}
	if p.cfg.Now().After(time.UnixMilli(ms)) {
		return StatusError(codes.Aborted, ReasonLeaseExpired,
			"the time to start this call is over; nothing was done")
	}
	return nil
}

// start begins a call, or finds the running one of the same key.
func (p *Provider) start(ctx context.Context, t *tool, call *Call) (*running, error) {
	hash := Hash([]byte(call.ArgumentsJSON))
	key := Key{p.cfg.Caller(ctx), call.Name, call.EffectKey}
	timeout := t.timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(time.Until(deadline), p.cfg.MaxTimeout)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, shuttingDown().Err()
	}
	if t.effect.outlives() {
		if live := p.live[key]; live != nil {
			if live.argsHash != hash {
				return nil, keyReused().Err()
			}
			return live, nil
		}
		ctx = context.WithoutCancel(ctx)
	}
	if p.active >= p.cfg.MaxCalls {
		return nil, StatusError(codes.ResourceExhausted, ReasonTooManyCalls,
			"%d calls run already; try again later", p.cfg.MaxCalls)
	}
	ctx, stop := context.WithTimeoutCause(ctx, timeout, errTimeout)
	ctx, cancel := context.WithCancelCause(ctx)
	r := newRunning(hash, cancel)
	call.running = r
	p.active++
	p.calls.Add(1)
	p.all[r] = struct{}{}
	if t.effect.outlives() {
		p.live[key] = r
	}
	go func() {
		defer p.calls.Done()
		defer stop()
		defer cancel(nil)
		p.serve(ctx, t, call, key)
	}()
	return r, nil
}

// serve runs one call to its outcome.
func (p *Provider) serve(ctx context.Context, t *tool, call *Call, key Key) {
	var o outcome
	var returned <-chan struct{}
	if t.effect.outlives() {
		o, returned = p.runKeyed(ctx, t, call, key)
	} else {
		o, returned = p.runTool(ctx, t, call)
	}
	p.mu.Lock()
	delete(p.all, call.running)
	if t.effect.outlives() {
		delete(p.live, key)
	}
	p.mu.Unlock()
	p.release(returned)
	call.running.end(o)
}

// release frees the place of a call when its tool has returned, nil meaning it
// was never run. Few tools ignore the end of their context; those few hold
// their place until they are back.
func (p *Provider) release(returned <-chan struct{}) {
	free := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.active--
	}
	if returned == nil {
		free()
		return
	}
	select {
	case <-returned:
		free()
	default:
		go func() {
			<-returned
			free()
		}()
	}
}

var errNotRecorded = errors.New("the outcome of a call was not recorded")

// runKeyed runs a call whose key is recorded before and after.
func (p *Provider) runKeyed(ctx context.Context, t *tool, call *Call, key Key) (o outcome, returned <-chan struct{}) {
	if ctx.Err() != nil { // nothing is begun, so nothing is recorded
		return interrupted(ctx, t), nil
	}
	known, begun, err := p.begin(ctx, key, call.running.argsHash)
	if err != nil {
		return outcome{status: p.keyStoreFailed(ctx, key, err)}, nil
	}
	if !begun {
		return recall(known, call.running.argsHash), nil
	}
	o, returned = p.runTool(ctx, t, call)
	storing, stop := context.WithTimeout(context.WithoutCancel(ctx), keyStoreTimeout)
	defer stop()
	end := Record{State: o.state, ArgsHash: call.running.argsHash, Result: o.result}
	if err := p.cfg.KeyStore.Finish(storing, key, end); err != nil {
		p.cfg.Logger.ErrorContext(ctx, errNotRecorded.Error(),
			"tool", key.Tool, "effect_key", key.EffectKey, "state", o.state, "error", err)
	}
	return o, returned
}

func (p *Provider) begin(ctx context.Context, key Key, hash string) (Record, bool, error) {
	// Not the context of the call: a cancel must not leave open whether it began.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keyStoreTimeout)
	defer stop()
	return p.cfg.KeyStore.Begin(ctx, key, hash)
}
