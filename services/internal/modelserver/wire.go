package modelserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// head is what every frame of an answer repeats.
type head struct{ ID, Model string }

func (h head) frame(object string, choices []any) map[string]any {
	return map[string]any{
		"id": h.ID, "object": object, "created": 0, "model": h.Model,
		"system_fingerprint": fingerprint, "choices": choices,
	}
}

func (u *Usage) wire() map[string]any {
	return map[string]any{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens,
		"total_tokens": u.PromptTokens + u.CompletionTokens,
	}
}

// stream writes an answer as server-sent events, each flushed at once.
type stream struct {
	head
	w         io.Writer
	flush     func() error
	withUsage bool
	spoken    bool
}

func newStream(w http.ResponseWriter, h head, withUsage bool) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Request-Id", h.ID)
	w.WriteHeader(http.StatusOK)
	s := &stream{head: h, w: w, flush: http.NewResponseController(w).Flush, withUsage: withUsage}
	_ = s.flush()
	return s
}

// delta sends one delta; the first also tells the role.
func (s *stream) delta(delta map[string]any, reason any) {
	if !s.spoken {
		s.spoken = true
		delta["role"] = "assistant"
	}
	s.send(s.frame("chat.completion.chunk", []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}))
}

func (s *stream) send(frame any) {
	data, err := json.Marshal(frame)
	if err != nil {
		return
	}
	s.raw("data: " + string(data) + "\n\n")
}

// raw writes bytes as they are. A client that left is noticed by its context.
func (s *stream) raw(bytes string) {
	_, _ = io.WriteString(s.w, bytes)
	_ = s.flush()
}

func (s *stream) text(piece string) { s.delta(map[string]any{"content": piece}, nil) }

func (s *stream) reasoning(piece string) {
	s.delta(map[string]any{"reasoning_content": piece}, nil)
}

func (s *stream) call(index int, id, name, arguments string) {
	fn := map[string]any{"arguments": arguments}
	call := map[string]any{"index": index, "function": fn}
	if name != "" {
		call["id"], call["type"], fn["name"] = id, "function", name
	}
	s.delta(map[string]any{"tool_calls": []any{call}}, nil)
}

func (s *stream) finish(reason string, u *Usage) {
	s.delta(map[string]any{}, reason)
	if u != nil && s.withUsage {
		frame := s.frame("chat.completion.chunk", []any{})
		frame["usage"] = u.wire()
		s.send(frame)
	}
	s.raw("data: [DONE]\n\n")
}

// whole collects an answer that is not streamed. Raw bytes have no place in it.
type whole struct {
	head
	content, thinking strings.Builder
	calls             []any
	arguments         strings.Builder
	reason            string
	used              *Usage
}

func (o *whole) text(piece string)      { o.content.WriteString(piece) }
func (o *whole) reasoning(piece string) { o.thinking.WriteString(piece) }
func (o *whole) raw(string)             {}

func (o *whole) call(_ int, id, name, arguments string) {
	if name != "" {
		o.arguments.Reset()
		o.calls = append(o.calls, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name}})
	}
	o.arguments.WriteString(arguments)
	last := o.calls[len(o.calls)-1].(map[string]any)
	last["function"].(map[string]any)["arguments"] = o.arguments.String()
}

func (o *whole) finish(reason string, u *Usage) { o.reason, o.used = reason, u }

func (o *whole) write(w http.ResponseWriter) {
	msg := map[string]any{"role": "assistant", "content": o.content.String()}
	if o.thinking.Len() > 0 {
		msg["reasoning_content"] = o.thinking.String()
	}
	if len(o.calls) > 0 {
		msg["tool_calls"] = o.calls
	}
	frame := o.frame("chat.completion", []any{map[string]any{"index": 0, "message": msg, "finish_reason": o.reason}})
	if o.used != nil {
		frame["usage"] = o.used.wire()
	}
	w.Header().Set("X-Request-Id", o.ID)
	writeJSON(w, http.StatusOK, frame)
}
