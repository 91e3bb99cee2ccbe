package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// pages measures what a page costs that is fetched and read, by turns: with every
// view against Colly with the text of the body, and crawled to Markdown, with
// everything that is kept, against a loop without a store: net/http, html.Parse
// and the same extractor. What counts is the CPU time of each process alone, with
// the collector as it is by default in each.
func (b *bench) pages(ctx context.Context) error {
	if b.fetchers == "" {
		fmt.Fprintln(os.Stderr, "bench: pages: without -fetchers nothing is measured")
		return nil
	}
	if b.corpus == "" {
		fmt.Fprintln(os.Stderr, "bench: pages: without -pages the pages of a corpus are not measured")
	} else if err := b.read(ctx, "pages of a corpus", "-pages", b.corpus); err != nil {
		return err
	}
	return b.read(ctx, "pages of 30 KB")
}

// read measures with one kind of site.
func (b *bench) read(ctx context.Context, name string, site ...string) error {
	s, err := role(ctx, append([]string{"site", "-hosts", fmt.Sprint(crawlHosts)}, site...)...)
	if err != nil {
		return err
	}
	defer s.stop()
	hosts := strings.Fields(s.ready)
	tasks := addresses(hosts, layout{host: func(task, _ int) int { return task % crawlHosts }}, b.plan.readTasks, b.plan.crawlPages)
	var urls []string // one host after another, as a crawl does
	for page := range b.plan.crawlPages {
		for _, task := range tasks {
			urls = append(urls, task[page])
		}
	}
	way := func(name string) func() (fetched, error) {
		return func() (fetched, error) { return b.fetch(ctx, urls, b.fetchers, "-way", name) }
	}
	ways := []struct {
		name string
		get  func() (fetched, error)
	}{
		{"fetch, every view", way("views")},
		{"Colly, text of the body", way("colly")},
		{"crawl, Markdown", func() (fetched, error) { return b.crawled(ctx, hosts, tasks, "markdown") }},
		{"loop without a store, Markdown", way("bare")},
	}
	took := make([][]fetched, len(ways))
	for range b.plan.crawlTurns {
		for i, w := range ways {
			f, err := w.get()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, w.name, err)
			}
			took[i] = append(took[i], f)
		}
	}
	rate := func(i int) float64 {
		return middle(took[i], func(f fetched) float64 { return float64(f.Pages) / f.CPU.Seconds() })
	}
	var figures []figure
	for i, w := range ways {
		figures = append(figures, figure{Bench: name, Metric: w.name, Value: rate(i), Unit: "pages/CPU-s"})
	}
	for i := 0; i < len(ways); i += 2 { // each with the one after it
		figures = append(figures, figure{Bench: name, Metric: ways[i].name, Value: rate(i) / rate(i+1), Unit: "ratio", RatioTo: ways[i+1].name})
	}
	return printAll(figures...)
}
