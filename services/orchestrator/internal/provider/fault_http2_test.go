package provider

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Most providers speak HTTP/2, where a stream is broken off without its connection.
func TestFaultsOverHTTP2HaveTheSameOutcomes(t *testing.T) {
	abort := func() { panic(http.ErrAbortHandler) }
	say := func(w http.ResponseWriter, s string) {
		_, _ = io.WriteString(w, s)
		_ = http.NewResponseController(w).Flush()
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		idle    time.Duration
		want    outcome
	}{
		{"a whole answer", func(w http.ResponseWriter, _ *http.Request) { say(w, okStream) }, 0, outcome{finish: FinishStop, text: "hi"}},
		{"a stream reset before its head", func(http.ResponseWriter, *http.Request) { abort() }, 0,
			outcome{kind: KindTransport, retryable: true, says: "the connection failed"}},
		{"a stream reset after its head", func(w http.ResponseWriter, _ *http.Request) { say(w, ""); abort() }, 0,
			outcome{kind: KindTruncated, retryable: true, says: "ended in the middle"}},
		{"a stream reset in the middle of a line", func(w http.ResponseWriter, _ *http.Request) { say(w, textOf("Well, ")+`data: {"id`); abort() }, 0,
			outcome{kind: KindTruncated, retryable: true, text: "Well, ", says: "ended in the middle"}},
		{"a stream that ends without an end", func(w http.ResponseWriter, _ *http.Request) { say(w, textOf("Well, ")) }, 0,
			outcome{kind: KindTruncated, retryable: true, text: "Well, ", says: "ended in the middle"}},
		{"a stream reset after the reason to stop", func(w http.ResponseWriter, _ *http.Request) { say(w, textOf("hi")+endedBy("stop")); abort() }, 0,
			outcome{finish: FinishStop, text: "hi", warns: "the stream ended without [DONE]"}},
		{"a body shorter than its length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			say(w, textOf("Well, "))
		}, 0, outcome{kind: KindTruncated, retryable: true, text: "Well, ", says: "ended in the middle"}},
		{"silence in the middle", func(w http.ResponseWriter, r *http.Request) { say(w, textOf("Well, ")); <-r.Context().Done() }, 50 * time.Millisecond,
			outcome{kind: KindTimeout, retryable: true, text: "Well, ", says: "nothing more came for 50ms"}},
		{"a refusal", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			say(w, `{"error":{"message":"slow down"}}`)
		}, 0, outcome{kind: KindRateLimited, retryable: true, detail: "slow down", says: "HTTP 429"}},
		{"a refusal that is reset", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			say(w, "no up")
			abort()
		}, 0, outcome{kind: KindServer, retryable: true, detail: "no up", says: "HTTP 502"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("asked over %s", r.Proto)
				}
				tt.handler(w, r)
			}))
			s.EnableHTTP2, s.Config.ErrorLog = true, discardLog
			s.StartTLS()
			defer s.Close()
			c := newTestClient(t, Config{APIURL: s.URL, HTTPTransport: s.Client().Transport, IdleTimeout: tt.idle})
			resp, _, err := ask(c, hello)
			if bad := tt.want.differs(resp, err, 0); len(bad) > 0 {
				t.Error(strings.Join(bad, "; "))
			}
		})
	}
}
