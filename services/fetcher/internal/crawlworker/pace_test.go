package crawlworker

import (
	"net/http"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker/crawltest"
)

func TestAHostIsAskedAsTheGrantSays(t *testing.T) {
	tests := []struct {
		name             string
		parallel         int
		gap, serve, dial time.Duration
		most             int64
		takes            time.Duration // 10 pages at the most
	}{
		{"one after the other", 1, 0, 100 * time.Millisecond, 0, 1, time.Second},
		{"three at once", 3, 0, 100 * time.Millisecond, 0, 3, 400 * time.Millisecond},
		{"more at once than there are pages", 64, 0, 100 * time.Millisecond, 0, 10, 100 * time.Millisecond},
		{"a gap", 1, time.Second, 10 * time.Millisecond, 0, 1, 9*time.Second + 10*time.Millisecond},
		{"a gap, and several at once since they are slow", 3, time.Second, 2500 * time.Millisecond, 0, 3, 12 * time.Second},
		{"a gap that a slow server makes longer", 1, time.Second, 3 * time.Second, 0, 1, 30 * time.Second},
		{"a gap while connecting is slow", 3, 200 * time.Millisecond, 500 * time.Millisecond, 150 * time.Millisecond, 3, 4 * time.Second},
		{"no grant", 0, 0, 100 * time.Millisecond, 0, 1, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log visits
			bubble(t, tt.dial, func(w http.ResponseWriter, r *http.Request) {
				log.enter()
				defer log.leave()
				time.Sleep(tt.serve)
				page(w, r)
			}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				halt := running(t, cfg)
				begin := time.Now()
				l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(tt.parallel, tt.gap), paths(10)...))
				<-l.Finished
				took := time.Since(begin)
				halt()
				if len(l.Pages()) != 10 || len(log.times()) != 10 {
					t.Errorf("%d pages, %d requests", len(l.Pages()), len(log.times()))
				}
				if log.closest() < tt.gap || log.most.Load() != tt.most || took > tt.takes {
					t.Errorf("%s apart, %d at once, %s in all; want %s, %d, %s", log.closest(), log.most.Load(), took, tt.gap, tt.most, tt.takes)
				}
			})
		})
	}
}

func TestRedirectsOnTheHostKeepTheGapAndAreNotTimedForIt(t *testing.T) {
	const gap = 50 * time.Second // longer than a fetch may take
	var log visits
	bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
		log.enter()
		defer log.leave()
		if len(r.URL.Path) < 6 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
			return
		}
		page(w, r)
	}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(2, gap), "/a", "/b"))
		<-l.Finished
		halt()
		if len(log.times()) != 10 || log.closest() < gap {
			t.Errorf("%d requests, %s apart", len(log.times()), log.closest())
		}
		for _, p := range l.Pages() {
			if p.GetOutcome() != "fetched" {
				t.Errorf("%v", p)
			}
		}
	})
}

func TestAHostThatAsksToBeLeftAloneIsAskedNoMore(t *testing.T) {
	for _, tt := range []struct {
		name     string
		parallel int
		gap      time.Duration
		path     string // the answer to the third request
		requests int    // at the most: who asks first is not certain
		dropped  int    // requests without a page
	}{
		{"one at a time", 1, 0, "/busy", 3, 0},
		{"others are under way", 3, 0, "/busy", 3, 0},
		{"others wait for their turn", 3, time.Second, "/busy", 3, 0},
		{"a redirect waits for its turn", 2, time.Second, "/redirect", 4, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log visits
			bubble(t, 0, func(w http.ResponseWriter, r *http.Request) {
				log.enter()
				defer log.leave()
				time.Sleep(50 * time.Millisecond)
				switch r.URL.Path {
				default:
					time.Sleep(50 * time.Millisecond)
				case "/redirect":
					http.Redirect(w, r, "/never", http.StatusFound)
				case "/busy":
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}, func(t *testing.T, m *crawltest.Manager, cfg *Config) {
				halt := running(t, cfg)
				all := append(append([]string{"/a", "/b"}, tt.path, "/busy2"), paths(20)...)
				b := crawltest.Batch("1", "http://site", crawltest.Grant(tt.parallel, tt.gap), all...)
				b.Targets[3].Url = "http://site/busy"
				l := m.Offer(b)
				<-l.Finished
				halt()
				if n := len(log.times()); n > tt.requests || len(l.Pages()) != n-tt.dropped {
					t.Errorf("%d requests, %d pages; want %d, %d less", n, len(l.Pages()), tt.requests, tt.dropped)
				}
			})
		})
	}
}

func TestAHostThatDoesNotAnswerIsGivenUpAfterFiveFailures(t *testing.T) {
	bubble(t, time.Minute, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) { // no connection in time
		halt := running(t, cfg)
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(1, 0), paths(20)...))
		<-l.Finished
		halt()
		if n := len(l.Pages()); n != maxFailuresInARow {
			t.Errorf("%d addresses were tried", n)
		}
	})
}

func TestARequestThatIsNeverWrittenGivesItsTurnOn(t *testing.T) {
	bubble(t, time.Minute, page, func(t *testing.T, m *crawltest.Manager, cfg *Config) { // no connection in time
		halt := running(t, cfg)
		begin := time.Now()
		l := m.Offer(crawltest.Batch("1", "http://site", crawltest.Grant(2, time.Second), "/a", "/b", "/c"))
		<-l.Finished
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("three requests of 5 s took %s", took)
		}
		halt()
	})
}
