package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

// views gets pages with the client of the fetcher, guard included, and takes all
// views of each: text, Markdown, links, images, tables, metadata and the
// structured one, cleansed for a model.
func views(ctx context.Context, j *job) error {
	hosts, err := hostsOf(j.urls)
	if err != nil {
		return err
	}
	guard, err := netguard.New(netguard.Config{Allow: hosts})
	if err != nil {
		return err
	}
	client := httpfetch.New(httpfetch.DefaultConfig(), guard)
	defer client.Close()
	return j.each(func(url string) (int, error) {
		got, err := client.Get(ctx, httpfetch.Request{URL: url, NoRetry: true})
		if err != nil {
			return 0, err
		}
		if got.Status != http.StatusOK {
			return 0, fmt.Errorf("status %d", got.Status)
		}
		body := string(got.Body)
		page, err := fetcher.InspectPage(fetcher.PageInput{URL: got.FinalURL, HTML: &body})
		return len(page.Text) + len(page.Markdown), err
	})
}

func hostsOf(urls []string) (hosts []string, err error) {
	known := map[string]bool{}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		if !known[u.Host] {
			known[u.Host] = true
			hosts = append(hosts, u.Host)
		}
	}
	return hosts, nil
}

// byColly gets pages with Colly and takes all text of each.
func byColly(_ context.Context, j *job) error {
	c := colly.NewCollector(colly.Async(true), colly.AllowURLRevisit())
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: j.parallel})
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: j.parallel}); err != nil {
		return err
	}
	var mu sync.Mutex
	var failed []error
	came := 0
	c.OnHTML("body", func(e *colly.HTMLElement) {
		j.letters.Add(int64(len(e.Text)))
		mu.Lock()
		defer mu.Unlock()
		came++
	})
	c.OnError(func(r *colly.Response, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, fmt.Errorf("%s: %w", r.Request.URL, err))
	})
	for _, url := range j.urls {
		if err := c.Visit(url); err != nil {
			return err
		}
	}
	c.Wait()
	if came != len(j.urls) && len(failed) == 0 {
		failed = append(failed, fmt.Errorf("%d of %d pages came", came, len(j.urls)))
	}
	return errors.Join(failed...)
}

// bare gets pages with net/http, parses them (html.Parse is in extract.Parse) and
// writes their content as Markdown.
func bare(ctx context.Context, j *job) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: j.parallel}}
	defer client.CloseIdleConnections()
	return j.each(func(url string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			return 0, err
		}
		doc := extract.Parse(body, res.Request.URL)
		content := doc.Content()
		var out strings.Builder
		markdown.Write(&out, content.Root, markdown.Options{Base: doc.Base(), Skip: content.Skip})
		return out.Len(), nil
	})
}
