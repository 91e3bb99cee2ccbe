package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
)

// Limits of the server.
const (
	maxBody     = 16 << 20 // bytes of a request
	maxRecorded = 256      // requests kept for assertions; the oldest go first
)

// fingerprint marks every answer as scripted.
const fingerprint = "nanoclaw-scripted"

// Server plays a script over HTTP. It is safe for concurrent use.
type Server struct {
	script Script
	mux    *http.ServeMux
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	count    int
	recorded []Request
}

// Request is one chat request that the server got.
type Request struct {
	Header http.Header
	Body   json.RawMessage
}

// New returns a server that plays script. A script that Validate refuses makes
// a server that refuses every request with the reason.
func New(script Script) *Server {
	s := &Server{script: script, mux: http.NewServeMux(), closed: make(chan struct{})}
	for _, prefix := range []string{"", "/v1"} {
		s.mux.HandleFunc("POST "+prefix+"/chat/completions", s.chat)
		s.mux.HandleFunc("GET "+prefix+"/models", s.models)
	}
	return s
}

// ServeHTTP answers POST /v1/chat/completions and GET /v1/models, both also
// without /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Model is the name of the scripted model.
func (s *Server) Model() string { return s.script.name() }

// Requests returns the latest chat requests, oldest first, at most 256.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.recorded)
}

// Close ends replies that are silent or waiting.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// record keeps a request and returns its number, from 1.
func (s *Server) record(r *http.Request, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.recorded) == maxRecorded {
		s.recorded = slices.Delete(s.recorded, 0, 1)
	}
	s.recorded = append(s.recorded, Request{Header: r.Header.Clone(), Body: body})
	s.count++
	return s.count
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": s.script.name(), "object": "model", "created": 0, "owned_by": fingerprint}},
	})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "invalid_request_error", fmt.Errorf("read request: %w", err))
		return
	}
	var p prompt
	if err := json.Unmarshal(body, &p); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", fmt.Errorf("the request is not JSON: %w", err))
		return
	}
	nth := s.record(r, body)
	if err := p.check(); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", err)
		return
	}
	reply, err := s.reply(&p, nth)
	if err != nil {
		refuse(w, http.StatusNotImplemented, "script_error", err)
		return
	}
	s.play(w, r, &p, reply)
}

// reply returns the reply to p with its templates filled.
func (s *Server) reply(p *prompt, nth int) (Reply, error) {
	if err := s.script.Validate(); err != nil {
		return Reply{}, err
	}
	reply, err := s.script.choose(p, nth)
	if err != nil {
		return Reply{}, err
	}
	return reply.filled(p)
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, p *prompt, reply Reply) {
	if reply.HTTP != nil {
		reply.HTTP.write(w)
		return
	}
	var out sink = &whole{head: s.head(p)}
	if p.Stream {
		out = newStream(w, s.head(p), p.StreamOptions.IncludeUsage)
	}
	pl := player{out: out, ctx: r.Context(), closed: s.closed, chunk: s.script.chunk(), round: len(p.Messages)}
	switch pl.run(reply, p) {
	case outcomeCut:
		panic(http.ErrAbortHandler) // drops the connection
	case outcomeDone:
		if o, ok := out.(*whole); ok {
			o.write(w)
		}
	}
}

func (s *Server) head(p *prompt) head {
	return head{ID: fmt.Sprintf("chatcmpl-scripted-%d", len(p.Messages)), Model: s.script.name()}
}

// write sends an answer outside the protocol.
func (h *HTTP) write(w http.ResponseWriter) {
	body, err := asBody(h.Body)
	if err != nil {
		refuse(w, http.StatusNotImplemented, "script_error", err)
		return
	}
	if _, plain := h.Body.(string); !plain {
		w.Header().Set("Content-Type", "application/json")
	}
	for name, value := range h.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(h.Status)
	_, _ = io.WriteString(w, body)
}

// refuse answers an error in the protocol's shape.
func refuse(w http.ResponseWriter, status int, kind string, err error) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": "scripted model: " + err.Error(), "type": kind}})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
