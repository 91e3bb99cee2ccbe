package crawls

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// researching is the conversation of the design: search, crawl what was found,
// ask for the task until it is done, then sum up.
const researching = `
model: scripted-research
turns:
  - replies:
      - steps:
          - reasoning: "I search first."
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: crawl_batch, arguments: {urls: ["{{url web_search 0}}", "{{url web_search 1}}", "{{url web_search 2}}"], parallel: 2}}
      - steps:
          - call: {name: query_crawl_task, arguments: {task_id: "{{result crawl_batch task_id}}"}}
      - steps:
          - call: {name: query_crawl_task, arguments: {task_id: "{{result crawl_batch task_id}}", wait_seconds: 50}}
      - steps:
          - text: "{{result query_crawl_task status}}, {{result query_crawl_task succeeded}} of {{result query_crawl_task total}}: {{result query_crawl_task results.0.data.content.text}}"
`

func TestAModelSearchesCrawlsWaitsAndSumsUp(t *testing.T) {
	w := world.New(t, researching)
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	conversation := c.Conversation(t)
	answer := c.Data(t, "POST", "/api/conversations/"+conversation+"/messages",
		map[string]any{"content": "How large are nanoclaws? Read all that you find.", "stream": false})
	if answer["finish_reason"] != "stop" {
		t.Errorf("finish_reason = %v", answer["finish_reason"])
	}
	var called []string
	var polled []any
	for _, step := range answer["steps"].([]any) {
		result, ok := step.(map[string]any)["result"].(map[string]any)
		if !ok {
			continue
		}
		called = append(called, fmt.Sprint(result["name"]))
		if result["is_error"] == true {
			t.Errorf("%s failed: %v", result["name"], result["content"])
		}
		if result["name"] == "query_crawl_task" {
			polled = append(polled, result["content"])
		}
	}
	if want := []string{"web_search", "crawl_batch", "query_crawl_task", "query_crawl_task"}; !slices.Equal(called, want) {
		t.Errorf("called %v, want %v", called, want)
	}
	text := fmt.Sprint(answer["content"])
	// One of the three pages is there; the others answer 404, which is an answer.
	if !strings.HasPrefix(text, "completed, 1 of 3: ") || !strings.Contains(text, world.Article) {
		t.Errorf("the answer is %q", text)
	}
	if len(polled) == 2 && !strings.Contains(fmt.Sprint(polled[1]), "404 Not Found") {
		t.Errorf("the task does not say why two pages did not come: %v", polled[1])
	}
}

// The log of the sites has the last word on how they were treated.
func TestNoHostIsAskedFasterThanItsRobotsAllow(t *testing.T) {
	const delay = time.Second
	w := world.New(t, "turns: [{replies: [{steps: [{text: x}]}]}]")
	site := w.NewSites(t, sampletest.Count(4, 20), 0, "User-agent: *\nCrawl-delay: 1\nDisallow: /secret\n")
	s := w.Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	var ids []string
	for task := range 2 { // two tasks share the hosts
		var urls []string
		for i := range site.Hosts {
			for page := range 2 {
				urls = append(urls, site.Page(i, fmt.Sprintf("task%d-page%d", task, page)))
			}
			urls = append(urls, site.Page(i, fmt.Sprintf("secret/task%d", task)))
		}
		ids = append(ids, c.CreateCrawl(t, urls[:min(len(urls), 50)], 5))
	}
	for _, id := range ids {
		waitFor(t, c, id)
		task := c.Data(t, "GET", "/api/crawler/tasks/"+id, nil)
		if task["skipped"].(float64) == 0 || task["failed"].(float64) != 0 || !strings.Contains(fmt.Sprint(task["errors"]), "ROBOTS_DISALLOWED") {
			t.Errorf("the task is %v", task)
		}
	}
	last := map[string]time.Time{}
	shortest := time.Hour
	for _, v := range site.Visits() {
		if strings.HasPrefix(v.Path, "/secret") {
			t.Errorf("%s%s was fetched", v.Host, v.Path)
		}
		if before, ok := last[v.Host]; ok {
			shortest = min(shortest, v.At.Sub(before))
		}
		last[v.Host] = v.At
	}
	// What leaves on time can arrive early after something that arrived late.
	if shortest < delay*95/100 {
		t.Errorf("a host was asked again after %s, its robots.txt says %s", shortest, delay)
	}
	t.Logf("shortest gap %s", shortest)
}
