package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/answercache"
	"github.com/nanoclaw/nanoclaw/services/search/internal/exchange"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
	"github.com/nanoclaw/nanoclaw/services/search/internal/pacing"
	"github.com/nanoclaw/nanoclaw/services/search/internal/transport"
)

// asked is what came of a question that several callers may have put.
type asked struct {
	answer answercache.Answer
	cost   float64
	// billed is set by the caller who pays.
	billed atomic.Bool
	// skipped says that the engine was not asked, since something spoke against it.
	skipped bool
	// pace says that it was skipped since its turn is too far away for who asked.
	pace bool
	// kept says that the answer was there already.
	kept bool
}

// share asks an engine, once for all who want to know the same at the same time.
// The question ends when the last of them has left. joined says that somebody
// else asked first.
func (s *Service) share(ctx context.Context, e *engine, q request, key string) (got *asked, joined bool) {
	if q.cache == cacheOff {
		key += " unkept"
	}
	for {
		wait := s.patience(ctx)
		got, joined, err := s.flights.Do(ctx, key, func(ctx context.Context) *asked { return s.ask(ctx, e, q, key, wait) })
		switch {
		case errors.Is(err, errLate):
			return without(outcome.Because(outcome.Cancelled, "it had not answered when the results of the others were given")), joined
		case err != nil:
			return without(transport.Failure(err)), joined
		case joined && got.pace && got.answer.Outcome.RetryAfter > 0 && got.answer.Outcome.RetryAfter <= s.patience(ctx):
			continue // whoever came first had no time to wait for the turn
		case got.kept && q.cache != cacheUse:
			continue // whoever came first was content with it
		}
		return got, joined
	}
}

// patience is how long a caller waits for an engine's turn.
func (s *Service) patience(ctx context.Context) time.Duration {
	if deadline, limited := ctx.Deadline(); limited {
		return min(s.cfg.QueueWait, time.Until(deadline))
	}
	return s.cfg.QueueWait
}

// ask puts one question to an engine, unless something speaks against asking it
// now. It learns from the answer and keeps it.
func (s *Service) ask(ctx context.Context, e *engine, q request, key string, wait time.Duration) *asked {
	// An equal question may have ended between the look into the cache and this one.
	if q.cache == cacheUse {
		if answer, age := s.answers.Get(ctx, key, q.asked); age == answercache.Fresh {
			return &asked{answer: answer, kept: true}
		}
	}
	pass, status, err := s.health.Admit(ctx, e.place)
	if err != nil {
		return without(transport.Failure(context.Cause(ctx)))
	}
	if pass == nil {
		return passedOver(notAdmitted(status))
	}
	ended := health.Ended{Outcome: outcome.Of(outcome.Cancelled), Unsent: true}
	defer func() { pass.Done(ctx, ended) }()
	if o, ok := s.turn(ctx, e, wait); !ok {
		if ctx.Err() != nil {
			return without(o)
		}
		return &asked{answer: answercache.Answer{Outcome: o}, skipped: true, pace: true}
	}
	got, result := s.put(ctx, e, q)
	ended = result
	if q.cache != cacheOff {
		if err := s.answers.Put(context.WithoutCancel(ctx), key, q.asked, got.answer); err != nil {
			s.log.LogAttrs(ctx, slog.LevelWarn, "an answer was not kept", slog.String("provider", e.Name()), slog.Any("error", err))
		}
	}
	return got
}

// turn waits until the engine may be asked, by our own pace and by what it says
// about its allowance.
func (s *Service) turn(ctx context.Context, e *engine, wait time.Duration) (outcome.Outcome, bool) {
	if until, bought, used := s.health.Look(ctx, e.place).Quota.UsedUp(time.Now()); used && !bought {
		left := time.Until(until)
		if left > wait {
			return outcome.Outcome{Code: outcome.RateLimited, Detail: "not asked: its allowance for the moment is used up", RetryAfter: left}, false
		}
		wait -= left
		if err := pause.For(ctx, left); err != nil {
			return transport.Failure(err), false
		}
	}
	if err := e.gate.Wait(ctx, wait); err != nil {
		return notOurTurn(ctx, err), false
	}
	return outcome.Outcome{}, true
}

// put puts the question and judges the answer.
func (s *Service) put(ctx context.Context, e *engine, q request) (*asked, health.Ended) {
	limited, cancel := context.WithTimeout(ctx, s.cfg.AttemptTimeout)
	defer cancel()
	start := time.Now()
	res := exchange.Ask(limited, s.client, e.Adapter, q.asked, e.trust)
	took := time.Since(start)
	page, o := adapter.Page{CostUSD: res.Page.CostUSD}, outcome.Because(outcome.LayoutUnrecognised, "the answer could not be judged")
	fault := cmp.Or(res.Fault, exchange.Try(func() { page, o = judge(e.Capabilities(), res.Page, res.Outcome, q.text, res.Plan.SentText) }))
	if panicked, ok := errors.AsType[*exchange.PanicError](fault); ok {
		s.log.LogAttrs(ctx, slog.LevelError, "an adapter panicked", slog.String("provider", e.Name()),
			slog.String("panic", fmt.Sprint(panicked.Value)), slog.String("stack", string(panicked.Stack)))
	}
	if o.Code == outcome.LayoutUnrecognised {
		s.keep(ctx, e.Name(), res.Response, q.text, o.Detail)
	}
	got := &asked{cost: page.CostUSD, answer: answercache.Answer{
		Outcome: o, Page: page, Status: res.Response.Status, Dropped: res.Plan.Dropped, At: time.Now(),
	}}
	// That everybody left is no fault of the engine's, not even when it was late.
	left := ctx.Err() != nil && !o.Code.Answered()
	return got, health.Ended{Outcome: o, Took: took, Limits: page.Limits, Unsent: left}
}

// without is what a caller gets who left before there was an answer.
func without(o outcome.Outcome) *asked { return &asked{answer: answercache.Answer{Outcome: o}} }

func passedOver(o outcome.Outcome) *asked {
	return &asked{answer: answercache.Answer{Outcome: o}, skipped: true}
}

// notAdmitted is the outcome of an engine that is left alone for a while.
func notAdmitted(s health.Status) outcome.Outcome {
	o := outcome.Outcome{Code: s.Reason}
	if s.Phase == health.HalfOpen {
		o.Detail = "not asked: another search is finding out whether it answers again"
	} else {
		o.Detail = "not asked: it is left alone after " + string(s.Reason)
	}
	if !s.Until.IsZero() {
		o.RetryAfter = max(time.Until(s.Until), 0)
		most := ""
		if s.Phase == health.HalfOpen {
			most = "at most "
		}
		o.Detail += ", for " + most + outcome.Span(o.RetryAfter) + " more"
	} else if s.Reason == outcome.AuthFailed {
		o.Detail += ", until the configuration is loaded again"
	}
	return o
}

// notOurTurn is the outcome of an engine that was not even asked.
func notOurTurn(ctx context.Context, err error) outcome.Outcome {
	if busy, ok := errors.AsType[*pacing.BusyError](err); ok {
		return outcome.Outcome{Code: outcome.RateLimited, Detail: "not asked: our own pace for this engine", RetryAfter: busy.Wait}
	}
	return transport.Failure(context.Cause(ctx))
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
