package provider

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// bodies are the shapes in which providers, gateways and proxies put an error,
// and what is read of each.
var bodies = []struct {
	name, contentType, body, detail string
}{
	{"OpenAI", "application/json", `{"error":{"message":"boom","type":"x_error","param":null,"code":null}}`, "boom"},
	{"a string", "application/json", `{"error":"boom"}`, "boom"},
	{"FastAPI", "application/json", `{"detail":"boom"}`, "boom"},
	{"FastAPI's list", "application/json", `{"detail":[{"loc":["body"],"msg":"boom","type":"missing"}]}`, "boom"},
	{"Google's list", "application/json", `[{"error":{"message":"boom","details":[]}}]`, "boom"},
	{"flat", "application/json", `{"object":"error","message":"boom","type":"X"}`, "boom"},
	{"MiniMax", "application/json", `{"base_resp":{"status_msg":"boom"}}`, "boom"},
	{"an envelope in an envelope", "application/json", `{"error":{"error":{"message":"boom"}}}`, "boom"},
	{"an event", "text/event-stream", "data: {\"error\":{\"message\":\"boom\"}}\n\n", "boom"},
	{"a named event", "text/event-stream", "event: error\ndata: {\"message\":\"boom\"}\n\n", "boom"},
	{"a page", "text/html", "<html><head><title>boom</title></head><body><h1>other</h1></body></html>", "boom"},
	{"text", "text/plain", "boom\n", "boom"},
	{"JSON that is cut", "application/json", `{"error":{"mess`, `{"error":{"mess`},
	{"nothing", "", "", ""},
}

// statusKinds are the kinds of the statuses that have one of their own. Others
// below 500 are bad requests, others above are the server's fault.
var statusKinds = map[int]Kind{
	401: KindAuth, 402: KindQuota, 403: KindAuth, 404: KindNotFound, 405: KindNotFound, 407: KindAuth, 408: KindTimeout,
	409: KindServer, 410: KindNotFound, 413: KindContextLength, 423: KindServer, 424: KindServer, 425: KindServer,
	429: KindRateLimited, 498: KindOverloaded, 503: KindOverloaded, 504: KindTimeout, 522: KindTimeout, 524: KindTimeout,
	529: KindOverloaded, 598: KindTimeout, 599: KindTimeout,
}

func kindOfStatus(status int) Kind {
	kind, own := statusKinds[status]
	switch {
	case own:
		return kind
	case status < 500:
		return KindBadRequest
	}
	return KindServer
}

func TestEveryStatusIsTakenForWhatItIsWhateverItsBody(t *testing.T) {
	passing := map[Kind]bool{KindRateLimited: true, KindOverloaded: true, KindServer: true, KindTimeout: true}
	for status := 400; status < 600; status++ {
		for _, b := range bodies {
			inBubble(t, fmt.Sprintf("%d with %s", status, b.name), func(t *testing.T) []string {
				headers := []string{"Connection: close"}
				if b.contentType != "" {
					headers = append(headers, "Content-Type: "+b.contentType)
				}
				c, _ := inMemory(t, Config{APIKey: secretKey}, send(head(status, headers...), b.body))
				start := time.Now()
				resp, _, err := ask(c, hello)
				kind := kindOfStatus(status)
				want := outcome{kind: kind, retryable: passing[kind], detail: b.detail, says: fmt.Sprintf("HTTP %d", status)}
				bad := want.differs(resp, err, time.Since(start))
				if e := asError(t, err); e.Status != status {
					bad = append(bad, fmt.Sprintf("status %d", e.Status))
				}
				return bad
			})
		}
	}
}

func TestAnAnswerIsReadUnderEverySuccessThatHasABody(t *testing.T) {
	for status := 200; status < 300; status++ {
		inBubble(t, fmt.Sprint(status), func(t *testing.T) []string {
			c, _ := inMemory(t, Config{}, send(head(status, "Connection: close"), okStream))
			resp, _, err := ask(c, hello)
			want := outcome{finish: FinishStop, text: "hi"}
			if status == http.StatusNoContent { // has none by definition
				want = outcome{kind: KindTruncated, retryable: true, says: "the connection ended in the middle of the answer"}
			}
			return want.differs(resp, err, 0)
		})
	}
}

func TestNoRedirectIsFollowedWhateverItsStatus(t *testing.T) {
	for status := 300; status < 400; status++ {
		for _, to := range []string{"", "Location: http://elsewhere.invalid/v1/chat/completions?token=hidden", "Location: ://", "Location: /v2/login"} {
			inBubble(t, fmt.Sprint(status, " ", to), func(t *testing.T) []string {
				c, s := inMemory(t, Config{APIKey: secretKey}, send(head(status, "Connection: close", to)))
				resp, _, err := ask(c, hello)
				want := outcome{kind: KindNotFound, says: "Redirects are not followed"}
				if to == "" || to == "Location: ://" {
					want.says = "no address that could be called instead"
				}
				bad := want.differs(resp, err, 0)
				if strings.Contains(err.Error(), "hidden") || s.asked.Load() != 1 {
					bad = append(bad, fmt.Sprintf("asked %d times: %v", s.asked.Load(), err))
				}
				return bad
			})
		}
	}
}

func TestWhatComesBeforeTheAnswerIsNoAnswer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before string
		want   outcome
	}{
		{"100 Continue", head(100), outcome{finish: FinishStop, text: "hi"}},
		{"102 Processing, again and again", strings.Repeat(head(102), 5), outcome{finish: FinishStop, text: "hi"}},
		{"103 Early Hints", head(103, "Link: </x>; rel=preload"), outcome{finish: FinishStop, text: "hi"}},
		{"101 Switching Protocols", head(101, "Upgrade: websocket", "Connection: Upgrade"),
			outcome{kind: KindMalformed, says: "HTTP 101 Switching Protocols"}},
	} {
		inBubble(t, tt.name, func(t *testing.T) []string {
			c, _ := inMemory(t, Config{}, send(tt.before, streamHead(), okStream))
			resp, _, err := ask(c, hello)
			return tt.want.differs(resp, err, 0)
		})
	}
}
