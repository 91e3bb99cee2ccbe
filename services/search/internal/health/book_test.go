package health_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ratelimit"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health"
	"github.com/nanoclaw/nanoclaw/services/search/internal/health/healthtest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestABookOfOneProcess(t *testing.T) {
	healthtest.Run(t, func(*testing.T) (a, b *health.Book) {
		a = health.NewBook(nil, ratelimit.NewMemory(), 0)
		return a, a
	}, time.Sleep)
}

func TestBooksThatShareACache(t *testing.T) {
	healthtest.Run(t, func(*testing.T) (a, b *health.Book) {
		shared, limiter := cache.NewMemory(1<<20), ratelimit.NewMemory()
		return health.NewBook(shared, limiter, 0), health.NewBook(shared, limiter, 0)
	}, time.Sleep)
}

func TestAnEngineComesBackAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := health.NewBook(cache.NewMemory(1<<20), ratelimit.NewMemory(), 0)
		asks := func(c outcome.Code) bool {
			pass, _, err := b.Admit(t.Context(), "bing")
			if err != nil {
				t.Fatal(err)
			}
			if pass != nil {
				pass.Done(t.Context(), health.Ended{Outcome: outcome.Of(c)})
			}
			return pass != nil
		}
		asked := 0
		for range 24 * 60 {
			if asks(outcome.Challenge) {
				asked++
			}
			time.Sleep(time.Minute)
		}
		// 10 min, 30 min, 90 min, 270 min and then every 6 h, each a quarter shorter at
		// the most.
		if asked < 7 || asked > 9 {
			t.Errorf("an engine that blocks was asked %d times a day", asked)
		}
		time.Sleep(6 * time.Hour)
		for range 2 {
			if !asks(outcome.OK) {
				t.Error("it is not asked again once it answers")
			}
		}
	})
}

func TestAProbeThatIsLostIsReplacedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := health.NewBook(nil, ratelimit.NewMemory(), 0)
		pass, _, _ := b.Admit(t.Context(), "bing")
		pass.Done(t.Context(), health.Ended{Outcome: outcome.Of(outcome.Challenge)})
		time.Sleep(10 * time.Minute)
		if lost, _, _ := b.Admit(t.Context(), "bing"); lost == nil {
			t.Fatal("nobody may find out")
		}
		if again, s, _ := b.Admit(t.Context(), "bing"); again != nil || s.Until.IsZero() {
			t.Fatalf("a second one may: %+v", s)
		}
		time.Sleep(30 * time.Second)
		if again, _, _ := b.Admit(t.Context(), "bing"); again == nil {
			t.Error("nobody ever may")
		}
	})
}

func TestAProcessGoesByItsOwnRecordsWhileTheCacheIsAway(t *testing.T) {
	shared := cache.NewMemory(0) // keeps nothing
	b := health.NewBook(shared, ratelimit.NewMemory(), 0)
	pass, _, _ := b.Admit(t.Context(), "bing")
	pass.Done(t.Context(), health.Ended{Outcome: outcome.Of(outcome.Challenge)})
	if pass, _, _ := b.Admit(t.Context(), "bing"); pass != nil {
		t.Error("the block is forgotten")
	}
}

func TestAProbeMayTakeAsLongAsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := health.NewBook(nil, ratelimit.NewMemory(), 2*time.Minute)
		pass, _, _ := b.Admit(t.Context(), "bing")
		pass.Done(t.Context(), health.Ended{Outcome: outcome.Of(outcome.Challenge)})
		time.Sleep(10 * time.Minute)
		if probe, _, _ := b.Admit(t.Context(), "bing"); probe == nil {
			t.Fatal("nobody may find out")
		}
		time.Sleep(119 * time.Second)
		if second, _, _ := b.Admit(t.Context(), "bing"); second != nil {
			t.Error("a second one may while the first is under way")
		}
		time.Sleep(time.Second)
		if next, _, _ := b.Admit(t.Context(), "bing"); next == nil {
			t.Error("nobody may once the first is lost")
		}
	})
}
