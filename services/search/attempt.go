package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/answercache"
	"github.com/nanoclaw/nanoclaw/services/search/internal/canon"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Where the answer of an attempt came from.
const (
	cacheHit   = "HIT"
	cacheMiss  = "MISS"
	cacheStale = "STALE"
)

// attempt is one question to one engine and what came of it.
type attempt struct {
	provider string
	family   string
	outcome  outcome.Outcome
	status   int
	latency  time.Duration
	// page has the results that the domain filter let through, each page of the
	// web once.
	page        adapter.Page
	filteredOut int
	// dropped are the options that the engine does not know.
	dropped adapter.Dropped
	// cached is where the answer came from; empty when it was not looked up.
	cached string
	// at is when the engine answered.
	at time.Time
	// cost is what this caller's question cost in US dollars.
	cost float64
	// skipped says that the engine was not asked, and outcome why.
	skipped bool
	// joined says that the answer is that of a question which somebody else had
	// put already.
	joined bool
	// apart says that the results are of another question than those of the
	// answer, and not among them.
	apart bool
}

// attempt asks one engine within its own time limit, or takes its answer of the
// last minutes.
func (s *Service) attempt(ctx context.Context, e candidate, q request, w watcher) attempt {
	ctx, span := s.span(ctx, e.engine, q, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	start := time.Now()
	a := s.answerOf(ctx, e, q, w)
	a.latency = time.Since(start)
	s.record(ctx, span, a)
	w.finished(a)
	return a
}

// span begins the span of an attempt.
func (s *Service) span(ctx context.Context, e *engine, q request, kind ...trace.SpanStartOption) (context.Context, trace.Span) {
	return s.tracer.Start(ctx, "search.attempt", append(kind, trace.WithAttributes(
		attribute.String("search.provider", e.Name()),
		attribute.String("search.query_sha256", digest(q.text)),
	))...)
}

// passOver is the attempt of an engine that is not asked.
func (s *Service) passOver(ctx context.Context, e *engine, q request, o outcome.Outcome, w watcher) attempt {
	ctx, span := s.span(ctx, e, q)
	defer span.End()
	a := attempt{provider: e.Name(), family: e.Capabilities().Family, outcome: o, skipped: true}
	s.record(ctx, span, a)
	w.finished(a)
	return a
}

// answerOf is the answer of the cache, or of the engine.
func (s *Service) answerOf(ctx context.Context, e candidate, q request, w watcher) attempt {
	a := attempt{provider: e.Name(), family: e.Capabilities().Family}
	key, err := answercache.Key(e.setting, q.asked)
	if err != nil {
		a.outcome = outcome.Because(outcome.BadRequest, err.Error())
		return a
	}
	if q.cache == cacheUse {
		if kept, age := s.answers.Get(ctx, key, q.asked); age == answercache.Fresh {
			a.cached = cacheHit
			a.take(kept, q)
			w.received(a)
			return a
		}
		a.cached = cacheMiss
	}
	if !e.unwell {
		w.asking(a.provider, q.text)
	}
	got, joined := s.share(ctx, e.engine, q, key)
	a.skipped, a.joined = got.skipped, joined
	if got.kept {
		a.cached = cacheHit
	}
	if got.billed.CompareAndSwap(false, true) {
		a.cost = got.cost
	}
	a.take(got.answer, q)
	if a.outcome.Code.Answered() {
		w.received(a)
	}
	return a
}

// staleAnswer is an answer of the last hour, for when nobody answers now.
func (s *Service) staleAnswer(ctx context.Context, e *engine, q request, w watcher) (attempt, bool) {
	key, err := answercache.Key(e.setting, q.asked)
	if err != nil || q.cache != cacheUse {
		return attempt{}, false
	}
	kept, age := s.answers.Get(ctx, key, q.asked)
	if age == answercache.Gone {
		return attempt{}, false
	}
	ctx, span := s.span(ctx, e, q)
	defer span.End()
	a := attempt{provider: e.Name(), family: e.Capabilities().Family, cached: cacheStale}
	a.take(kept, q)
	w.received(a)
	s.record(ctx, span, a)
	w.finished(a)
	return a, true
}

// take is the answer as far as it is for this caller: without repeated pages and
// pages outside the caller's domains.
func (a *attempt) take(got answercache.Answer, q request) {
	a.outcome, a.status, a.dropped, a.at = got.Outcome, got.Status, got.Dropped, got.At
	a.page = got.Page
	if !a.outcome.Code.HasResults() {
		return
	}
	seen, out := map[string]bool{}, map[string]bool{}
	var kept []adapter.Result
	for _, r := range got.Page.Results {
		// The filter goes first: addresses of one page may be on both sides of it.
		key := canon.Key(r.URL)
		switch {
		case q.allows(r):
			if !seen[key] {
				seen[key] = true
				kept = append(kept, r)
			}
		case !out[key]:
			out[key] = true
			a.filteredOut++
		}
	}
	a.page.Results = kept
	if len(kept) == 0 {
		a.outcome = outcome.Because(outcome.EmptyAfterFilter, "no result on the domains asked for")
		a.page = a.page.WithoutResults()
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
		attribute.String("search.cache", a.cached),
		attribute.Bool("search.skipped", a.skipped),
		attribute.Bool("search.joined", a.joined),
		attribute.Float64("search.cost_usd", a.cost),
		attribute.Int("http.response.status_code", a.status),
	)
	provider := attribute.String("search.provider", a.provider)
	if a.cached != "" {
		s.lookups.Add(ctx, 1, metric.WithAttributes(provider, attribute.String("search.cache", a.cached)))
	}
	if !a.skipped && !a.joined && a.cached != cacheHit && a.cached != cacheStale {
		s.attempts.Add(ctx, 1, metric.WithAttributes(provider, attribute.String("search.outcome", code)))
	}
	if a.outcome.Code.Answered() || a.skipped {
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
