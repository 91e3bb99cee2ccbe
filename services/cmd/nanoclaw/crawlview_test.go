package main

import (
	"bytes"
	"strings"
	"testing"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

func pageDone(ok bool, url string) *taskmanagerv1.CrawlEvent {
	p := &taskmanagerv1.CrawlPageDone{Url: url, Ok: ok, StatusCode: 200, Title: "A\x1b[31mB", DurationMs: 7}
	if !ok {
		p.StatusCode, p.Error = 404, &taskmanagerv1.CrawlError{Url: url, Error: "HTTP 404", Reason: "HTTP_STATUS"}
	}
	return &taskmanagerv1.CrawlEvent{Event: &taskmanagerv1.CrawlEvent_Page{Page: p}}
}

func waiting(reason string) *taskmanagerv1.CrawlEvent {
	return &taskmanagerv1.CrawlEvent{Event: &taskmanagerv1.CrawlEvent_Progress{Progress: &taskmanagerv1.CrawlProgress{Rate: 1.5, StallReason: reason}}}
}

func TestHowACrawlIsShown(t *testing.T) {
	events := []*taskmanagerv1.CrawlEvent{
		waiting("host a.example waits"), waiting("host a.example waits"), pageDone(true, "https://a.example/"), pageDone(false, "https://a.example/x"), waiting(""),
	}
	for _, tc := range []struct {
		name        string
		live, quiet bool
		want        string
	}{
		{"into a pipe: a line for each address, without what commands a terminal", false, false,
			"! host a.example waits\n✓ 200 https://a.example/, 7 ms: A[31mB\n✗ https://a.example/x: HTTP 404 (HTTP_STATUS)\n"},
		{"quietly: nothing", false, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			v := (&cli{stderr: &out}).newCrawlView(2, tc.quiet)
			v.live = tc.live
			for _, event := range events {
				v.seen("task_1", event)
			}
			v.aside()
			if got := out.String(); got != tc.want {
				t.Errorf("%q", got)
			}
		})
	}
	t.Run("on a terminal: a bar, with failures above it", func(t *testing.T) {
		var out bytes.Buffer
		v := (&cli{stderr: &out}).newCrawlView(2, false)
		v.live = true
		for _, event := range events {
			v.seen("task_1", event)
		}
		v.aside()
		got := out.String()
		for _, want := range []string{
			"\r\x1b[K" + strings.Repeat("█", 15) + strings.Repeat("░", 15) + " 1/2 50% 1.5 pages/s",
			"\r\x1b[K✗ https://a.example/x: HTTP 404 (HTTP_STATUS)\n",
			"2/2 100% 1.5 pages/s, 1 failed",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if strings.Contains(got, "✓") || !strings.HasSuffix(got, "\r\x1b[K") {
			t.Errorf("%q", got)
		}
	})
}
