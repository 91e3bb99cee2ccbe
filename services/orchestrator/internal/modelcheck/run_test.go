package modelcheck

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// script answers each call in turn; the last answer again and again. Without one
// it answers as it was asked.
type script struct {
	answers []func(context.Context) error
	cases   []Case
	calls   int
	round   int
}

func (s *script) Stream(ctx context.Context, _ provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
	var answer func(context.Context) error
	if len(s.answers) > 0 {
		answer = s.answers[min(s.calls, len(s.answers)-1)]
	}
	s.calls++
	if answer != nil {
		if err := answer(ctx); err != nil {
			if e, ok := err.(*provider.Error); !ok || e.Kind != provider.KindRateLimited || e.RetryAfter > longestWait || e.RetryAfter == 0 {
				s.round++
			}
			return provider.Response{}, err
		}
	}
	resp := perfect(s.cases[s.round]).Response
	s.round++
	time.Sleep(10 * time.Millisecond)
	for i, c := range resp.Calls {
		for _, piece := range []string{c.Arguments[:1], c.Arguments[1:]} {
			if err := yield(provider.Delta{Kind: provider.CallPiece, Call: provider.CallFragment{Ordinal: i, Arguments: piece}}); err != nil {
				return provider.Response{}, err
			}
		}
	}
	time.Sleep(30 * time.Millisecond)
	return resp, nil
}

// fails is an answer that is an error.
func fails(kind provider.Kind, wait time.Duration) func(context.Context) error {
	return func(context.Context) error {
		return &provider.Error{Kind: kind, Message: string(kind), RetryAfter: wait}
	}
}

func works(context.Context) error { return nil }

func TestRunsStopWhereTheRestWouldFareNoBetter(t *testing.T) {
	for _, tc := range []struct {
		name    string
		answers []func(context.Context) error
		asked   int // rounds with a result
		calls   int
		passed  int
		stopped string
		took    time.Duration
	}{
		{"all is well", nil, 8, 8, 8, "", 320 * time.Millisecond},
		{"a refused key", []func(context.Context) error{fails(provider.KindAuth, 0)}, 1, 1, 0, "every further call would fail in the same way", 0},
		{"an unknown model", []func(context.Context) error{fails(provider.KindNotFound, 0)}, 1, 1, 0, "every further call would fail in the same way", 0},
		{"an account that is used up on the way", []func(context.Context) error{works, works, fails(provider.KindQuota, 0)}, 3, 3, 2, "every further call would fail in the same way", 80 * time.Millisecond},
		{"one failure", []func(context.Context) error{works, fails(provider.KindServer, 0), works}, 8, 8, 7, "", 280 * time.Millisecond},
		{"failures in a row", []func(context.Context) error{works, fails(provider.KindServer, 0)}, 4, 4, 1, "3 calls in a row failed", 40 * time.Millisecond},
		{"too fast, and waited for", []func(context.Context) error{works, fails(provider.KindRateLimited, 7*time.Second), works}, 8, 9, 8, "", 7320 * time.Millisecond},
		{"too fast again and again", []func(context.Context) error{fails(provider.KindRateLimited, time.Second)}, 3, 12, 0, "3 calls in a row failed", 9 * time.Second},
		{"too fast for an hour", []func(context.Context) error{fails(provider.KindRateLimited, time.Hour)}, 1, 1, 0, "the provider asks to wait 1h0m0s", 0},
		{"too fast for nobody knows how long", []func(context.Context) error{fails(provider.KindRateLimited, 0), works}, 8, 8, 7, "", 280 * time.Millisecond},
		{"refused as it is, by some kinds", []func(context.Context) error{works, fails(provider.KindBadRequest, 0), fails(provider.KindBadRequest, 0), works}, 8, 8, 6, "", 240 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cases := Generate(1, 8, 100)
				s := &script{answers: tc.answers, cases: cases}
				told, began := 0, time.Now()
				results, stopped := Run(t.Context(), s, cases, func(p Progress) {
					if p.Wait == 0 {
						told++
					}
					if p.Rounds != 8 || p.Wait == 0 && p.Round != told {
						t.Errorf("progress %+v", p)
					}
				})
				if len(results) != tc.asked || told != tc.asked || s.calls != tc.calls || stopped != tc.stopped || time.Since(began) != tc.took {
					t.Errorf("%d results, %d told, %d calls, stopped %q, after %s", len(results), told, s.calls, stopped, time.Since(began))
				}
				sum := Summarize(results)
				if sum.Total.Passed != (Count{tc.passed, tc.asked}) {
					t.Errorf("passed %v", sum.Total.Passed)
				}
				if tc.passed > 0 && (sum.FirstToken != Quantiles{10, 10} || sum.Latency != Quantiles{40, 40} || sum.Streamed.N != tc.passed) {
					t.Errorf("first %v, latency %v, streamed %v", sum.FirstToken, sum.Latency, sum.Streamed)
				}
			})
		})
	}
}

func TestTheEndOfTheContextKeepsWhatWasFound(t *testing.T) {
	hangs := func(ctx context.Context) error {
		<-ctx.Done()
		return &provider.Error{Kind: provider.KindCancelled, Err: ctx.Err()}
	}
	for _, tc := range []struct {
		name    string
		answer  func(context.Context) error
		end     func(context.Context) (context.Context, context.CancelFunc)
		stopped string
	}{
		{"in a call", hangs, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, "the time was up"},
		{"in a wait", fails(provider.KindRateLimited, time.Minute), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, "the time was up"},
		{"by a person", hangs, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, "interrupted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := tc.end(t.Context())
				defer cancel()
				cases := Generate(1, 8, 100)
				results, stopped := Run(ctx, &script{answers: []func(context.Context) error{works, works, tc.answer}, cases: cases}, cases, func(Progress) {})
				if len(results) != 2 || !results[1].Passed || stopped != tc.stopped {
					t.Errorf("%d results, stopped %q", len(results), stopped)
				}
			})
		})
	}
}

func TestOtherSettingsAreTriedWithWhatFailed(t *testing.T) {
	cases := Generate(1, len(kinds), 100)
	var results []Result
	for _, c := range cases[:10] {
		a := perfect(c)
		if c.Nth == 3 || c.Nth == 7 {
			a.Response.Calls = nil
		}
		results = append(results, Judge(c, a))
	}
	var nth []int
	again := Retry(cases, results, 6)
	for _, c := range again {
		nth = append(nth, c.Nth)
	}
	if diff := cmp.Diff([]int{3, 7, 0, 1, 2, 4}, nth); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if of := Of(again, results); len(of) != 6 {
		t.Errorf("%d results", len(of))
	}
	if all := Retry(cases, nil, 100); len(all) != len(kinds)-1 { // that without a tool is left out
		t.Errorf("%d cases", len(all))
	}
}
