package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// reply is one model call.
type reply func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error)

// Model makes an engine its own models: there is "m", and those of the world.
func (e *engine) Model(id string) (Model, bool) {
	m, ok := e.w.models[id]
	if !ok && id != "m" {
		return Model{}, false
	}
	m.ID, m.Name, m.Streamer = id, id, scripted{e, id}
	if m.ContextWindow == 0 {
		m.ContextWindow = 128_000
	}
	return m, true
}

// callerKey has the engine that makes a model call.
type callerKey struct{}

// scripted is a model of an engine. It plays the world's script.
type scripted struct {
	*engine
	id string
}

func (s scripted) Stream(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
	return s.w.stream(context.WithValue(ctx, callerKey{}, s.engine), s.id, req, yield)
}

// stream plays the reply for the round that the request asks for. Every request
// must be one that a strict provider takes.
func (w *world) stream(ctx context.Context, model string, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
	if err := strict(req); err != nil {
		w.t.Errorf("a strict provider refuses the request: %v", err)
	}
	round := 0
	for _, m := range req.Messages {
		switch m.Role {
		case provider.RoleUser:
			round = 0
		case provider.RoleAssistant:
			round++
		}
	}
	var r reply
	w.mu.Lock()
	if req.Messages[0].Content == correctorRules {
		w.corrections = append(w.corrections, req)
		r = w.corrector
	} else {
		w.requests, w.asked = append(w.requests, req), append(w.asked, model)
		script := w.script
		if own, ok := w.scripts[model]; ok {
			script = own
		}
		if round < len(script) {
			r = script[round]
		}
	}
	w.mu.Unlock()
	if r == nil {
		return provider.Response{}, &provider.Error{Kind: provider.KindBadRequest, Message: fmt.Sprintf("nothing is scripted for round %d", round)}
	}
	return r(ctx, req, yield)
}

// strict refuses what strict providers refuse.
func strict(req provider.Request) error {
	var open []string
	for i, m := range req.Messages {
		switch {
		case len(open) > 0 && (m.Role != provider.RoleTool || m.CallID != open[0]):
			return fmt.Errorf("message %d is %s %q, want the result of call %s", i, m.Role, m.CallID, open[0])
		case len(open) == 0 && m.Role == provider.RoleTool:
			return fmt.Errorf("message %d is a result without a call", i)
		case m.Content == "" && len(m.Calls) == 0:
			return fmt.Errorf("message %d (%s) is empty", i, m.Role)
		case i > 0 && m.Role == provider.RoleUser && req.Messages[i-1].Role == provider.RoleUser:
			return fmt.Errorf("message %d: the user speaks twice in a row", i)
		}
		if m.Role == provider.RoleTool {
			open = open[1:]
		}
		for _, c := range m.Calls {
			if !json.Valid([]byte(c.Arguments)) {
				return fmt.Errorf("arguments of call %s are not JSON: %s", c.ID, c.Arguments)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without a result: %v", open)
	}
	return nil
}

// say answers with a text, in pieces.
func say(text string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		for _, p := range strings.SplitAfter(text, " ") {
			if p == "" {
				continue
			}
			if err := yield(provider.Delta{Kind: provider.Text, Text: p}); err != nil {
				return provider.Response{}, err
			}
		}
		return provider.Response{Text: text, Finish: provider.FinishStop, Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}, nil
	}
}

// call makes tool calls, told as "name {arguments}".
func call(calls ...string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp := provider.Response{Finish: provider.FinishToolCalls, Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}
		for i, c := range calls {
			name, args, _ := strings.Cut(c, " ")
			if args == "" {
				args = "{}"
			}
			id := fmt.Sprintf("c%d_%d", len(req.Messages), i)
			if err := yield(provider.Delta{Kind: provider.CallPiece, Call: provider.CallFragment{Ordinal: i, ID: id, Name: name, Arguments: args}}); err != nil {
				return resp, err
			}
			resp.Calls = append(resp.Calls, provider.Call{ID: id, Name: name, Arguments: args})
		}
		return resp, nil
	}
}

// fail breaks off after a text.
func fail(text string, err *provider.Error) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp, _ := say(text)(ctx, req, yield)
		if text == "" {
			resp = provider.Response{}
		}
		return resp, err
	}
}

// hang writes a text and then nothing until the call is given up.
func hang(text string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp, _ := say(text)(ctx, req, yield)
		<-ctx.Done()
		return resp, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: ctx.Err()}
	}
}

// tries plays one reply after another, one for each time it is called.
func tries(replies ...reply) reply {
	var mu sync.Mutex
	n := 0
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		mu.Lock()
		r := replies[min(n, len(replies)-1)]
		n++
		mu.Unlock()
		return r(ctx, req, yield)
	}
}

// lastPrompt are the messages of the newest request, in short.
func (w *world) lastPrompt() []provider.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[len(w.requests)-1].Messages[len(prompt.System("")):]
}
