package crawls

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

const (
	tasks   = 10
	perTask = 50
	sites   = 5
)

// within bounds everything that a test waits for.
const within = 2 * time.Minute

func TestNoPageIsLostOrRecordedTwiceWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	kills := sampletest.Count(5, 20)
	random := sampletest.Random(sampletest.Seed(t))
	w := world.New(t, "turns: [{replies: [{steps: [{text: x}]}]}]")
	site := w.NewSites(t, sites, 50*time.Millisecond, "")
	config := w.ConfigFile(t)
	start := func() *world.Process { return world.Serve(t, world.Program(t, "nanoclaw"), config) }
	p := start()
	ids := createTasks(t, p.Client, site)
	for range kills {
		time.Sleep(time.Duration(100+random.IntN(600)) * time.Millisecond) // the kill comes at any moment
		p.Kill()
		p = start()
	}
	for i, id := range ids {
		checkTask(t, p.Client, id, i)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	checkVisits(t, site, kills)
}

// createTasks makes the tasks, their pages spread over the sites.
func createTasks(t *testing.T, c *world.Client, site *world.Sites) []string {
	t.Helper()
	var ids []string
	for task := range tasks {
		var urls []string
		for page := range perTask {
			urls = append(urls, site.Page(task, pageName(task, page)))
		}
		ids = append(ids, c.CreateCrawl(t, urls, 5))
	}
	return ids
}

func pageName(task, page int) string { return fmt.Sprintf("task%d-page%d", task, page) }

// checkTask waits for a task and checks that every page was recorded once, with
// its own text.
func checkTask(t *testing.T, c *world.Client, id string, number int) {
	t.Helper()
	waitFor(t, c, id)
	task := c.Data(t, "GET", "/api/crawler/tasks/"+id, nil)
	if task["status"] != "completed" || task["outcome"] != "ok" || task["progress"] != float64(perTask) || task["percent"] != float64(100) {
		t.Errorf("task %d is %v %v, %v of %v", number, task["status"], task["outcome"], task["progress"], task["total"])
	}
	seen := map[string]int{}
	for i, r := range c.CrawlResults(t, id) {
		seen[fmt.Sprint(r["url"])]++
		_, name, _ := strings.Cut(strings.TrimPrefix(fmt.Sprint(r["url"]), "http://"), "/")
		if r["ok"] != true || int(r["seq"].(float64)) != i+1 || !strings.Contains(fmt.Sprint(r["data"]), "This page is called "+name+" ") {
			t.Errorf("task %d, result %d: %v", number, i+1, r)
		}
	}
	if len(seen) != perTask || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
		t.Errorf("task %d has %d different results of %d", number, len(seen), perTask)
	}
}

// waitFor follows the events of a task to their end, and checks that their
// numbers have no gap.
func waitFor(t *testing.T, c *world.Client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	last, done := 0, false
	for !done {
		res, err := c.Do(ctx, "GET", "/api/crawler/tasks/"+id+"/events", nil, "Last-Event-ID", fmt.Sprint(last))
		if err != nil {
			t.Fatalf("task %s: %v", id, err)
		}
		world.Events(res.Body, func(e world.Event) bool {
			if e.ID != "" {
				if e.ID != fmt.Sprint(last+1) {
					t.Errorf("task %s: event %s after %d", id, e.ID, last)
				}
				_, _ = fmt.Sscan(e.ID, &last)
			}
			done = e.Name == "done"
			return !done
		})
		_ = res.Body.Close()
	}
}

// checkVisits checks that only what was not committed was fetched again.
func checkVisits(t *testing.T, site *world.Sites, kills int) {
	t.Helper()
	hits := map[string]int{}
	for _, v := range site.Visits() {
		hits[v.Host+v.Path]++
	}
	again := 0
	for page, n := range hits {
		again += n - 1
		if n > 1+kills {
			t.Errorf("%s was fetched %d times", page, n)
		}
	}
	if len(hits) != tasks*perTask {
		t.Errorf("%d different pages were fetched, want %d", len(hits), tasks*perTask)
	}
	// A batch of 32 and what is in flight, at each of the hosts being fetched.
	if most := kills * sites * 37; again > most {
		t.Errorf("%d fetches were repeated in %d kills, more than %d", again, kills, most)
	}
	t.Logf("%d kills: %d pages, %d fetched again", kills, len(hits), again)
}
