package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/canon"
	"github.com/nanoclaw/nanoclaw/services/search/internal/exchange"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pacing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// attempt is one question to one engine and what came of it.
type attempt struct {
	provider    string
	outcome     outcome.Outcome
	status      int
	latency     time.Duration
	page        adapter.Page
	filteredOut int
	// dropped are the options that the engine does not know.
	dropped []adapter.Option
}

// attempt asks one engine within its own time limit.
func (s *Service) attempt(ctx context.Context, e *engine, q request) attempt {
	ctx, span := s.tracer.Start(ctx, "search.attempt", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("search.provider", e.Name()),
			attribute.String("search.query_sha256", digest(q.text)),
		))
	defer span.End()
	start := time.Now()
	a := s.ask(ctx, e, q)
	a.provider, a.latency = e.Name(), time.Since(start)
	s.record(ctx, span, a)
	return a
}

func (s *Service) ask(ctx context.Context, e *engine, q request) attempt {
	if err := e.gate.Wait(ctx, s.cfg.QueueWait); err != nil {
		return attempt{outcome: notOurTurn(ctx, err)}
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.AttemptTimeout)
	defer cancel()
	got := exchange.Ask(limited, s.client, e.Adapter, q.query(), e.trust)
	a := attempt{status: got.Response.Status, dropped: got.Plan.Dropped}
	a.page, a.outcome = judge(e.Capabilities(), got.Page, got.Outcome, q.text, got.Plan.SentText)
	if a.outcome.Code == outcome.LayoutUnrecognised {
		s.keep(ctx, e.Name(), got.Response, q.text, a.outcome.Detail)
	}
	if a.outcome.Code.HasResults() {
		a.narrow(q)
	}
	return a
}

// keep writes down an answer that could not be read. That it cannot is told to
// the operator and is nobody else's matter.
func (s *Service) keep(ctx context.Context, provider string, r adapter.Response, query, detail string) {
	if s.unread == nil {
		return
	}
	file, err := s.unread.Keep(provider, r, query, detail)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "an answer that could not be read was not kept", slog.String("provider", provider), slog.Any("error", err))
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "an answer that could not be read is kept", slog.String("provider", provider), slog.String("file", file))
}

// notOurTurn is the outcome of an engine that was not even asked.
func notOurTurn(ctx context.Context, err error) outcome.Outcome {
	if busy, ok := errors.AsType[*pacing.BusyError](err); ok {
		return outcome.Outcome{Code: outcome.RateLimited, Detail: "our own pace for this engine", RetryAfter: busy.Wait}
	}
	return transport.Failure(context.Cause(ctx))
}

// narrow takes out repeated pages and pages outside the caller's domains, and
// keeps as many as were asked for.
func (a *attempt) narrow(q request) {
	seen := map[string]bool{}
	var kept []adapter.Result
	for _, r := range a.page.Results {
		key := canon.Key(r.URL)
		switch {
		case seen[key]:
		case !q.filter.Allows(r.URL):
			a.filteredOut++
		case len(kept) < q.maxResults:
			kept = append(kept, r)
		}
		seen[key] = true
	}
	a.page.Results = kept
	if len(kept) == 0 {
		a.outcome = outcome.Because(outcome.EmptyAfterFilter, "no result on the domains asked for")
		a.page = adapter.Page{}
	}
}

// record tells operators. The query itself stays out: it may be private.
func (s *Service) record(ctx context.Context, span trace.Span, a attempt) {
	code := string(a.outcome.Code)
	span.SetAttributes(
		attribute.String("search.outcome", code),
		attribute.Int("search.count", len(a.page.Results)),
		attribute.Int("search.filtered_out", a.filteredOut),
		attribute.StringSlice("search.dropped_options", names(a.dropped)),
		attribute.Int("http.response.status_code", a.status),
	)
	s.attempts.Add(ctx, 1, metric.WithAttributes(
		attribute.String("search.provider", a.provider), attribute.String("search.outcome", code)))
	if a.outcome.Code.Answered() {
		return
	}
	span.SetStatus(otelcodes.Error, code)
	span.SetAttributes(attribute.String("error.type", code))
	s.log.LogAttrs(ctx, slog.LevelWarn, "search engine gave no answer",
		slog.String("provider", a.provider), slog.String("outcome", code), slog.String("detail", a.outcome.Detail),
		slog.Int("status", a.status), slog.Duration("latency", a.latency))
}

func names(options []adapter.Option) []string {
	out := make([]string, len(options))
	for i, o := range options {
		out[i] = string(o)
	}
	return out
}

// digest lets equal queries be recognised in traces without being read.
func digest(query string) string {
	sum := sha256.Sum256([]byte(query))
	return hex.EncodeToString(sum[:8])
}
