package httpfetch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// script answers one step a request, the last one for ever.
type script struct {
	steps []step
	at    []time.Duration // when each request came
	begin time.Time
}

type step struct {
	status     int
	retryAfter string
	err        error
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Since(s.begin))
	st := s.steps[min(len(s.at), len(s.steps))-1]
	if st.err != nil {
		return nil, st.err
	}
	resp := &http.Response{StatusCode: st.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("x")), ContentLength: 1, Request: req}
	if st.retryAfter != "" {
		resp.Header.Set("Retry-After", st.retryAfter)
	}
	return resp, nil
}

// repeat is a script of n equal steps and then a 200.
func repeat(n int, st step) []step {
	var steps []step
	for range n {
		steps = append(steps, st)
	}
	return append(steps, step{status: 200})
}

func TestRetries(t *testing.T) {
	date := func(d time.Duration) string {
		// The bubble's clock begins here.
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(d).Format(http.TimeFormat)
	}
	tests := []struct {
		name       string
		steps      []step
		noRetry    bool
		deadline   time.Duration
		status     int // 0: an error
		at         []time.Duration
		retryAfter time.Duration
	}{
		{name: "a good answer is not repeated", steps: repeat(0, step{}), status: 200, at: []time.Duration{0}},
		{name: "404 is not repeated", steps: repeat(1, step{status: 404}), status: 404, at: []time.Duration{0}},
		{name: "501 is not repeated", steps: repeat(1, step{status: 501}), status: 501, at: []time.Duration{0}},
		{name: "the wait doubles", steps: repeat(2, step{status: 503}), status: 200,
			at: []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}},
		{name: "two retries and no more", steps: repeat(9, step{status: 500}), status: 500,
			at: []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}},
		{name: "none where the caller has a clock of its own", steps: repeat(1, step{status: 503}), noRetry: true, status: 503, at: []time.Duration{0}},
		{name: "Retry-After in seconds is waited for", steps: repeat(1, step{status: 429, retryAfter: "7"}), status: 200,
			at: []time.Duration{0, 7 * time.Second}},
		{name: "Retry-After as a date is waited for", steps: repeat(1, step{status: 503, retryAfter: date(9 * time.Second)}), status: 200,
			at: []time.Duration{0, 9 * time.Second}},
		{name: "a Retry-After of over a minute is handed on", steps: repeat(1, step{status: 429, retryAfter: "61"}), status: 429,
			at: []time.Duration{0}, retryAfter: 61 * time.Second},
		{name: "a Retry-After behind the deadline is handed on", steps: repeat(1, step{status: 429, retryAfter: "30"}), status: 429,
			at: []time.Duration{0}, retryAfter: 30 * time.Second},
		{name: "the caller's deadline counts too", steps: repeat(1, step{status: 429, retryAfter: "5"}), deadline: 4 * time.Second, status: 429,
			at: []time.Duration{0}, retryAfter: 5 * time.Second},
		{name: "an unreadable Retry-After is none", steps: repeat(1, step{status: 429, retryAfter: "soon"}), status: 200,
			at: []time.Duration{0, 500 * time.Millisecond}},
		{name: "a broken connection is tried again", steps: repeat(1, step{err: syscall.ECONNRESET}), status: 200,
			at: []time.Duration{0, 500 * time.Millisecond}},
		{name: "an error that stays is told", steps: repeat(9, step{err: syscall.ECONNRESET}),
			at: []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond}},
		{name: "an answer that is not HTTP is not asked for again", steps: repeat(1, step{err: errors.New("malformed HTTP response")}),
			at: []time.Duration{0}},
	}
	for _, status := range []int{408, 425, 429, 500, 502, 503, 504} {
		tests = append(tests, tests[3])
		last := &tests[len(tests)-1]
		last.name, last.steps = strconv.Itoa(status)+" is tried again", repeat(2, step{status: status})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := &script{steps: tt.steps, begin: time.Now()}
				c := newClient(DefaultConfig(), stubGuard{}, rt)
				c.jitter = func() float64 { return 1 }
				ctx := context.Background()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				resp, err := c.Get(ctx, Request{URL: "http://a.example/", NoRetry: tt.noRetry})
				var e *Error
				switch {
				case tt.status == 0:
					if !errors.As(err, &e) || e.Attempts != len(tt.at) {
						t.Fatalf("answer %v, error %v", resp, err)
					}
				case err != nil:
					t.Fatal(err)
				case resp.Status != tt.status || resp.Attempts != len(tt.at) || resp.RetryAfter != tt.retryAfter:
					t.Errorf("status %d after %d attempts, retry after %s", resp.Status, resp.Attempts, resp.RetryAfter)
				}
				if len(rt.at) != len(tt.at) {
					t.Fatalf("requests at %v, want %v", rt.at, tt.at)
				}
				for i := range rt.at {
					if rt.at[i] != tt.at[i] {
						t.Errorf("requests at %v, want %v", rt.at, tt.at)
					}
				}
			})
		})
	}
}

func TestAWaitEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := &script{steps: repeat(9, step{status: 503, retryAfter: "20"}), begin: time.Now()}
		c := newClient(DefaultConfig(), stubGuard{}, rt)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(3*time.Second, cancel)
		resp, err := c.Get(ctx, Request{URL: "http://a.example/"})
		if err != nil || resp.Status != 503 || time.Since(rt.begin) != 3*time.Second {
			t.Errorf("%v, %v after %s", resp, err, time.Since(rt.begin))
		}
	})
}
