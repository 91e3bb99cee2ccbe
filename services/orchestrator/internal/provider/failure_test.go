package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

const secretKey = "sk-secret-0123456789abcdef"

func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T: %v", err, err)
	}
	return e
}

func TestEveryRefusalIsExplained(t *testing.T) {
	tests := []struct {
		name      string
		status    int
		header    map[string]string
		body      string
		key       string
		kind      Kind
		retryable bool
		detail    string
		says      string
	}{
		{"wrong key", 401, nil, `{"error":{"message":"Incorrect API key provided: ` + secretKey + `","code":"invalid_api_key"}}`, secretKey, KindAuth, false, "Incorrect API key provided: [redacted]", "The API key was refused"},
		{"no key", 401, nil, `{"error":{"message":"no key"}}`, "", KindAuth, false, "no key", "No API key is set"},
		{"no permission", 403, nil, `forbidden`, secretKey, KindAuth, false, "forbidden", "enable the service and this model"},
		{"Google's wrong key", 400, nil, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, secretKey, KindAuth, false, "API key not valid.", "refused"},
		{"wrong model", 404, nil, `{"error":{"message":"no such model","code":"model_not_found"}}`, secretKey, KindNotFound, false, "no such model", "knows no model \"test-model\""},
		{"wrong address", 404, nil, `<html><title>404 page</title></html>`, secretKey, KindNotFound, false, "404 page", "api_url"},
		{"too fast", 429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow down"}}`, secretKey, KindRateLimited, true, "slow down", "wait 7s"},
		{"no credit", 429, nil, `{"error":{"message":"pay","code":"insufficient_quota"}}`, secretKey, KindQuota, false, "pay", "no credit"},
		{"payment required", 402, nil, `{"error":{"message":"pay"}}`, secretKey, KindQuota, false, "pay", "no credit"},
		{"GLM's arrears", 429, nil, `{"error":{"code":"1113","message":"pay"}}`, secretKey, KindQuota, false, "pay", "no credit"},
		{"too long", 400, nil, `{"error":{"message":"This model's maximum context length is 8 tokens"}}`, secretKey, KindContextLength, false, "This model's maximum context length is 8 tokens", "context window"},
		{"filtered", 400, nil, `{"error":{"message":"no","code":"content_filter"}}`, secretKey, KindContentFilter, false, "no", "content filter"},
		{"FastAPI's list", 422, nil, `{"detail":[{"loc":["body","x"],"msg":"field required"}]}`, secretKey, KindBadRequest, false, "field required", "refuses the request"},
		{"broken server", 500, nil, `boom`, secretKey, KindServer, true, "boom", "HTTP 500"},
		{"bad gateway page", 502, nil, `<html><body><h1>502 Bad Gateway</h1></body></html>`, secretKey, KindServer, true, "502 Bad Gateway", "HTTP 502"},
		{"no capacity", 503, nil, ``, secretKey, KindOverloaded, true, "", "HTTP 503"},
		{"no capacity, by code", 529, nil, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, secretKey, KindOverloaded, true, "Overloaded", "HTTP 529"},
		{"slow gateway", 504, nil, ``, secretKey, KindTimeout, true, "", "HTTP 504"},
		{"control characters and the key in words", 500, nil, "a\x00b\r\nBearer abcdefghijk " + secretKey, secretKey, KindServer, true, "a b [redacted] [redacted]", "HTTP 500"},
		{"MiniMax's envelope in a 200", 200, map[string]string{"Content-Type": "application/json"}, `{"base_resp":{"status_code":1004,"status_msg":"auth failed"}}`, secretKey, KindAuth, false, "auth failed", "The API key was refused"},
		{"MiniMax's envelope in a stream", 200, nil, `data: {"id":"r","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}` + "\n\n", secretKey, KindQuota, false, "insufficient balance", "no credit"},
		{"MiniMax's number that nobody knows", 200, nil, `{"base_resp":{"status_code":1013,"status_msg":"boom"}}`, secretKey, KindServer, true, "boom", "an error in the answer"},
		{"Google's wait", 429, nil, `[{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.2s"}]}}]`, secretKey, KindRateLimited, true, "slow", "wait 7s"},
		{"a wait in words", 429, nil, `{"error":{"message":"Please try again in 1m2.5s."}}`, secretKey, KindRateLimited, true, "Please try again in 1m2.5s.", "wait 1m3s"},
		{"a wait in words is passed over for that of the header", 429, map[string]string{"Retry-After": "9"}, `{"error":{"message":"try again in 20ms"}}`, secretKey, KindRateLimited, true, "try again in 20ms", "wait 9s"},
		{"a byte order mark before it", 400, nil, "\xEF\xBB\xBF" + `{"error":{"message":"boom"}}`, secretKey, KindBadRequest, false, "boom", "HTTP 400"},
		{"too long for llama.cpp", 400, nil, `{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}`, secretKey, KindContextLength, false, "no", "shorten it"},
		{"too long for Kimi", 400, nil, `{"error":{"message":"Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, secretKey, KindContextLength, false, "Your request exceeded model token limit: 8192", "shorten it"},
		{"too long for GLM", 400, nil, `{"error":{"code":"1261","message":"no"}}`, secretKey, KindContextLength, false, "no", "shorten it"},
		{"too long for Qwen", 400, nil, `{"error":{"message":"Range of input length should be [1, 30720]"}}`, secretKey, KindContextLength, false, "Range of input length should be [1, 30720]", "shorten it"},
		{"too long for Gemini", 400, nil, `[{"error":{"code":400,"message":"The input token count (12) exceeds the maximum number of tokens allowed (9)"}}]`, secretKey, KindContextLength, false, "The input token count (12) exceeds the maximum number of tokens allowed (9)", "shorten it"},
		{"a page in a 200", 200, nil, `<!DOCTYPE html><title>Sign in</title>`, secretKey, KindMalformed, false, "", "a web page came in place of an answer (Sign in)"},
		{"JSON of another kind in a 200", 200, nil, `{"hello":"world"}`, secretKey, KindServer, true, "", "an error in the answer"},
		{"half JSON in a 200", 200, nil, `{"choices":[`, secretKey, KindTruncated, true, "", "ended in the middle"},
		{"garbage in a 200", 200, nil, "\x00\x01\x02garbage", secretKey, KindMalformed, false, "", "neither an event stream nor JSON"},
		{"garbage events", 200, nil, strings.Repeat("data: garbage\n\n", 20), secretKey, KindMalformed, false, "", "not made of JSON objects"},
		{"an error event without an error member", 200, nil, "event: error\ndata: {\"code\":\"429\",\"message\":\"slow\"}\n\n", secretKey, KindRateLimited, true, "slow", "Too many requests"},
		{"an error dumped into the stream", 200, nil, ": hi\n\n{\"error\":{\"message\":\"boom\"}}\n", secretKey, KindServer, true, "boom", "an error in the answer"},
		{"an answer broken off", 200, nil, `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"network_error"}]}` + "\n\n", secretKey, KindServer, true, "the provider broke off the answer", "try again"},
		{"nothing at all", 200, nil, ``, secretKey, KindTruncated, true, "", "ended in the middle"},
		{"an end without an answer", 200, nil, "data: [DONE]\n\n", secretKey, KindTruncated, true, "", "ended in the middle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, Config{APIKey: config.Secret(tt.key)}, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.Header().Set("X-Request-Id", "req-1")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			_, _, err := ask(c, hello)
			e := asError(t, err)
			if e.Kind != tt.kind || e.Retryable() != tt.retryable || e.Status != tt.status || e.Detail != tt.detail {
				t.Errorf("kind %s, retryable %v, status %d, detail %q", e.Kind, e.Retryable(), e.Status, e.Detail)
			}
			if !strings.Contains(e.Message, tt.says) || !strings.Contains(e.Message, c.Endpoint()) || !strings.Contains(e.Message, "test-model") {
				t.Errorf("message does not explain: %s", e.Message)
			}
			if strings.Contains(e.Message+e.Detail+e.Code, secretKey) {
				t.Errorf("the key is shown: %s", e.Message)
			}
		})
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	c := serve(t, Config{APIKey: secretKey}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/chat/completions?token=hidden", http.StatusTemporaryRedirect)
	})
	_, _, err := ask(c, hello)
	e := asError(t, err)
	if e.Kind != KindNotFound || e.Status != 307 || followed {
		t.Errorf("kind %s, status %d, followed %v", e.Kind, e.Status, followed)
	}
	if !strings.Contains(e.Message, other.URL) || strings.Contains(e.Message, "hidden") {
		t.Errorf("message: %s", e.Message)
	}
}

func TestAnEndpointThatCannotBeReachedIsExplained(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = discardLog
	secure.StartTLS()
	defer secure.Close()
	noName := transport(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}}
	})
	tests := []struct {
		name, url string
		via       http.RoundTripper
		retryable bool
		says      string
	}{
		{"nothing listens", "http://" + addrtest.Reserve(t), nil, true, "connection was refused"},
		{"plain HTTP where TLS is asked for", "https://" + plain.Listener.Addr().String(), nil, false, "does not speak TLS"},
		{"an unknown certificate", secure.URL, nil, false, "TLS handshake failed"},
		{"a name that does not exist", "http://nowhere.example", noName, false, `"nowhere.example" cannot be resolved`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newTestClient(t, Config{APIURL: tt.url, APIKey: secretKey, HTTPTransport: tt.via})
			_, _, err := ask(c, hello)
			e := asError(t, err)
			if e.Kind != KindTransport || e.Status != 0 || e.Retryable() != tt.retryable || !strings.Contains(e.Message, tt.says) {
				t.Errorf("kind %s, status %d, retryable %v: %s", e.Kind, e.Status, e.Retryable(), e.Message)
			}
		})
	}
}

func TestAVersionOfTLSThatIsTooOldIsATransportError(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = discardLog
	s.TLS = &tls.Config{MaxVersion: tls.VersionTLS11} //nolint:gosec // that is what is tested
	s.StartTLS()
	defer s.Close()
	_, _, err := ask(newTestClient(t, Config{APIURL: s.URL}), hello)
	if e := asError(t, err); e.Kind != KindTransport || e.Retryable() {
		t.Errorf("kind %s, retryable %v: %v", e.Kind, e.Retryable(), e)
	}
}

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"seconds", "Retry-After", "7", 7 * time.Second},
		{"parts of a second", "Retry-After", "0.5", 500 * time.Millisecond},
		{"a date", "Retry-After", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"a date that has passed", "Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT", 0},
		{"milliseconds", "Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"a negative number", "Retry-After", "-3", 0},
		{"not a number", "Retry-After", "NaN", 0},
		{"no end", "Retry-After", "1e300", maxRetryWait},
		{"words", "Retry-After", "soon", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tt.header, tt.value)
			if got := retryAfter(h, now); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestWhatTheCallerDoesEndsTheCall(t *testing.T) {
	long := strings.Repeat(`data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n", 5)
	t.Run("an error of yield comes back as it is", func(t *testing.T) {
		enough := errors.New("enough")
		c := newTestClient(t, Config{HTTPTransport: answer(200, nil, long, whole)})
		n := 0
		resp, err := c.Stream(context.Background(), hello, func(Delta) error {
			if n++; n == 3 {
				return enough
			}
			return nil
		})
		if err != enough || n != 3 || resp.Text != "xxx" {
			t.Errorf("error %v after %d deltas, text %q", err, n, resp.Text)
		}
	})
	t.Run("a cancelled context is told from a broken stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, long)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		resp, err := c.Stream(ctx, hello, func(Delta) error { cancel(); return nil })
		e := asError(t, err)
		if e.Kind != KindCancelled || !errors.Is(err, context.Canceled) || e.Retryable() || resp.Text == "" {
			t.Errorf("kind %s, error %v, text %q", e.Kind, err, resp.Text)
		}
	})
	t.Run("a context that is over before the call makes none", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := newTestClient(t, Config{APIURL: "http://127.0.0.1:1"})
		_, err := c.Stream(ctx, hello, func(Delta) error { return nil })
		if e := asError(t, err); e.Kind != KindCancelled {
			t.Errorf("kind %s", e.Kind)
		}
	})
}
