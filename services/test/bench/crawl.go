package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/pause"
)

const (
	crawlHosts = 50
	// crawlInFlight is what a fetcher as shipped may have under way: 8 batches
	// (crawler.max_batches) of up to 5 pages.
	crawlInFlight = 40
	crawlParallel = 5
	askAgain      = 20 * time.Millisecond
	// crawlTime bounds one turn.
	crawlTime = 2 * time.Minute
)

// layout says on which host a page of a task is.
type layout struct {
	name string
	host func(task, page int) int
}

// crawl measures crawl tasks, with everything that they keep, against a loop
// that fetches the same pages, reads their tags and keeps nothing, with as many
// requests under way. Both are measured by turns.
func (b *bench) crawl(ctx context.Context) error {
	site, err := role(ctx, "site", "-hosts", fmt.Sprint(crawlHosts))
	if err != nil {
		return err
	}
	defer site.stop()
	hosts := strings.Fields(site.ready)
	for _, l := range []layout{
		{"each task on one host", func(task, _ int) int { return task % crawlHosts }},
		{"each task on all hosts", func(_, page int) int { return page % crawlHosts }},
	} {
		var crawled, bare []fetched
		for range b.plan.crawlTurns {
			tasks := addresses(hosts, l, b.plan.crawlTasks, b.plan.crawlPages)
			one, err := b.bare(ctx, slices.Concat(tasks...))
			if err != nil {
				return err
			}
			bare = append(bare, one)
			if one, err = b.crawled(ctx, hosts, tasks, "text"); err != nil {
				return err
			}
			crawled = append(crawled, one)
		}
		if err := compareCrawls(l.name, crawled, bare); err != nil {
			return err
		}
	}
	return nil
}

func compareCrawls(name string, crawled, bare []fetched) error {
	rate := func(f fetched) float64 { return float64(f.Pages) / f.Elapsed.Seconds() }
	perPage := func(f fetched) float64 { return microseconds(f.CPU) / float64(f.Pages) }
	bench := "crawl, " + name
	return printAll(
		figure{Bench: bench, Metric: "pages per second", Value: middle(crawled, rate), Unit: "pages/s"},
		figure{Bench: bench, Metric: "pages per second, bare fetch and tokenise", Value: middle(bare, rate), Unit: "pages/s"},
		figure{Bench: bench, Metric: "speed", Value: middle(crawled, rate) / middle(bare, rate), Unit: "ratio", RatioTo: "bare fetch and tokenise, 40 in flight"},
		figure{Bench: bench, Metric: "CPU per page", Value: middle(crawled, perPage), Unit: "us"},
		figure{Bench: bench, Metric: "CPU per page", Value: middle(crawled, perPage) / middle(bare, perPage), Unit: "ratio", RatioTo: "bare fetch and tokenise"},
	)
}

func middle(all []fetched, of func(fetched) float64) float64 {
	var values []float64
	for _, f := range all {
		values = append(values, of(f))
	}
	slices.Sort(values)
	return percentile(values, 0.5)
}

// addresses are those of each task.
func addresses(hosts []string, l layout, n, pages int) [][]string {
	tasks := make([][]string, n)
	for task := range tasks {
		for page := range pages {
			tasks[task] = append(tasks[task], fmt.Sprintf("http://%s/task%d/page%d", hosts[l.host(task, page)], task, page))
		}
	}
	return tasks
}

// bare fetches in a process of its own.
func (b *bench) bare(ctx context.Context, urls []string) (f fetched, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	return b.fetch(ctx, urls, self, "fetch")
}

// fetch starts a program that fetches addresses and prints what that took.
func (b *bench) fetch(ctx context.Context, urls []string, program string, args ...string) (f fetched, err error) {
	file := filepath.Join(b.dir, "urls")
	if err := os.WriteFile(file, []byte(strings.Join(urls, "\n")), 0o600); err != nil {
		return f, err
	}
	p, err := launch(ctx, program, append(args, "-urls", file, "-parallel", fmt.Sprint(crawlInFlight))...)
	if err != nil {
		return f, err
	}
	defer p.stop()
	return f, json.Unmarshal([]byte(p.ready), &f)
}

// crawled has the suite crawl the tasks, one a user, from the first request to
// the last page, and keep an extract of each.
func (b *bench) crawled(ctx context.Context, hosts []string, tasks [][]string, extract string) (f fetched, err error) {
	ctx, cancel := context.WithTimeout(ctx, crawlTime)
	defer cancel()
	allow, err := json.Marshal(hosts)
	if err != nil {
		return f, err
	}
	s, err := b.serve(ctx, noModel, "netguard: {allow: "+string(allow)+"}")
	if err != nil {
		return f, err
	}
	defer s.stop()
	tokens, err := readTokens(s.tokenFile)
	if err != nil {
		return f, err
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	before, err := s.usage()
	if err != nil {
		return f, err
	}
	began := time.Now()
	ids := make([]string, len(tasks))
	for i, urls := range tasks {
		var made struct {
			TaskID string `json:"task_id"`
		}
		body := map[string]any{"urls": urls, "parallel": crawlParallel, "extract_type": extract}
		if err := s.request(ctx, client, tokens[i], http.MethodPost, "/api/crawler/tasks", body, &made); err != nil {
			return f, err
		}
		ids[i] = made.TaskID
	}
	for i, id := range ids {
		var task struct {
			Status, Outcome string
			Succeeded       int
		}
		for {
			if err := s.request(ctx, client, tokens[i], http.MethodGet, "/api/crawler/tasks?limit=1", nil, &struct {
				Items *[1]any `json:"items"`
			}{&[1]any{&task}}); err != nil {
				return f, err
			}
			if task.Status == "completed" {
				break
			}
			if err := pause.For(ctx, askAgain); err != nil {
				return f, fmt.Errorf("task %s is %s: %w", id, task.Status, err)
			}
		}
		if task.Outcome != "ok" || task.Succeeded != len(tasks[i]) {
			return f, fmt.Errorf("task %s ended %s with %d of %d pages", id, task.Outcome, task.Succeeded, len(tasks[i]))
		}
		f.Pages += task.Succeeded
	}
	f.Elapsed = time.Since(began)
	after, err := s.usage()
	f.CPU = after.cpu - before.cpu
	return f, err
}

// request asks the server and reads the data of its answer.
func (s *server) request(ctx context.Context, client *http.Client, token, method, path string, body, into any) error {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.http+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %.300s", method, path, res.Status, text)
	}
	return json.Unmarshal(text, &struct {
		Data any `json:"data"`
	}{into})
}
