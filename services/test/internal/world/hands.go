package world

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// Hands is a tool provider of somebody else, in the test's process, so that it
// outlives the suite. Its tools count their effects:
//
//	tally   keyed: one more for the name
//	note    opaque: the same
//	look    pure: tells the count
//	recite  pure: tells the name 10,000 times, more than is kept beside a call
//
// A call for a name that Hold names has its effect and then waits.
type Hands struct {
	Addr string

	mu     sync.Mutex
	counts map[string]int
	held   map[string]*Held
}

// Held is a name whose calls wait.
type Held struct {
	// Entered receives when a call has had its effect.
	Entered chan struct{}
	release chan struct{}
	once    sync.Once
}

// Release lets every call for the name go on.
func (h *Held) Release() { h.once.Do(func() { close(h.release) }) }

type handsInput struct {
	Name string `json:"name" jsonschema:"what is counted"`
}

// StartHands starts the provider and adds it to the world's configuration as
// "hands", with its tools turned on beside those that only read.
func (w *World) StartHands(t testing.TB) *Hands {
	t.Helper()
	h := &Hands{counts: map[string]int{}, held: map[string]*Held{}}
	p := toolkit.New(toolkit.Config{Name: "hands", KeyStore: toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})})
	add := func(name string, effect toolkit.Effect, sink toolkit.Sink, run func(context.Context, *toolkit.Call, handsInput) (toolkit.Result, error)) {
		err := toolkit.Add(p, toolkit.Tool{Name: name, Description: "Counts: " + name + ".", Effect: effect, Sink: sink, Timeout: time.Minute}, run)
		if err != nil {
			t.Fatal(err)
		}
	}
	add("tally", toolkit.EffectKeyed, toolkit.SinkWrite, h.count)
	add("note", toolkit.EffectOpaque, toolkit.SinkWrite, h.count)
	add("look", toolkit.EffectPure, toolkit.SinkRead, h.look)
	add("recite", toolkit.EffectPure, toolkit.SinkRead, recite)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.Addr = lis.Addr().String()
	server := grpc.NewServer()
	p.Register(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	t.Cleanup(func() {
		server.Stop()
		_ = p.Close()
		<-served
	})
	w.Config.Providers = append(w.Config.Providers, orchestrator.ProviderConfig{
		Name: "hands", Address: h.Addr,
		Tools: map[string]orchestrator.TrustConfig{"tally": {Effect: "keyed"}, "look": {Effect: "pure", Sink: "read"}, "recite": {Effect: "pure", Sink: "read"}},
	})
	w.Config.Tools.Enabled = append(w.Config.Tools.Enabled, "*")
	w.Config.Tools.AutoApprove = append(w.Config.Tools.AutoApprove, "hands__tally", "hands__note")
	return h
}

// Hold makes calls for the name wait after their effect.
func (h *Hands) Hold(name string) *Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := &Held{Entered: make(chan struct{}, 16), release: make(chan struct{})}
	h.held[name] = held
	return held
}

// Count is how often the effect for a name was had.
func (h *Hands) Count(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts[name]
}

func (h *Hands) count(ctx context.Context, _ *toolkit.Call, in handsInput) (toolkit.Result, error) {
	h.mu.Lock()
	h.counts[in.Name]++
	n, held := h.counts[in.Name], h.held[in.Name]
	h.mu.Unlock()
	if held != nil {
		held.Entered <- struct{}{}
		select {
		case <-held.release:
		case <-ctx.Done():
			return toolkit.Result{}, ctx.Err()
		}
	}
	return toolkit.JSON(map[string]any{"success": true, "name": in.Name, "count": n}), nil
}

func (h *Hands) look(_ context.Context, _ *toolkit.Call, in handsInput) (toolkit.Result, error) {
	return toolkit.JSON(map[string]any{"success": true, "name": in.Name, "count": h.Count(in.Name)}), nil
}

func recite(_ context.Context, _ *toolkit.Call, in handsInput) (toolkit.Result, error) {
	return toolkit.JSON(map[string]any{"success": true, "text": strings.Repeat(in.Name+" ", 10_000)}), nil
}
