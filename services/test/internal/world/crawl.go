package world

import (
	"fmt"
	"net/url"
	"testing"
)

// CreateCrawl makes a crawl task and returns its id.
func (c *Client) CreateCrawl(t testing.TB, urls []string, parallel int) string {
	t.Helper()
	made := c.Data(t, "POST", "/api/crawler/tasks", map[string]any{"urls": urls, "parallel": parallel})
	id, _ := made["task_id"].(string)
	if id == "" || made["status"] != "pending" {
		t.Fatalf("a new task is %v", made)
	}
	return id
}

// CrawlResults reads every result of a task, page after page.
func (c *Client) CrawlResults(t testing.TB, task string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for cursor := ""; ; {
		page := c.Data(t, "GET", fmt.Sprintf("/api/crawler/tasks/%s/results?limit=100&cursor=%s", task, url.QueryEscape(cursor)), nil)
		all = append(all, objects(page["items"])...)
		if cursor, _ = page["next_cursor"].(string); cursor == "" || page["has_more"] != true {
			return all
		}
	}
}
