package sse

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Options of a stream.
type Options struct {
	// Ping is the silence after which a ping is sent; 0: never.
	Ping time.Duration
	// WriteTimeout is how long a reader may take to make room for one event; 0:
	// for ever. One that needs more than half of it gets a bye, so that it goes on
	// from what it has read. One that needs all of it is cut off, for a bye fits in
	// no better than the event does.
	WriteTimeout time.Duration
	// Drain, when done, ends the stream with a bye; nil: never.
	Drain context.Context
}

// Reasons of a bye that the gateway sends itself. The stream of the service may
// bring others.
const (
	byeDrain       = "drain"
	byeUnavailable = "unavailable"
	byeSlowReader  = "slow_reader"
)

// Stream is the ResponseWriter of one event stream. Writes are held back until
// Flush, which sends them as one event.
type Stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	r      *http.Request
	opts   Options
	cancel context.CancelFunc
	ping   *time.Timer

	mu       sync.Mutex
	buf      bytes.Buffer
	lastSeq  int64
	started  bool // an event was sent
	ended    bool // nothing more may be sent
	draining bool // a bye follows the first event
}

type streamKey struct{}

// Serve runs next with a Stream in place of w. The context of next's request
// ends when the reader is gone or cut off, when the service fails and when the
// gateway drains; with it ends the call of the service. next must have returned
// from all its writes when it returns.
func Serve(w http.ResponseWriter, r *http.Request, opts Options, next http.HandlerFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &Stream{w: w, rc: http.NewResponseController(w), opts: opts, cancel: cancel}
	s.r = r.WithContext(context.WithValue(ctx, streamKey{}, s))
	if opts.Drain != nil {
		defer context.AfterFunc(opts.Drain, s.drain)()
	}
	defer s.close()
	next(s, s.r)
}

// FromContext finds the stream that ctx was made for; nil when there is none.
func FromContext(ctx context.Context) *Stream {
	s, _ := ctx.Value(streamKey{}).(*Stream)
	return s
}

// Header is that of the answer.
func (s *Stream) Header() http.Header { return s.w.Header() }

// WriteHeader does nothing: the status is 200 with the first event and that of
// the failure with [Stream.Fail].
func (s *Stream) WriteHeader(int) {}

// Write holds p back until Flush.
func (s *Stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.buf.Write(p)
	}
	return len(p), nil
}

// FlushError sends what was written since the last Flush as one event. A reader
// that is gone is no error here: it ends the request's context, and with it the
// call of the service.
func (s *Stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.buf.Len() == 0 {
		return nil
	}
	if seq := frameSeq(s.buf.Bytes()); seq > 0 {
		s.lastSeq = seq
	}
	slow := s.send(s.buf.Bytes())
	s.buf.Reset()
	switch {
	case s.draining:
		s.bye(byeDrain)
	case slow:
		s.bye(byeSlowReader)
	}
	return nil
}

// Fail ends the stream with a failure of the service. Before the first event
// that is an ordinary answer with the failure's status. After it, a failure
// that watching again can mend (the service restarts, is full, lost its lease)
// is a bye, since the run itself has not failed; any other is the event error.
func (s *Stream) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case s.r.Context().Err() != nil: // nobody reads any more
		s.ended = true
	case !s.started:
		s.ended = true
		envelope.FromError(err).Write(s.w, s.r)
	case mended(rpcerr.From(err).Code()):
		s.bye(byeUnavailable)
	default:
		p := envelope.FromError(err)
		s.sendEvent("error", struct {
			Code      int    `json:"code"`
			Reason    string `json:"reason"`
			Message   string `json:"message"`
			Retryable bool   `json:"retryable"`
			TraceID   string `json:"trace_id"`
		}{p.Status, p.Reason, p.Message, p.Retryable(), envelope.TraceID(s.r)})
		s.ended = true
	}
}

// mended says that the same stream may succeed when it is asked for again.
func mended(code codes.Code) bool {
	switch code {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.Canceled, codes.DeadlineExceeded:
		return true
	}
	return false
}

func (s *Stream) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started { // without its first event the reader would not know what to resume
		s.draining = true
		return
	}
	s.bye(byeDrain)
}

func (s *Stream) pingNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow := s.sendEvent("ping", struct {
		LastSeq int64 `json:"last_seq"`
	}{s.lastSeq})
	if slow {
		s.bye(byeSlowReader)
	}
}

// bye ends the stream, not the run. The lock is held.
func (s *Stream) bye(reason string) {
	s.sendEvent("bye", struct {
		Reason string `json:"reason"`
		Resume bool   `json:"resume"`
	}{reason, true})
	s.ended = true
	s.cancel()
}

func (s *Stream) sendEvent(name string, data any) (slow bool) {
	raw, err := json.Marshal(data)
	if err != nil {
		return false // plain structs of strings and numbers: cannot fail
	}
	event, err := frame(0, name, raw)
	return err == nil && s.send(event)
}

// send writes one whole event and flushes it, and answers whether the reader was
// slow to make room for it. The lock is held.
func (s *Stream) send(event []byte) (slow bool) {
	if s.ended {
		return false
	}
	if !s.started {
		s.started = true
		h := s.w.Header()
		h.Set("Content-Type", ContentType)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	}
	s.limitWrites()
	begun := time.Now()
	_, err := s.w.Write(event)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.ended = true
		s.cancel()
		return false
	}
	s.armPing()
	return s.opts.WriteTimeout > 0 && time.Since(begun) > s.opts.WriteTimeout/2
}

// limitWrites bounds what is written from now on. Not every writer has
// deadlines; without one the kernel's apply.
func (s *Stream) limitWrites() {
	if s.opts.WriteTimeout > 0 {
		_ = s.rc.SetWriteDeadline(time.Now().Add(s.opts.WriteTimeout))
	}
}

func (s *Stream) armPing() {
	switch {
	case s.opts.Ping <= 0:
	case s.ping == nil:
		s.ping = time.AfterFunc(s.opts.Ping, s.pingNow)
	default:
		s.ping.Reset(s.opts.Ping)
	}
}

// close makes sure that nothing is written once the handler has returned.
func (s *Stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started && !s.ended && s.r.Context().Err() == nil {
		s.w.Header().Set("Content-Type", ContentType) // no event: still a stream
	}
	s.ended = true
	if s.ping != nil {
		s.ping.Stop()
	}
	// What is left to write is the end of the answer. When that is out, net/http
	// lifts the limit for the next request of the connection.
	s.limitWrites()
}
