package provider

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// endless hands out unit over and over, total bytes in all, without holding
// them.
type endless struct {
	prefix, unit string
	total        int64
	off          int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.prefix != "" {
		n := copy(p, e.prefix)
		e.prefix = e.prefix[n:]
		return n, nil
	}
	n := 0
	for n < len(p) && e.total > 0 {
		k := copy(p[n:], e.unit[e.off:])
		n, e.off, e.total = n+k, (e.off+k)%len(e.unit), e.total-int64(k)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestFloodsEndInAnErrorAndNotInMemory(t *testing.T) {
	const giga = 1 << 30
	call := `data: {"choices":[{"delta":{"tool_calls":[{"id":"","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n"
	tests := []struct {
		name string
		body *endless
		says string
	}{
		{"a line of 1 GB", &endless{prefix: "data: ", unit: strings.Repeat("x", 4096), total: giga}, "a line of the stream is over the size limit"},
		{"an event of 1 GB", &endless{prefix: "data: x", unit: "\ndata: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", total: giga}, "an event of the stream is over the size limit"},
		{"an answer of 1 GB in one piece", &endless{prefix: "{", unit: strings.Repeat(" ", 4096), total: giga}, "the answer is over the size limit"},
		{"a page of 1 GB", &endless{prefix: "<", unit: strings.Repeat("x", 4096), total: giga}, "the answer is over the size limit"},
		{"a text of 1 GB", &endless{unit: `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 32<<10) + `"}}]}` + "\n\n", total: giga}, "the answer is longer than"},
		{"100,000 calls", &endless{unit: call, total: int64(100_000 * len(call))}, "more than 128 tool calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newTestClient(t, Config{HTTPTransport: stream(tt.body)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := ask(c, hello)
			runtime.ReadMemStats(&after)
			if e := asError(t, err); e.Kind != KindMalformed || e.Retryable() || !strings.Contains(e.Message, tt.says) {
				t.Errorf("kind %s: %s", e.Kind, e.Message)
			}
			if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 160<<20 {
				t.Errorf("%d MiB were allocated", grown>>20)
			}
		})
	}
}

func TestAMillionEmptyEventsAreReadInLittleMemory(t *testing.T) {
	flood := &endless{unit: ": keep-alive\n\ndata:\n\n", total: 21 << 20}
	c := newTestClient(t, Config{HTTPTransport: stream(io.MultiReader(flood, strings.NewReader(okStream)))})
	resp, _, err := ask(c, hello)
	if err != nil || resp.Text != "hi" {
		t.Errorf("text %q, error %v", resp.Text, err)
	}
}

func TestALargeErrorAnswerIsCut(t *testing.T) {
	c := newTestClient(t, Config{HTTPTransport: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Header: http.Header{}, Body: io.NopCloser(&endless{unit: "boom ", total: 1 << 30})}, nil
	})})
	_, _, err := ask(c, hello)
	if e := asError(t, err); e.Kind != KindServer || len([]rune(e.Detail)) != maxDetail || len(e.Message) > 1000 {
		t.Errorf("kind %s, detail of %d bytes, message of %d", e.Kind, len(e.Detail), len(e.Message))
	}
}

func stream(r io.Reader) transport {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(r)}, nil
	}
}

// slowly is a body that hands out its pieces, each after its wait, and then
// nothing until ctx ends.
type slowly struct {
	ctx    context.Context
	wait   time.Duration
	pieces []string
}

func (s *slowly) Read(p []byte) (int, error) {
	wait := s.wait
	if len(s.pieces) == 0 {
		wait = 24 * time.Hour
	}
	select {
	case <-time.After(wait):
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	}
	n := copy(p, s.pieces[0])
	s.pieces = s.pieces[1:]
	return n, nil
}

func (s *slowly) Close() error { return nil }

func TestSilenceEndsACallAndBytesKeepItAlive(t *testing.T) {
	text := `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	comments := make([]string, 600)
	for i := range comments {
		comments[i] = ": keep-alive\n\n"
	}
	tests := []struct {
		name   string
		wait   time.Duration
		pieces []string
		took   time.Duration
		says   string // empty: the call succeeds
		text   string
	}{
		{"no byte at all", 0, nil, 120 * time.Second, "no answer within 2m0s", ""},
		{"silence after some text", time.Second, []string{text, text}, 62 * time.Second, "nothing more came for 1m0s", "xx"},
		{"a first byte after 119 seconds is in time", 119 * time.Second, []string{okStream}, 119 * time.Second, "", "hi"},
		{"ten minutes of comments keep a call alive", time.Second, append(comments, okStream), 601 * time.Second, "", "hi"},
		{"bytes one by one keep a call alive", 30 * time.Second, strings.Split(okStream, ""), time.Duration(len(okStream)) * 30 * time.Second, "", "hi"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newTestClient(t, Config{HTTPTransport: transport(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &slowly{r.Context(), tt.wait, tt.pieces}}, nil
				})})
				start := time.Now()
				resp, _, err := ask(c, hello)
				took := time.Since(start)
				if tt.says == "" {
					if err != nil {
						t.Fatal(err)
					}
				} else if e := asError(t, err); e.Kind != KindTimeout || !e.Retryable() || !strings.Contains(e.Message, tt.says) {
					t.Errorf("kind %s: %s", e.Kind, e.Message)
				}
				if resp.Text != tt.text || took > tt.took || took < tt.took-30*time.Second {
					t.Errorf("text %q after %v, want %q after %v", resp.Text, took, tt.text, tt.took)
				}
			})
		})
	}
}

func TestAnEndpointThatNeverAnswersIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClient(t, Config{HTTPTransport: transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		start := time.Now()
		_, _, err := ask(c, hello)
		if e := asError(t, err); e.Kind != KindTimeout || time.Since(start) != DefaultFirstByteTimeout {
			t.Errorf("kind %s after %v", e.Kind, time.Since(start))
		}
	})
}

func TestASlowReaderIsNotTakenForASilentEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := strings.Repeat(`data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n", 3) + okStream
		c := newTestClient(t, Config{HTTPTransport: answer(200, nil, body, one)})
		resp, err := c.Stream(context.Background(), hello, func(Delta) error {
			time.Sleep(10 * time.Minute) // fake time
			return nil
		})
		if err != nil || resp.Text != "xxxhi" {
			t.Errorf("text %q, error %v", resp.Text, err)
		}
	})
}
