package gateway

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/body"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
)

// Headers that mean something to services, in canonical form.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerLastEventID    = "Last-Event-Id"
)

// maxEventIDDigits are those of the largest number of an event.
const maxEventIDDigits = 10

// api serves the routes of the contracts and those of files.
func (g *Gateway) api(w http.ResponseWriter, r *http.Request) {
	if p, ok := checkHeaders(r.Header); !ok {
		p.Write(w, r)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	if g.serveFiles(w, r) {
		return
	}
	if p, ok := g.limits.Read(w, r); !ok {
		p.Write(w, r)
		return
	}
	g.mux.ServeHTTP(w, streamUnlessTold(r))
}

// streamVerb ends the path of StreamMessage, which no caller needs to know.
const streamVerb = ":stream"

// streamUnlessTold sends a message to StreamMessage unless its body says
// "stream": false. A body that cannot be read goes there too: its decoder says
// what is wrong.
func streamUnlessTold(r *http.Request) *http.Request {
	if r.Method != http.MethodPost || !matches("/api/conversations/{id}/messages", r.URL.Path) {
		return r
	}
	var told struct {
		Stream *bool `json:"stream"`
	}
	if b := body.Of(r); b != nil && json.Unmarshal(b.Bytes(), &told) == nil && told.Stream != nil && !*told.Stream {
		return r
	}
	to := *r.URL
	to.Path += streamVerb
	if to.RawPath != "" {
		to.RawPath += streamVerb
	}
	return withURL(r, &to)
}

func withURL(r *http.Request, u *url.URL) *http.Request {
	r = r.WithContext(r.Context())
	r.URL = u
	return r
}

// checkHeaders refuses what the runtime would drop without a word: a key that is
// not sent on would let a call run twice. What else a key must be its service
// says.
func checkHeaders(h http.Header) (envelope.Problem, bool) {
	bad := func(name, words string) (envelope.Problem, bool) {
		return envelope.New(http.StatusBadRequest, body.ReasonInvalidArgument, "header %s %s", name, words).WithField(name, words), false
	}
	for _, key := range h[headerIdempotencyKey] {
		if strings.ContainsFunc(key, notPrintable) {
			return bad("Idempotency-Key", "must be of printable ASCII characters")
		}
	}
	if ids, sent := h[headerLastEventID]; sent {
		if len(ids) != 1 || len(ids[0]) > maxEventIDDigits || strings.ContainsFunc(ids[0], notDigit) {
			return bad("Last-Event-ID", "must be the id of an event, a number")
		}
		if ids[0] == "" { // what a browser sends when it has seen none
			h.Del(headerLastEventID)
		}
	}
	return envelope.Problem{}, true
}

func notPrintable(r rune) bool { return r < 0x20 || r > 0x7e }
func notDigit(r rune) bool     { return r < '0' || r > '9' }
