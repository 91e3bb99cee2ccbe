// Package ratelimittest is the conformance suite of ratelimit.Limiter: every
// kind of limiter runs it.
package ratelimittest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
)

// slack is how much real time may pass between two lines of a test. What is
// tested here happens over minutes.
const slack = 5 * time.Second

// Test is one test of a limiter that is new. pass lets time go by for it.
type Test func(t *testing.T, l ratelimit.Limiter, pass func(time.Duration))

// Run checks a kind of limiter. each runs a test: in a synctest bubble whose
// time passes by sleeping, or where it is, with turns made older.
func Run(t *testing.T, each func(*testing.T, Test)) {
	for _, test := range []struct {
		name string
		run  Test
	}{
		{"an eleventh turn in a minute is one too many", sliding},
		{"a turn that is waited for", waiting},
		{"a turn that is given back", givenBack},
		{"no limit", unlimited},
		{"a caller who is gone", gone},
		{"a number beyond all measure", huge},
		{"many at once", concurrent},
	} {
		t.Run(test.name, func(t *testing.T) { each(t, test.run) })
	}
}

func take(t *testing.T, l ratelimit.Limiter, key string, limit ratelimit.Limit, longest time.Duration) ratelimit.Turn {
	t.Helper()
	turn, err := l.Take(context.Background(), key, limit, longest)
	if err != nil {
		t.Fatalf("take: %v", err)
	}
	return turn
}

// want checks an answer. Real time that goes by moves the end of a wait.
func want(t *testing.T, got ratelimit.Turn, ok bool, wait time.Duration) {
	t.Helper()
	if got.OK != ok || (got.Wait == 0) != (wait == 0) || (got.Wait-wait).Abs() > slack {
		t.Errorf("taken %t, wait %s; want %t, %s", got.OK, got.Wait, ok, wait)
	}
}

func sliding(t *testing.T, l ratelimit.Limiter, pass func(time.Duration)) {
	limit := ratelimit.Limit{N: 10, Per: 30 * time.Minute}
	for range 10 {
		want(t, take(t, l, "ann", limit, 0), true, 0)
		pass(time.Minute)
	}
	refused := take(t, l, "ann", limit, 0)
	want(t, refused, false, 20*time.Minute)
	want(t, take(t, l, "bob", limit, 0), true, 0)
	pass(refused.Wait)
	want(t, take(t, l, "ann", limit, 0), true, 0)
	want(t, take(t, l, "ann", limit, 0), false, time.Minute) // the window slides
	pass(30 * time.Minute)
	for range 10 {
		want(t, take(t, l, "ann", limit, 0), true, 0)
	}
	want(t, take(t, l, "ann", limit, 0), false, 30*time.Minute)
}

func waiting(t *testing.T, l ratelimit.Limiter, pass func(time.Duration)) {
	limit := ratelimit.Limit{N: 1, Per: 10 * time.Minute}
	want(t, take(t, l, "k", limit, time.Hour), true, 0)
	want(t, take(t, l, "k", limit, time.Hour), true, 10*time.Minute)
	want(t, take(t, l, "k", limit, 10*time.Minute), false, 20*time.Minute)
	want(t, take(t, l, "k", limit, 20*time.Minute), true, 20*time.Minute)
	pass(15 * time.Minute)
	want(t, take(t, l, "k", limit, 0), false, 15*time.Minute)
	pass(15 * time.Minute)
	want(t, take(t, l, "k", limit, 0), true, 0)
	for range 6 {
		take(t, l, "k", limit, time.Hour)
	}
	want(t, take(t, l, "k", limit, 48*time.Hour), false, 70*time.Minute) // too far for anybody
}

func givenBack(t *testing.T, l ratelimit.Limiter, _ func(time.Duration)) {
	limit := ratelimit.Limit{N: 1, Per: 10 * time.Minute}
	take(t, l, "k", limit, 0).GiveBack(context.Background())
	want(t, take(t, l, "k", limit, 0), true, 0)
	second := take(t, l, "k", limit, time.Hour)
	third := take(t, l, "k", limit, time.Hour)
	third.GiveBack(context.Background())
	third.GiveBack(context.Background()) // once more changes nothing
	want(t, take(t, l, "k", limit, time.Hour), true, 20*time.Minute)
	second.GiveBack(context.Background())
	want(t, take(t, l, "k", limit, time.Hour), true, 30*time.Minute) // the one behind keeps its time
	refused := take(t, l, "k", limit, 0)
	refused.GiveBack(context.Background())
	want(t, take(t, l, "k", limit, 0), false, 40*time.Minute)
}

func unlimited(t *testing.T, l ratelimit.Limiter, _ func(time.Duration)) {
	for _, limit := range []ratelimit.Limit{{}, {N: -1, Per: time.Hour}, {N: 1}, {N: 1, Per: -1}} {
		for range 20 {
			turn := take(t, l, "k", limit, 0)
			want(t, turn, true, 0)
			turn.GiveBack(context.Background())
		}
	}
}

func gone(t *testing.T, l ratelimit.Limiter, _ func(time.Duration)) {
	limit := ratelimit.Limit{N: 1, Per: time.Hour}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Take(ctx, "k", limit, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	turn := take(t, l, "k", limit, 0)
	want(t, turn, true, 0) // it took no turn
	turn.GiveBack(ctx)     // as those do who leave
	want(t, take(t, l, "k", limit, 0), true, 0)
}

func huge(t *testing.T, l ratelimit.Limiter, _ func(time.Duration)) {
	limit := ratelimit.Limit{N: 1 << 40, Per: 24 * time.Hour}
	for range ratelimit.MaxN {
		if turn := take(t, l, "k", limit, 0); !turn.OK {
			t.Fatal("refused")
		}
	}
	if turn := take(t, l, "k", limit, 0); turn.OK {
		t.Errorf("more than %d turns were handed out", ratelimit.MaxN)
	}
}

func concurrent(t *testing.T, l ratelimit.Limiter, _ func(time.Duration)) {
	limit := ratelimit.Limit{N: 20, Per: time.Hour}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 25 {
				turn, err := l.Take(context.Background(), fmt.Sprint("key ", i%2), limit, 0)
				if err != nil {
					t.Errorf("take: %v", err)
				}
				if turn.OK {
					taken.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := taken.Load(); n != 40 {
		t.Errorf("two keys gave %d turns, want 40", n)
	}
}
