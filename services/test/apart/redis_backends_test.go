//go:build backends

package apart

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestRedisGoesInTheMiddleAndComesBack(t *testing.T) {
	w := world.New(t, answering)
	real := redisURL(t)
	u, err := url.Parse(real.Reveal())
	if err != nil {
		t.Fatal("the address of Redis is not a URL")
	}
	l := layLine(t, u.Host)
	u.Host = l.addr
	w.Config.Cache.Driver, w.Config.Cache.URL = "redis", config.Secret(u.String())
	d := deploy(t, w)
	d.startAll()
	c := d.client()
	search := func() (took time.Duration) {
		t.Helper()
		begun := time.Now()
		if got, answer := c.JSON(t, "POST", "/api/search", map[string]any{"query": "nanoclaws " + time.Now().String()}); got != http.StatusOK {
			t.Fatalf("search: %d %v", got, answer)
		}
		return time.Since(begun)
	}
	before := search()
	l.cut()
	first := search()
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	log := d.procs["search"].Stderr()
	if !strings.Contains(log, "Redis does not answer") {
		t.Errorf("search does not say that Redis is away: %s", log)
	}
	l.mend()
	until(t, "search says that Redis is back", func() bool {
		if strings.Contains(d.procs["search"].Stderr(), "Redis answers again") {
			return true
		}
		time.Sleep(500 * time.Millisecond)
		got, answer := c.JSON(t, "POST", "/api/search", map[string]any{"query": "nanoclaws again"})
		if got != http.StatusOK && got != http.StatusTooManyRequests {
			t.Fatalf("search: %d %v", got, answer)
		}
		return false
	})
	t.Logf("a search took %s with Redis and %s when it had just gone", before.Round(time.Millisecond), first.Round(time.Millisecond))
	d.stop()
}
