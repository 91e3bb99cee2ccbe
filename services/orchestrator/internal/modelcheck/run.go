package modelcheck

import (
	"context"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

const (
	// maxFailedInARow calls are made before the rest is left.
	maxFailedInARow = 3
	// longestWait is how long a provider may ask to wait before the rest is left.
	longestWait = time.Minute
	// maxWaits of one round.
	maxWaits = 3
)

// Progress is told after each round, and before each wait.
type Progress struct {
	// Round is that of the latest result, from 1 to Rounds.
	Round, Rounds int
	Result        Result
	// Wait is how long the provider asked to wait before the round is asked
	// again; 0 after a round.
	Wait time.Duration
}

// Run asks the cases one after the other. It stops early, and says why, where the
// rest would fare no better: at a refused key, an unknown model, an empty account,
// a long wait, several failures in a row, or the end of ctx. The round that the
// end of ctx interrupts is not among the results.
func Run(ctx context.Context, model provider.Streamer, cases []Case, tell func(Progress)) (results []Result, stopped string) {
	failed := 0
	for i, c := range cases {
		r := Judge(c, ask(ctx, model, c))
		for waits := 0; waits < maxWaits; waits++ {
			e := r.Failure()
			if e == nil || e.Kind != provider.KindRateLimited || e.RetryAfter <= 0 || e.RetryAfter > longestWait {
				break
			}
			tell(Progress{Round: i, Rounds: len(cases), Wait: e.RetryAfter})
			if pause.For(ctx, e.RetryAfter) != nil {
				return results, interrupted(ctx)
			}
			r = Judge(c, ask(ctx, model, c))
		}
		if ctx.Err() != nil && r.Answer.Err != nil {
			return results, interrupted(ctx)
		}
		results = append(results, r)
		tell(Progress{Round: i + 1, Rounds: len(cases), Result: r})
		e := r.Failure()
		if e == nil {
			failed = 0
			continue
		}
		if failed++; i+1 == len(cases) {
			break
		}
		if why := hopeless(e, failed); why != "" {
			return results, why
		}
	}
	return results, ""
}

func interrupted(ctx context.Context) string {
	if ctx.Err() == context.DeadlineExceeded {
		return "the time was up"
	}
	return "interrupted"
}

// hopeless says why the rest would fare no better after a failure, the last of so
// many in a row; empty when it may.
func hopeless(e *provider.Error, failed int) string {
	switch {
	case e.Kind == provider.KindAuth, e.Kind == provider.KindNotFound, e.Kind == provider.KindQuota:
		return "every further call would fail in the same way"
	case e.Kind == provider.KindTransport && !e.Retryable():
		return "every further call would fail in the same way"
	case e.RetryAfter > longestWait:
		return fmt.Sprintf("the provider asks to wait %s", e.RetryAfter.Round(time.Second))
	case failed >= maxFailedInARow:
		return fmt.Sprintf("%d calls in a row failed", failed)
	}
	return ""
}

// ask makes one call and takes its times.
func ask(ctx context.Context, model provider.Streamer, c Case) Answer {
	var a Answer
	pieces := map[int]int{}
	began := time.Now()
	a.Response, a.Err = model.Stream(ctx, c.Request, func(d provider.Delta) error {
		if a.First == 0 {
			a.First = time.Since(began)
		}
		if d.Kind == provider.CallPiece && d.Call.Arguments != "" {
			pieces[d.Call.Ordinal]++
			a.Fragments = max(a.Fragments, pieces[d.Call.Ordinal])
		}
		return nil
	})
	a.Took = time.Since(began)
	return a
}
