package crawlworker

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
)

func TestABatchIsGivenUpWhenNothingIsHeardUntilItsLeaseEnds(t *testing.T) {
	var log visits
	bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		log.enter()
		defer log.leave()
		page(w, r)
	}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, time.Second), paths(32)...))
		<-l.Begun
		time.Sleep(10*time.Second + 500*time.Millisecond)
		committed := len(l.Pages())
		m.Away(status.Error(codes.Unavailable, "away"))
		calls := m.Calls("CommitBatch") + m.Calls("ExtendLease") + m.Calls("LeaseBatch")
		begin := time.Now()
		time.Sleep(30 * time.Second)
		calls = m.Calls("CommitBatch") + m.Calls("ExtendLease") + m.Calls("LeaseBatch") - calls
		times := log.times()
		if last := times[len(times)-1].Sub(begin); last < 12*time.Second || last > 15*time.Second {
			t.Errorf("the last request was %s after the manager went away", last)
		}
		if calls > 60 {
			t.Errorf("%d calls in 30 s while the manager is away", calls)
		}
		m.Away(nil)
		next := m.Offer(crawltest.Batch("2", "http://site", crawltest.Grant(1, 0), "/a"))
		<-next.Finished
		if n := len(l.Pages()); n != committed || n < 9 {
			t.Errorf("%d pages, %d before the manager went away", n, committed)
		}
		halt()
	})
}

func TestStoppingIsBoundedWhileTheManagerIsAway(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, time.Minute), "/a", "/b"))
		<-l.Begun
		time.Sleep(100 * time.Millisecond) // one page is there, and not committed
		m.Away(status.Error(codes.Unavailable, "away"))
		if took := halt(); took != DefaultTimes().Drain {
			t.Errorf("stopping took %s", took)
		}
		if len(l.Parts()) != 0 {
			t.Errorf("%d parts", len(l.Parts()))
		}
	})
}

func TestStoppingWithoutWorkTakesNoTime(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, _ *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		synctest.Wait()
		if took := halt(); took != 0 {
			t.Errorf("stopping took %s", took)
		}
	})
}

func TestAnIdleWorkerAsksRarely(t *testing.T) {
	for name, away := range map[string]error{
		"nothing to do":                       nil,
		"the manager is away":                 status.Error(codes.Unavailable, "away"),
		"the manager does not know us":        status.Error(codes.PermissionDenied, "no"),
		"the manager never waits for a batch": errNoWait,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				if errors.Is(away, errNoWait) {
					cfg.Times = DefaultTimes()
					cfg.Times.Poll = 0
				} else {
					m.Away(away)
				}
				halt := running(t, cfg)
				time.Sleep(time.Minute)
				if calls := m.Calls("LeaseBatch"); calls < 3 || calls > 250 || m.Calls("ExtendLease") != 0 {
					t.Errorf("%d calls in a minute, %d renewals", calls, m.Calls("ExtendLease"))
				}
				halt()
			})
		})
	}
}

var errNoWait = errors.New("no wait")

func TestAllLeasesAreRenewedTogetherOnceASecond(t *testing.T) {
	bubble(t, 0, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		for _, id := range []string{"1", "2", "3"} {
			m.Offer(crawltest.Batch(id, "http://site", crawltest.Grant(1, time.Minute), "/a", "/b"))
		}
		time.Sleep(27*time.Second + 500*time.Millisecond)
		if n := m.Calls("ExtendLease"); n != 30 {
			t.Errorf("%d renewals in 27 s", n)
		}
		halt()
	})
}
