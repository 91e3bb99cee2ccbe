package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const now = int64(1_800_000_000_000)

func good(ms int) Page {
	return Page{Outcome: OutcomeFetched, StatusCode: 200, Duration: time.Duration(ms) * time.Millisecond}
}

var (
	refused  = Page{Outcome: OutcomeFailed, Reason: "CONNECTION_REFUSED", Message: "refused", Retryable: true}
	timeout  = Page{Outcome: OutcomeFailed, Reason: ReasonTimeout, Retryable: true}
	throttle = Page{Outcome: OutcomeBlocked, StatusCode: 429}
)

func policy() Policy { return Policy{Gap: 250 * time.Millisecond, MaxRetries: 2} }

func TestHowAHostIsAsked(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pace   Pace
		policy Policy
		free   int
		want   Grant
	}{
		{"for the first time", Pace{}, policy(), 3, Grant{1, 250 * time.Millisecond, 20}},
		{"one of the operator's own", Pace{}, Policy{Gap: time.Second, Local: true}, 3, Grant{3, 0, 32}},
		{"one of the operator's own with a Crawl-delay", Pace{CrawlDelayMS: 1000}, Policy{Local: true}, 3, Grant{3, time.Second, 5}},
		{"without any gap", Pace{}, Policy{}, 5, Grant{1, 0, 32}},
		{"with a Crawl-delay of 1 s", Pace{CrawlDelayMS: 1000}, policy(), 3, Grant{1, time.Second, 5}},
		{"with a Crawl-delay of 5 s", Pace{CrawlDelayMS: 5000}, policy(), 3, Grant{1, 5 * time.Second, 1}},
		{"with a Crawl-delay of an hour", Pace{CrawlDelayMS: 3_600_000}, policy(), 3, Grant{1, time.Minute, 1}},
		{"when it is slow", Pace{LatencyMS: 700}, policy(), 3, Grant{1, 1400 * time.Millisecond, 3}},
		{"when it is very slow", Pace{LatencyMS: 29_000}, policy(), 3, Grant{1, 10 * time.Second, 1}},
		{"when it bears much", Pace{Parallel: 5}, policy(), 4, Grant{4, 250 * time.Millisecond, 20}},
		{"after it failed", Pace{Parallel: 5, Opens: 1, NextAt: now}, policy(), 3, Grant{1, 250 * time.Millisecond, 1}},
		{"after it asked to be left alone", Pace{Blocks: 2, NextAt: now}, policy(), 3, Grant{1, 250 * time.Millisecond, 1}},
		{"long after it failed", Pace{Opens: 2, Blocks: 2, NextAt: now - 3_600_001}, policy(), 3, Grant{1, 250 * time.Millisecond, 20}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.pace.Grant(now, tc.policy, tc.free)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatBecomesOfAnAddress(t *testing.T) {
	after := func(p Page, attempts, blocks int) Page { p.Attempts, p.Blocks = attempts, blocks; return p }
	status := func(code int) Page { return Page{Outcome: OutcomeFetched, StatusCode: code} }
	for _, tc := range []struct {
		name string
		page Page
		want Verdict
	}{
		{"a page", good(10), Verdict{Fate: Came}},
		{"a redirect that led nowhere else", status(304), Verdict{Fate: Came}},
		{"not found", status(404), Verdict{Fate: Failed, Reason: ReasonHTTP, Message: "the server answered 404 Not Found"}},
		{"a status nobody knows", status(499), Verdict{Fate: Failed, Reason: ReasonHTTP, Message: "the server answered 499"}},
		{"a server error", status(500), Verdict{Fate: Again, Wait: time.Second}},
		{"a second server error", after(status(502), 1, 0), Verdict{Fate: Again, Wait: 4 * time.Second}},
		{"a third server error", after(status(503), 2, 0), Verdict{Fate: Failed, Reason: ReasonHTTP, Message: "the server answered 503 Service Unavailable"}},
		{"a request timeout", status(408), Verdict{Fate: Again, Wait: time.Second}},
		{"too early", status(425), Verdict{Fate: Again, Wait: time.Second}},
		{"refused", refused, Verdict{Fate: Again, Wait: time.Second}},
		{"refused for the third time", after(refused, 2, 0), Verdict{Fate: Failed, Reason: "CONNECTION_REFUSED", Message: "refused"}},
		{"what no try would change", Page{Outcome: OutcomeFailed, Reason: "ADDRESS_REFUSED", Message: "private"}, Verdict{Fate: Failed, Reason: "ADDRESS_REFUSED", Message: "private"}},
		{"a failure without words", Page{Outcome: OutcomeFailed}, Verdict{Fate: Failed, Reason: ReasonFailed, Message: "the page could not be fetched"}},
		{"forbidden behind a redirect", Page{Outcome: OutcomeSkipped}, Verdict{Fate: Skipped, Reason: ReasonRobots, Message: "robots.txt forbids it"}},
		{"blocked", throttle, Verdict{Fate: Later, Wait: 5 * time.Second}},
		{"blocked for a time", Page{Outcome: OutcomeFetched, StatusCode: 503, RetryAfter: time.Minute}, Verdict{Fate: Later, Wait: time.Minute}},
		{"blocked after many tries uses none up", after(throttle, 2, 5), Verdict{Fate: Later, Wait: 5 * time.Second}},
		{"blocked for the seventh time", after(throttle, 0, 6), Verdict{Fate: Failed, Reason: ReasonRateLimited, Message: "the server keeps asking to be left alone"}},
		{"blocked for a day", Page{Outcome: OutcomeBlocked, RetryAfter: 24 * time.Hour}, Verdict{Fate: Failed, Reason: ReasonRateLimited, Message: "the server asks to be left alone for 24h0m0s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, _ := (&Pace{}).Page(now, policy(), tc.page)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// watch has the pace see pages and tells when the host may be asked after each.
func watch(p *Pace, pages ...Page) (waits []time.Duration, giveUp string) {
	at := now
	for _, page := range pages {
		var why string
		if _, why = p.Page(at, policy(), page); why != "" {
			giveUp = why
		}
		wait := max(p.NextAt-at, 0)
		waits = append(waits, time.Duration(wait)*time.Millisecond)
		at += wait
	}
	return waits, giveUp
}

func times(n int, p Page) (out []Page) {
	for range n {
		out = append(out, p)
	}
	return out
}

func TestAHostThatFailsIsLeftAloneLongerAndLongerAndThenGivenUp(t *testing.T) {
	p := &Pace{}
	waits, giveUp := watch(p, times(5, refused)...)
	if waits[4] != 30*time.Second || waits[3] != 0 || giveUp != "" {
		t.Errorf("waits %v, %q", waits, giveUp)
	}
	if waits, giveUp = watch(p, refused); waits[0] != 2*time.Minute || giveUp != "" {
		t.Errorf("then %v, %q", waits, giveUp)
	}
	if waits, giveUp = watch(p, refused); waits[0] != 8*time.Minute || giveUp != ReasonUnavailable {
		t.Errorf("then %v, %q", waits, giveUp)
	}
	if waits, giveUp = watch(p, times(3, refused)...); waits[2] != 30*time.Minute || giveUp != ReasonUnavailable {
		t.Errorf("then %v, %q", waits, giveUp)
	}
	if watch(p, good(10)); p.Opens != 0 || p.Failures != 0 {
		t.Errorf("after a page: %+v", p)
	}
	if _, giveUp = watch(p, append(times(4, refused), good(1), refused)...); giveUp != "" || p.Opens != 0 {
		t.Errorf("failures that are not in a row: %+v", p)
	}
	if _, giveUp = watch(p, times(20, Page{Outcome: OutcomeFailed, Reason: "ADDRESS_REFUSED"})...); giveUp != "" || p.Opens != 0 {
		t.Errorf("addresses that we refuse count against the host: %+v", p)
	}
}

func TestAHostThatAsksToBeLeftAloneIs(t *testing.T) {
	p := &Pace{Parallel: 4}
	waits, giveUp := watch(p, times(6, throttle)...)
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}
	if diff := cmp.Diff(want, waits); diff != "" || giveUp != "" {
		t.Errorf("%s%q", diff, giveUp)
	}
	if p.Parallel != 1 {
		t.Errorf("it gets %d at once", p.Parallel)
	}
	if _, giveUp = watch(p, throttle); giveUp != ReasonRateLimited {
		t.Errorf("the seventh time: %q", giveUp)
	}
	long := throttle
	long.RetryAfter = 3 * time.Minute
	if waits, _ = watch(&Pace{}, long); waits[0] != 3*time.Minute {
		t.Errorf("Retry-After of 3 minutes: %v", waits)
	}
	p = &Pace{}
	if _, giveUp = watch(p, Page{Outcome: OutcomeBlocked, RetryAfter: time.Hour}); giveUp != ReasonRateLimited || p.NextAt != now+3_600_000 {
		t.Errorf("Retry-After of an hour: %q, %d", giveUp, p.NextAt-now)
	}
}

func TestTheWindowGrowsSlowlyAndHalves(t *testing.T) {
	p := &Pace{}
	var at []int
	for range 6 {
		watch(p, times(20, good(5))...)
		at = append(at, p.Parallel)
	}
	if diff := cmp.Diff([]int{2, 3, 4, 5, 5, 5}, at); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if watch(p, timeout); p.Parallel != 2 {
		t.Errorf("after a timeout %d at once", p.Parallel)
	}
	if watch(p, throttle); p.Parallel != 1 {
		t.Errorf("after a block %d at once", p.Parallel)
	}
	if p.LatencyMS != 5 {
		t.Errorf("latency %d", p.LatencyMS)
	}
}

func TestRestKeepsTheDistance(t *testing.T) {
	p := &Pace{CrawlDelayMS: 2000, Reason: "x"}
	if p.Rest(now, policy()); p.NextAt != now+2000 || p.Reason != "" {
		t.Errorf("%+v", p)
	}
	p = &Pace{NextAt: now + 60_000, Reason: "blocked"}
	if p.Rest(now, policy()); p.NextAt != now+60_000 || p.Reason != "blocked" {
		t.Errorf("a rest shortens a wait: %+v", p)
	}
}

func TestRobotsThatCannotBeReached(t *testing.T) {
	p := &Pace{}
	for i, want := range []struct {
		wait   int64
		giveUp bool
	}{{5_000, false}, {30_000, false}, {180_000, true}} {
		if giveUp := p.RobotsUnreachable(now, 0, "the server answered 500"); giveUp != want.giveUp || p.NextAt-now != want.wait {
			t.Errorf("time %d: %v, wait %d", i+1, giveUp, p.NextAt-now)
		}
	}
	p = &Pace{}
	if p.RobotsUnreachable(now, time.Minute, ""); p.NextAt-now != 60_000 {
		t.Errorf("asked again before the answer ends: %d", p.NextAt-now)
	}
	if p.RobotsKnown(1500 * time.Millisecond); p.RobotsFailures != 0 || p.CrawlDelayMS != 1500 || p.Reason != "" {
		t.Errorf("%+v", p)
	}
}

func TestJitterSpreadsWithinTheUpperHalf(t *testing.T) {
	for _, j := range []float64{0, 0.5, 1} {
		pol := policy()
		pol.Jitter = func() float64 { return j }
		v, _ := (&Pace{}).Page(now, pol, refused)
		if want := 500*time.Millisecond + time.Duration(j*float64(500*time.Millisecond)); v.Wait != want {
			t.Errorf("jitter %v: %s, want %s", j, v.Wait, want)
		}
	}
}
