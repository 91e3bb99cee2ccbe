package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/account"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestARunWhoseAccountIsRefusedDoesNotCall(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("m", "n>b", "b")
		w.change("n", func(n *Model) { n.Account = w.models["m"].Account }) // one key for both
		w.scripts = map[string][]reply{"m": {tries(fail("", broke(provider.KindQuota)), say("From m."))}, "n": {say("From n.")}, "b": {say("From b.")}}
		e := w.engine("a")
		e.finish()
		r := e.finish()
		if outcome(r) != "failed MODEL_QUOTA_EXHAUSTED" || !strings.Contains(r.ErrorMessage, "It says quota. It is not asked again before 2000-01-01 01:00:0") || r.ErrorRetryable {
			t.Errorf("%s: %s", outcome(r), r.ErrorMessage)
		}
		if got := w.modelCalls(r); got != "failed" || w.log(r) != "run_started error" {
			t.Errorf("model calls are %s: %s", got, w.log(r))
		}
		req := w.question("")
		req.Model = "n"
		st, err := e.Start(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r = e.ended(st.Run)
		said := w.notices(r, noticeFailover)
		if outcome(r) != "completed stop" || w.answer(r) != "From b." || len(said) != 1 || !strings.HasPrefix(said[0], "n does not answer: It says quota. It is not asked again before ") {
			t.Errorf("%s %q %q", outcome(r), w.answer(r), said)
		}
		if got := strings.Join(w.asked, " "); got != "m b" {
			t.Errorf("asked %s", got)
		}
		time.Sleep(time.Hour)
		if r := e.finish(); outcome(r) != "completed stop" || w.answer(r) != "From m." {
			t.Errorf("after an hour: %s %q", outcome(r), w.answer(r))
		}
	})
}

func TestRunsWaitForAnAccountThatIsAskedAgainSoon(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("m")
		w.cfg.Limits.RunningPerUser = 10
		slow := &provider.Error{Kind: provider.KindRateLimited, Message: "Slow down.", RetryAfter: 10 * time.Second}
		var probes atomic.Int32
		answer := func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			probes.Add(1)
			time.Sleep(8 * time.Second) // before its first word
			probes.Add(-1)
			return say("Yes.")(ctx, req, yield)
		}
		w.script = []reply{tries(fail("", slow), func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			defer func() {
				if n := probes.Load(); n != 0 {
					t.Errorf("%d calls were made beside the one", n)
				}
			}()
			return answer(ctx, req, yield)
		}, say("Yes."))}
		e := w.engine("a")
		first := e.ask("")
		synctest.Wait()
		runs := []schema.Run{first}
		for range 5 {
			runs = append(runs, e.ask(""))
		}
		for _, r := range runs {
			if r = e.ended(r); outcome(r) != "completed stop" {
				t.Errorf("%s: %s (%s)", outcome(r), r.ErrorMessage, w.log(r))
			}
		}
		if n := len(w.asked); n != 7 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestReadersAreToldOfARefusalBeforeAnybodyWaits(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t, echo)
		w.family("m")
		w.script = []reply{call("echo"), say("Done.")}
		refuse := func(after time.Duration) {
			c, _ := w.models["m"].Account.Enter()
			c.End(&provider.Error{Kind: provider.KindRateLimited, Message: "Slow down.", RetryAfter: after})
		}
		w.script[0] = func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
			defer refuse(30 * time.Second) // another run is told to wait
			return call("echo")(ctx, req, yield)
		}
		e := w.engine("a")
		r := e.ask("")
		time.Sleep(10 * time.Second)
		said := w.notices(r, "retry")
		if want := "Slow down. It is not asked again before 2000-01-01 00:00:30 UTC. Trying again in 30s."; len(said) != 1 || said[0] != want {
			t.Errorf("said %q, want %q", said, want)
		}
		if r = e.ended(r); outcome(r) != "completed stop" || w.log(r) != "run_started tool_call usage tool_result notice:retry message usage done" {
			t.Errorf("%s: %s", outcome(r), w.log(r))
		}
	})
}

func TestTheTextOfAnOwnerThatDiedIsDroppedAlsoWhenTheNextMayNotAsk(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("m")
		w.script = []reply{hang("half an ")}
		first := w.engine("a")
		r := first.ask("")
		synctest.Wait()
		first.crash()
		c, _ := w.models["m"].Account.Enter()
		c.End(broke(provider.KindQuota))
		if r = w.recovered("b").ended(r); outcome(r) != "failed MODEL_QUOTA_EXHAUSTED" || w.log(r) != "run_started round_restarted error" {
			t.Errorf("%s: %s", outcome(r), w.log(r))
		}
	})
}

func TestAPanicFreesThePlaceOfTheOneCall(t *testing.T) {
	in(t, func(t *testing.T) {
		w := newWorld(t)
		w.family("m")
		w.script = []reply{tries(fail("", broke(provider.KindAuth)), func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
			panic("x")
		}, say("Yes."))}
		e := w.engine("a")
		for _, want := range []string{"failed MODEL_AUTH_FAILED", "failed INTERNAL", "completed stop"} {
			if r := e.finish(); outcome(r) != want {
				t.Errorf("%s, want %s", outcome(r), want)
			}
			time.Sleep(5 * time.Minute)
		}
	})
}

func TestNobodyWaitsForAnAccountForLong(t *testing.T) {
	wait := func(kind provider.Kind, after time.Duration) error {
		return &provider.Error{Kind: kind, RetryAfter: after, Err: account.ErrOpen}
	}
	for _, tc := range []struct {
		name   string
		failed []error
		again  []bool
	}{
		{"a short wait", []error{wait(provider.KindRateLimited, 10*time.Second)}, []bool{true}},
		{"a long wait", []error{wait(provider.KindRateLimited, 2*time.Minute)}, []bool{false}},
		{"many short ones", slices.Repeat([]error{wait(provider.KindRateLimited, 25*time.Second)}, 3), []bool{true, true, false}},
		{"credit", []error{wait(provider.KindQuota, time.Second)}, []bool{false}},
		{"a key", []error{wait(provider.KindAuth, time.Second)}, []bool{false}},
		{"an error of ours", []error{errors.New("x")}, []bool{false}},
	} {
		p := patience{cfg: DefaultConfig()}
		for i, failed := range tc.failed {
			if _, again := p.again(failed); again != tc.again[i] {
				t.Errorf("%s: after failure %d: again = %v", tc.name, i+1, again)
			}
		}
	}
}
