package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// recorded is one shape as one model sends it: cut into pieces, each of which goes
// out by itself.
type recorded struct {
	shape
	id   string // of the model
	next func() int

	mu    sync.Mutex
	asked []map[string]any // the bodies of the requests
}

// pieces cuts by a seed, into one piece by 0.
func pieces(most int, seed uint64) func() int {
	switch most {
	case 0:
		return func() int { return 1 << 20 }
	case 1:
		return func() int { return 1 }
	}
	rnd := rand.New(rand.NewPCG(seed, uint64(most)))
	return func() int { return 1 + rnd.IntN(most) }
}

// endpoint serves all recordings, each at an address of its own.
type endpoint struct {
	*httptest.Server
	all []*recorded
}

func startEndpoint(t testing.TB, all []*recorded) *endpoint {
	t.Helper()
	e := &endpoint{all: all}
	mux := http.NewServeMux()
	for i, r := range all {
		mux.HandleFunc(fmt.Sprintf("POST /%d/v1/chat/completions", i), r.serve)
	}
	e.Server = httptest.NewServer(mux)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) address(i int) string { return fmt.Sprintf("%s/%d/v1", e.URL, i) }

// afterTools is the answer to a request that carries results.
const afterTools = `data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func (r *recorded) serve(w http.ResponseWriter, req *http.Request) {
	var body map[string]any
	text, err := io.ReadAll(req.Body)
	if err != nil || json.Unmarshal(text, &body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.asked = append(r.asked, body)
	r.mu.Unlock()
	messages, _ := body["messages"].([]any)
	if last, _ := messages[len(messages)-1].(map[string]any); last["role"] == "tool" {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, afterTools)
		return
	}
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	out := http.NewResponseController(w)
	for rest := r.Wire; rest != ""; {
		n := min(len(rest), r.next())
		if _, err := io.WriteString(w, rest[:n]); err != nil || out.Flush() != nil {
			return
		}
		rest = rest[n:]
	}
}

// sentBack is the message of the model in the first request that carries results.
func (r *recorded) sentBack() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.asked {
		var answer map[string]any
		for _, m := range body["messages"].([]any) {
			message := m.(map[string]any)
			switch message["role"] {
			case "assistant":
				answer = message
			case "tool":
				return answer
			}
		}
	}
	return nil
}
