package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/markdown"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/charset"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/gcpace"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
)

// views gets pages with the client of the fetcher, guard included, and takes
// text, Markdown, links, images and metadata of each, cleansed for a model, as the
// fetcher does in a server: in the server's pace of collecting garbage, too.
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go gcpace.Run(ctx)
	return j.each(func(url string) (int, error) {
		got, err := client.Get(ctx, httpfetch.Request{URL: url, NoRetry: true})
		if err != nil {
			return 0, err
		}
		if got.Status != http.StatusOK {
			return 0, fmt.Errorf("status %d", got.Status)
		}
		return everyView(got)
	})
}

func everyView(got *httpfetch.Response) (letters int, err error) {
	from, err := url.Parse(got.FinalURL)
	if err != nil {
		return 0, err
	}
	header := got.Header.Get("Content-Type")
	if kind := contenttype.Detect(got.Body, header, ""); !kind.IsHTML() {
		return 0, fmt.Errorf("it is %s", kind.Type)
	}
	body, _ := charset.ToUTF8(got.Body, header)
	doc := extract.Parse(body, from)
	text, _ := doc.Text()
	views := []string{text, asMarkdown(doc)}
	for _, l := range doc.Links() {
		views = append(views, l.Text)
	}
	for _, i := range doc.Images() {
		views = append(views, i.Alt)
	}
	m := doc.Metadata()
	for _, s := range append(views, m.Title, m.Byline, m.Published, m.Language, m.SiteName, m.Description) {
		s, _ = cleanse.Text(s)
		letters += len(s)
	}
	return letters, nil
}

func asMarkdown(doc *extract.Document) string {
	var out strings.Builder
	content := doc.Content()
	markdown.Write(&out, content.Root, markdown.Options{Base: doc.Base(), Skip: content.Skip})
	return out.String()
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
	var failed error
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
		if failed == nil {
			failed = fmt.Errorf("%s: %w", r.Request.URL, err)
		}
	})
	for _, url := range j.urls {
		if err := c.Visit(url); err != nil {
			return err
		}
	}
	c.Wait()
	if came != len(j.urls) && failed == nil {
		failed = fmt.Errorf("%d of %d pages came", came, len(j.urls))
	}
	return failed
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
		return len(asMarkdown(extract.Parse(body, res.Request.URL))), nil
	})
}
