package sse_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/sse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// event writes one event as the runtime does: the frame, the delimiter, a flush.
func event(w http.ResponseWriter, frame string) {
	_, _ = w.Write([]byte(frame))
	_, _ = w.Write(nil)
	_ = http.NewResponseController(w).Flush()
}

func serve(t *testing.T, opts sse.Options, handler http.HandlerFunc) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	sse.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), opts, handler)
	return w
}

func TestPingsFollowSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, sse.Options{Ping: 10 * time.Second}, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second) // no event yet: a failure could still have its status
			event(w, "id: 7\nevent: a\ndata: {}\n\n")
			time.Sleep(9 * time.Second)
			event(w, "event: b\ndata: {}\n\n")
			time.Sleep(9 * time.Second) // the silence begins anew with each event
			event(w, "id: 8\nevent: c\ndata: {}\n\n")
			time.Sleep(25 * time.Second)
		})
		time.Sleep(time.Minute) // nothing is written once the handler has returned
		const want = "id: 7\nevent: a\ndata: {}\n\nevent: b\ndata: {}\n\nid: 8\nevent: c\ndata: {}\n\n" +
			"event: ping\ndata: {\"last_seq\":8}\n\nevent: ping\ndata: {\"last_seq\":8}\n\n"
		if got := w.Body.String(); got != want {
			t.Errorf("stream =\n%s", got)
		}
	})
}

func TestDrainWaitsForTheFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain, stop := context.WithCancel(t.Context())
		var cancelled bool
		w := serve(t, sse.Options{Drain: drain}, func(w http.ResponseWriter, r *http.Request) {
			stop()
			synctest.Wait()
			if r.Context().Err() != nil {
				t.Error("the call was ended before its first event")
			}
			event(w, "id: 1\nevent: run_started\ndata: {}\n\n")
			cancelled = r.Context().Err() != nil
			event(w, "id: 2\nevent: late\ndata: {}\n\n")
		})
		const want = "id: 1\nevent: run_started\ndata: {}\n\nevent: bye\ndata: {\"reason\":\"drain\",\"resume\":true}\n\n"
		if got := w.Body.String(); got != want || !cancelled {
			t.Errorf("stream (call cancelled: %v) =\n%s", cancelled, got)
		}
	})
}

func TestAFailureAfterTheEndSaysNothing(t *testing.T) {
	w := serve(t, sse.Options{}, func(w http.ResponseWriter, r *http.Request) {
		event(w, "event: a\ndata: {}\n\n")
		s := sse.FromContext(r.Context())
		s.Fail(rpcerr.New(codes.PermissionDenied, "NO", "no"))
		s.Fail(rpcerr.New(codes.PermissionDenied, "NO", "no"))
		event(w, "event: b\ndata: {}\n\n")
	})
	if n := strings.Count(w.Body.String(), "event: "); n != 2 || !strings.Contains(w.Body.String(), "event: error\n") {
		t.Errorf("stream =\n%s", w.Body)
	}
}

func TestWhichFailuresCanBeMended(t *testing.T) {
	for code, want := range map[codes.Code]string{
		codes.Unavailable: "bye", codes.ResourceExhausted: "bye", codes.Aborted: "bye", codes.DeadlineExceeded: "bye", codes.Canceled: "bye",
		codes.Internal: "error", codes.NotFound: "error", codes.Unauthenticated: "error", codes.InvalidArgument: "error", codes.FailedPrecondition: "error",
	} {
		w := serve(t, sse.Options{}, func(w http.ResponseWriter, r *http.Request) {
			event(w, "event: a\ndata: {}\n\n")
			sse.FromContext(r.Context()).Fail(rpcerr.New(code, "X", "x"))
		})
		if !strings.Contains(w.Body.String(), "event: "+want+"\n") {
			t.Errorf("%v: stream =\n%s", code, w.Body)
		}
	}
}

// brokenWriter fails once it has taken some writes.
type brokenWriter struct {
	*httptest.ResponseRecorder
	left int
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left == 0 {
		return 0, errors.New("broken pipe")
	}
	w.left--
	return w.ResponseRecorder.Write(p)
}

func TestAWriteThatFailsEndsTheCall(t *testing.T) {
	w := &brokenWriter{httptest.NewRecorder(), 1}
	sse.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), sse.Options{Ping: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		event(w, "event: a\ndata: {}\n\n")
		if r.Context().Err() != nil {
			t.Error("the call ended too early")
		}
		event(w, "event: b\ndata: {}\n\n")
		if r.Context().Err() == nil {
			t.Error("the call goes on although nobody reads")
		}
	})
}

// slowWriter makes room for each write after a time, unless its deadline comes
// first.
type slowWriter struct {
	*httptest.ResponseRecorder
	room     atomic.Int64 // a time.Duration
	deadline time.Time
}

func (w *slowWriter) SetWriteDeadline(at time.Time) error { w.deadline = at; return nil }

func (w *slowWriter) Write(p []byte) (int, error) {
	room := time.Duration(w.room.Load())
	if left := time.Until(w.deadline); left < room {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(room)
	return w.ResponseRecorder.Write(p)
}

func TestASlowReaderIsToldToComeBack(t *testing.T) {
	const (
		first = "id: 1\nevent: a\ndata: {}\n\n"
		ping  = "event: ping\ndata: {\"last_seq\":1}\n\n"
		bye   = "event: bye\ndata: {\"reason\":\"slow_reader\",\"resume\":true}\n\n"
	)
	for _, tc := range []struct {
		name       string
		room       time.Duration // after the first event
		ping, want string
		ended      bool
	}{
		{"one that is quick enough", 15 * time.Second, "", first + first + first, false},
		{"one that is slow", 15*time.Second + 1, "", first + first + bye, true},
		{"one that is slow with a ping", 20 * time.Second, "now", first + ping + bye, true},
		{"one that reads no more is cut off", 30*time.Second + 1, "", first, true},
		{"also by a ping", 31 * time.Second, "now", first, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slowWriter{ResponseRecorder: httptest.NewRecorder()}
				opts := sse.Options{WriteTimeout: 30 * time.Second, Ping: time.Hour}
				begun := time.Now()
				sse.Serve(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), opts, func(rw http.ResponseWriter, r *http.Request) {
					event(rw, first)
					w.room.Store(int64(tc.room))
					if tc.ping != "" {
						time.Sleep(time.Hour + 2*time.Minute)
					} else {
						event(rw, first)
						event(rw, first)
					}
					if ended := r.Context().Err() != nil; ended != tc.ended {
						t.Errorf("the call has ended: %v, want %v", ended, tc.ended)
					}
				})
				if got := w.Body.String(); got != tc.want {
					t.Errorf("stream =\n%s", got)
				}
				if left := time.Until(w.deadline); left != 30*time.Second {
					t.Errorf("%s after the beginning the end of the answer has %s, want 30s", time.Since(begun), left)
				}
			})
		})
	}
}

func TestEventsOfManyWritersStayWhole(t *testing.T) {
	drain, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	w := serve(t, sse.Options{Ping: time.Microsecond, Drain: drain}, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 500 {
			event(w, "event: a\ndata: {\"x\":1}\n\n")
			if i == 400 {
				all.Go(stop)
			}
		}
		all.Wait()
	})
	for block := range strings.SplitSeq(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "event: ") || !strings.HasPrefix(lines[1], "data: {") {
			t.Fatalf("torn event %q", block)
		}
	}
}
