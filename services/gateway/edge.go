package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

// secure sets the headers that every answer carries.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // a sign-in link holds a token
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

type notesKey struct{}

// notes are what inner handlers tell the access log.
type notes struct{ route, user string }

func notesOf(ctx context.Context) *notes {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		return n
	}
	return &notes{}
}

// observe gives a request its id, tells the caller the trace, logs the answer
// and keeps a panic from ending the process.
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		n := &notes{}
		ctx := rpc.WithRequestID(context.WithValue(r.Context(), notesKey{}, n), r.Header.Get(rpc.HeaderRequestID))
		h := w.Header()
		h.Set(rpc.HeaderRequestID, rpc.RequestID(ctx))
		if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
			h.Set(rpc.HeaderTraceID, sc.TraceID().String())
			h.Set("Traceparent", fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags()))
		}
		rec := &recorder{ResponseWriter: w}
		r = r.WithContext(ctx)
		defer func() {
			v := recover()
			aborted := v != nil && g.recovered(rec, r, v)
			g.logRequest(r, n, rec, time.Since(begun))
			if aborted {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// recovered answers for a handler that panicked. It answers true when the
// connection has to be cut, since a part of another answer is out already.
func (g *Gateway) recovered(rec *recorder, r *http.Request, v any) bool {
	if v == http.ErrAbortHandler {
		return true
	}
	g.log.ErrorContext(r.Context(), "a handler panicked", "panic", v, "stack", string(debug.Stack()))
	trace.SpanFromContext(r.Context()).RecordError(fmt.Errorf("panic: %v", v))
	if rec.status != 0 {
		return true
	}
	envelope.New(http.StatusInternalServerError, "INTERNAL",
		"something went wrong on our side; the logs have the cause under this trace id").Write(rec, r)
	return false
}

func (g *Gateway) logRequest(r *http.Request, n *notes, rec *recorder, took time.Duration) {
	level := slog.LevelInfo
	switch class := classOf(r.URL.Path); {
	case rec.status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case class == classHealth || class == classApp:
		level = slog.LevelDebug
	}
	route := n.route
	if route == "" {
		route = r.URL.Path // without the query, which may hold a token
	}
	g.log.LogAttrs(r.Context(), level, "http",
		slog.String("method", r.Method), slog.String("route", route), slog.Int("status", rec.status),
		slog.Int64("bytes", rec.bytes), slog.Int64("duration_ms", took.Milliseconds()),
		slog.String("user", n.user), slog.String("request_id", rpc.RequestID(r.Context())))
}

// nameSpan names the request's span, its line in the log and its place in the
// metrics by the route.
func nameSpan(r *http.Request, pattern string) {
	notesOf(r.Context()).route = pattern
	span := trace.SpanFromContext(r.Context())
	span.SetName(r.Method + " " + pattern)
	name := attribute.String("http.route", pattern)
	span.SetAttributes(name)
	if labels, ok := otelhttp.LabelerFromContext(r.Context()); ok {
		labels.Add(name)
	}
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
