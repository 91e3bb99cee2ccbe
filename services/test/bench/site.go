package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/html"
)

// linksOfPage and pageText make pages of about 30 KB.
const linksOfPage = 50

var pageText = strings.Repeat("<p>A page has words enough to be read, links to others, and nothing that a reader would call news.</p>\n", 240)

// beSite serves pages at 127.0.1.1, 127.0.1.2 and so on, and prints where.
func beSite(ctx context.Context, args []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	flags := flag.NewFlagSet("site", flag.ContinueOnError)
	hosts := flags.Int("hosts", 1, "how many sites")
	corpus := flags.String("pages", "", "folder with pages NAME.html.gz to serve; empty: pages made here")
	if err := flags.Parse(args); err != nil {
		return err
	}
	serve := page
	if *corpus != "" {
		var err error
		if serve, err = corpusPages(*corpus); err != nil {
			return err
		}
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		serve(rw, r)
	})}
	defer server.Close()
	var addrs []string
	for i := range *hosts {
		lis, err := net.Listen("tcp", fmt.Sprintf("127.0.1.%d:0", i+1))
		if err != nil {
			return err
		}
		addrs = append(addrs, lis.Addr().String())
		go func() { _ = server.Serve(lis) }()
	}
	fmt.Println(strings.Join(addrs, " "))
	<-ctx.Done()
	return nil
}

// corpusPages serves the pages of a folder: an address has the same one each time.
func corpusPages(dir string) (func(http.ResponseWriter, *http.Request), error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.html.gz"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no pages", dir)
	}
	pages := make([][]byte, len(names))
	for i, name := range names {
		if pages[i], err = ungzip(name); err != nil {
			return nil, err
		}
	}
	return func(rw http.ResponseWriter, r *http.Request) {
		sum := fnv.New32a()
		_, _ = io.WriteString(sum, r.URL.Path)
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write(pages[int(sum.Sum32())%len(pages)])
	}, nil
}

func ungzip(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

func page(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	out := bufio.NewWriter(rw)
	defer out.Flush()
	fmt.Fprintf(out, "<!doctype html><html><head><title>%s</title></head><body><main><h1>%s</h1>\n%s<ul>", r.URL.Path, r.URL.Path, pageText)
	for i := range linksOfPage {
		fmt.Fprintf(out, "<li><a href=\"/%d\">Page %d</a></li>\n", i, i)
	}
	_, _ = io.WriteString(out, "</ul></main></body></html>")
}

// fetched is what a fetcher prints.
type fetched struct {
	Pages   int           `json:"pages"`
	Links   int           `json:"links"`
	Elapsed time.Duration `json:"elapsed"`
	CPU     time.Duration `json:"cpu"`
}

// beFetcher fetches the addresses of a file, some at the same time, and reads
// their tags.
func beFetcher(ctx context.Context, args []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	flags := flag.NewFlagSet("fetch", flag.ContinueOnError)
	file := flags.String("urls", "", "file with an address a line")
	parallel := flags.Int("parallel", 1, "how many at the same time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return err
	}
	urls := strings.Fields(string(text))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *parallel}}
	defer client.CloseIdleConnections()
	began, cpu := time.Now(), mustCPU()
	var next, links atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, *parallel)
	for range *parallel {
		all.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(urls); i = next.Add(1) - 1 {
				n, err := linksOf(ctx, client, urls[i])
				if err != nil {
					failed <- err
					return
				}
				links.Add(int64(n))
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	return json.NewEncoder(os.Stdout).Encode(fetched{len(urls), int(links.Load()), time.Since(began), mustCPU() - cpu})
}

// mustCPU is ownCPU, which does not fail where this program runs at all.
func mustCPU() time.Duration {
	cpu, err := ownCPU()
	if err != nil {
		panic(err)
	}
	return cpu
}

func linksOf(ctx context.Context, client *http.Client, url string) (links int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	tokens := html.NewTokenizer(res.Body)
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); err != io.EOF {
				return 0, err
			}
			return links, nil
		case html.StartTagToken:
			if name, _ := tokens.TagName(); string(name) == "a" {
				links++
			}
		}
	}
}
