package health

import (
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fed feeds outcomes to a closed breaker, a second apart, and gives it with the
// time of the last.
func fed(codes ...outcome.Code) (b Breaker, now time.Time) {
	now = noon
	for _, c := range codes {
		now = now.Add(time.Second)
		b = b.After(now, outcome.Of(c), 0)
	}
	return b, now
}

func TestWhatOpensABreaker(t *testing.T) {
	const (
		ok   = outcome.OK
		down = outcome.Upstream5xx
		slow = outcome.Timeout
		odd  = outcome.DecoySuspected
		none = outcome.EmptyVerified
		gone = outcome.Cancelled
	)
	cases := []struct {
		name string
		fed  []outcome.Code
		open time.Duration // 0: stays closed
	}{
		{"nothing", nil, 0},
		{"two failures in a row", []outcome.Code{down, slow}, 0},
		{"three failures in a row", []outcome.Code{down, slow, down}, 30 * time.Second},
		{"an answer in between", []outcome.Code{down, slow, ok, down}, 0},
		{"most of five", []outcome.Code{down, ok, down, ok, down}, 30 * time.Second},
		{"half of six", []outcome.Code{down, ok, down, ok, ok, down}, 0},
		{"five of other queries' rows", []outcome.Code{odd, odd, odd, odd, odd}, 0},
		{"six of other queries' rows", []outcome.Code{odd, odd, odd, odd, odd, odd}, 30 * time.Second},
		{"a challenge at once", []outcome.Code{ok, ok, ok, ok, outcome.Challenge}, 10 * time.Minute},
		{"a used-up allowance at once", []outcome.Code{outcome.QuotaExhausted}, time.Hour},
		{"callers who leave", []outcome.Code{gone, gone, gone, gone, gone, gone}, 0},
		{"malformed searches", []outcome.Code{outcome.BadRequest, outcome.BadRequest, outcome.BadRequest}, 0},
		{"options that it lacks", []outcome.Code{outcome.UnsupportedOption, outcome.UnsupportedOption, outcome.UnsupportedOption}, 0},
		{"an engine that finds nothing", []outcome.Code{none, none, none, none, none, none}, 0},
		{"nothing found does not hide a row of failures", []outcome.Code{down, none, slow, gone, down}, 30 * time.Second},
		{"layouts that cannot be read", []outcome.Code{outcome.LayoutUnrecognised, outcome.LayoutUnrecognised, outcome.LayoutUnrecognised}, 30 * time.Second},
		{"too many, without a word how long", []outcome.Code{outcome.RateLimited, outcome.RateLimited}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, now := fed(c.fed...)
			want := Closed
			if c.open > 0 {
				want = Open
			}
			if b.Phase(now) != want {
				t.Fatalf("%s, want %s", b.Phase(now), want)
			}
			if c.open > 0 && (b.Until.Sub(now) != c.open || b.Phase(now.Add(c.open-1)) != Open || b.Phase(now.Add(c.open)) != HalfOpen || b.Reason != c.fed[len(c.fed)-1]) {
				t.Errorf("open for %s since %s, want %s", b.Until.Sub(now), b.Reason, c.open)
			}
		})
	}
}

func TestEveryOutcomeIsWeighed(t *testing.T) {
	neutral := map[outcome.Code]bool{outcome.EmptyVerified: true, outcome.Cancelled: true, outcome.BadRequest: true, outcome.UnsupportedOption: true}
	for _, c := range outcome.All() {
		weight, counts := weigh(c)
		if counts == neutral[c] || counts && (weight == 0) != c.Answered() {
			t.Errorf("%s weighs %g, counts %t", c, weight, counts)
		}
	}
}

func TestHowLongABreakerIsOpenGrows(t *testing.T) {
	cases := []struct {
		name string
		code outcome.Code
		want []time.Duration
	}{
		{"a failure", outcome.Timeout, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute}},
		{"a challenge", outcome.Challenge, []time.Duration{10 * time.Minute, 30 * time.Minute, 90 * time.Minute, 270 * time.Minute, 6 * time.Hour, 6 * time.Hour}},
		{"a used-up allowance", outcome.QuotaExhausted, []time.Duration{time.Hour, time.Hour}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, now := fed(c.code)
			for b.Phase(now) == Closed {
				b = b.After(now, outcome.Of(c.code), 0)
			}
			for i, want := range c.want {
				if got := b.Until.Sub(now); got != want {
					t.Fatalf("opening %d is for %s, want %s", i+1, got, want)
				}
				now = b.Until
				b = b.After(now, outcome.Of(c.code), 0)
			}
		})
	}
}

func TestTimesAreSpreadByAQuarterAtMost(t *testing.T) {
	for _, chance := range []float64{0, 0.5, 0.999} {
		b := Breaker{}.After(noon, outcome.Of(outcome.Challenge), chance)
		got := b.Until.Sub(noon)
		if got > 10*time.Minute || got < 7*time.Minute+30*time.Second {
			t.Errorf("chance %g: %s", chance, got)
		}
	}
	if b := (Breaker{}).After(noon, outcome.Outcome{Code: outcome.QuotaExhausted, RetryAfter: time.Hour}, 0.9); b.Until.Sub(noon) != time.Hour {
		t.Errorf("the time that an engine names is spread: %s", b.Until.Sub(noon))
	}
}

func TestAnAnswerClosesAHalfOpenBreakerAlone(t *testing.T) {
	open, now := fed(outcome.Challenge)
	if b := open.After(now.Add(time.Second), outcome.Of(outcome.OK), 0); b.Phase(now.Add(time.Second)) != Open {
		t.Error("an answer to a request sent before closed it")
	}
	half := open.Until
	if b := open.After(half, outcome.Of(outcome.EmptyVerified), 0); b.Phase(half) != HalfOpen {
		t.Errorf("nothing found makes it %s", b.Phase(half))
	}
	closed := open.After(half, outcome.Of(outcome.OK), 0)
	if closed.Phase(half) != Closed {
		t.Fatalf("an answer leaves it %s", closed.Phase(half))
	}
	again := closed.After(half, outcome.Of(outcome.Challenge), 0)
	if got := again.Until.Sub(half); got != 10*time.Minute {
		t.Errorf("after it was closed the first time is %s", got)
	}
}

func TestFailuresUnderWayTogetherAreOne(t *testing.T) {
	b, now := fed(outcome.Challenge)
	until := b.Until
	for range 5 {
		b = b.After(now.Add(time.Second), outcome.Of(outcome.Challenge), 0)
	}
	if b.Opened != 1 || b.Until != until {
		t.Errorf("opened %d times until %s", b.Opened, b.Until)
	}
	long := b.After(now.Add(time.Second), outcome.Outcome{Code: outcome.QuotaExhausted, RetryAfter: 24 * time.Hour}, 0)
	if long.Reason != outcome.QuotaExhausted || long.Until.Sub(now) < 24*time.Hour {
		t.Errorf("a longer reason is not taken: %+v", long)
	}
	if short := long.After(now.Add(2*time.Second), outcome.Of(outcome.Challenge), 0); short.Reason != outcome.QuotaExhausted {
		t.Errorf("a shorter one is: %+v", short)
	}
}

func TestAnEngineIsLeftAloneAsLongAsItSays(t *testing.T) {
	for _, code := range []outcome.Code{outcome.RateLimited, outcome.QuotaExhausted} {
		b := Breaker{}.After(noon, outcome.Outcome{Code: code, RetryAfter: 90 * time.Second}, 0.5)
		if b.Until.Sub(noon) != 90*time.Second {
			t.Errorf("%s: %s", code, b.Until.Sub(noon))
		}
	}
}

func TestOldFailuresAreForgotten(t *testing.T) {
	b := Breaker{}
	for i, after := range []time.Duration{0, time.Second, 6 * time.Minute} {
		if b = b.After(noon.Add(after), outcome.Of(outcome.Timeout), 0); b.Opened != 0 {
			t.Fatalf("failure %d opened it", i+1)
		}
	}
	if len(b.Samples) != 1 {
		t.Errorf("%d samples are kept", len(b.Samples))
	}
	for range 100 {
		b = b.After(noon.Add(6*time.Minute), outcome.Of(outcome.OK), 0)
	}
	if len(b.Samples) != maxSamples {
		t.Errorf("%d samples are kept", len(b.Samples))
	}
}

func TestAWrongClockKeepsNobodyAwayForGood(t *testing.T) {
	b := Breaker{}.After(noon.AddDate(70, 0, 0), outcome.Of(outcome.Challenge), 0)
	if got := b.Phase(noon); got != HalfOpen {
		t.Errorf("opened 70 years from now it is %s", got)
	}
	if again := b.After(noon, outcome.Of(outcome.Challenge), 0); again.Phase(noon) != Open || again.Phase(noon.Add(31*time.Minute)) != HalfOpen {
		t.Errorf("and then %+v", again)
	}
	if got := b.After(noon, outcome.Of(outcome.OK), 0); got.Phase(noon) != Closed {
		t.Errorf("and after an answer %+v", got)
	}
	b = Breaker{}.After(noon.Add(30*time.Second), outcome.Of(outcome.Challenge), 0)
	if got := b.Phase(noon); got != Open {
		t.Errorf("opened by a clock that is half a minute ahead it is %s", got)
	}
	b = Breaker{}.After(noon.AddDate(1, 0, 0), outcome.Of(outcome.Timeout), 0)
	b = b.After(noon, outcome.Of(outcome.Timeout), 0).After(noon, outcome.Of(outcome.Timeout), 0)
	if len(b.Samples) != 2 || b.Phase(noon) != Closed {
		t.Errorf("a failure of next year counts: %+v", b)
	}
}
