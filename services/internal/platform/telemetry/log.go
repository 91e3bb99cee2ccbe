package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// Log formats.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// NewLogger makes a logger that adds the trace_id and span_id of the context to
// each line that has one; use the methods that take a context. An unknown
// format is an error.
func NewLogger(w io.Writer, level slog.Leveler, format string) (*slog.Logger, error) {
	opts := &slog.HandlerOptions{Level: level}
	switch format {
	case FormatText:
		return slog.New(newTraceHandler(slog.NewTextHandler(w, opts))), nil
	case FormatJSON:
		return slog.New(newTraceHandler(slog.NewJSONHandler(w, opts))), nil
	}
	return nil, fmt.Errorf("log format is %q, want %s or %s", format, FormatText, FormatJSON)
}

// TraceID is the trace id of ctx in hex, empty when it has none.
func TraceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// traceHandler adds the ids of the trace at the top level of a record, also
// under a logger with groups.
type traceHandler struct {
	slog.Handler              // with every attribute and group so far
	root         slog.Handler // with those before the first group
	since        []func(slog.Handler) slog.Handler
}

func newTraceHandler(h slog.Handler) *traceHandler { return &traceHandler{Handler: h, root: h} }

// Handle adds the ids. Inside of a group they cannot be added to the record, so
// the groups are built again on top of them.
func (h *traceHandler) Handle(ctx context.Context, r slog.Record) error {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() {
		return h.Handler.Handle(ctx, r)
	}
	ids := []slog.Attr{
		slog.String("trace_id", span.TraceID().String()),
		slog.String("span_id", span.SpanID().String()),
	}
	if len(h.since) == 0 {
		r = r.Clone()
		r.AddAttrs(ids...)
		return h.Handler.Handle(ctx, r)
	}
	inner := h.root.WithAttrs(ids)
	for _, apply := range h.since {
		inner = apply(inner)
	}
	return inner.Handle(ctx, r)
}

// WithAttrs is of slog.Handler.
func (h *traceHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(h.since) == 0 {
		return newTraceHandler(h.Handler.WithAttrs(attrs))
	}
	return h.with(func(x slog.Handler) slog.Handler { return x.WithAttrs(attrs) })
}

// WithGroup is of slog.Handler.
func (h *traceHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.with(func(x slog.Handler) slog.Handler { return x.WithGroup(name) })
}

func (h *traceHandler) with(apply func(slog.Handler) slog.Handler) slog.Handler {
	return &traceHandler{
		Handler: apply(h.Handler),
		root:    h.root,
		since:   append(slices.Clip(h.since), apply),
	}
}
