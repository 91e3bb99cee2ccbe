package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// crawled are a page and an address without one.
func crawled() []*taskmanagerv1.CrawlResult {
	return []*taskmanagerv1.CrawlResult{
		{Seq: 1, Url: "https://a.example/", Ok: true, StatusCode: 200, DurationMs: 12, Data: &taskmanagerv1.CrawlData{
			Content:  &fetcherv1.PageContent{Text: "High water, \"at noon\".\nLow water later."},
			Metadata: &fetcherv1.PageMetadata{Title: "=HYPERLINK(\"https://evil.example\")"},
		}},
		{Seq: 2, Url: "https://b.example/x", StatusCode: 404, Error: &taskmanagerv1.CrawlError{Url: "https://b.example/x", Error: "HTTP 404 Not Found", Reason: "HTTP_ERROR"}},
	}
}

func TestFormsOfCrawlResults(t *testing.T) {
	write := func(format string) string {
		var out bytes.Buffer
		w := newResultWriter(&out, format)
		for _, r := range crawled() {
			if err := w.write("task_1", r); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	t.Run("jsonl has a line each, with its task", func(t *testing.T) {
		lines := strings.Split(strings.TrimSuffix(write(formatJSONL), "\n"), "\n")
		var got struct {
			Task string `json:"task_id"`
			URL  string `json:"url"`
			Ok   bool   `json:"ok"`
		}
		if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &got) != nil || got.Task != "task_1" || got.URL != "https://a.example/" || !got.Ok {
			t.Errorf("%q", lines)
		}
	})
	t.Run("csv has a head once, and no formulas", func(t *testing.T) {
		rows, err := csv.NewReader(strings.NewReader(write(formatCSV))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		want := [][]string{
			csvHead,
			{"https://a.example/", "true", "200", "'=HYPERLINK(\"https://evil.example\")", "", "", "12", "High water, \"at noon\".\nLow water later.\n"},
			{"https://b.example/x", "false", "404", "", "HTTP 404 Not Found", "HTTP_ERROR", "0", ""},
		}
		if !reflect.DeepEqual(rows, want) {
			t.Errorf("%q", rows)
		}
	})
	t.Run("markdown is for reading", func(t *testing.T) {
		got := write(formatMarkdown)
		for _, want := range []string{"<https://a.example/>\n\nHigh water", "# https://b.example/x\n\nNot fetched: HTTP 404 Not Found (HTTP_ERROR)\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
	})
}

func TestTheNameOfAFileTellsItsForm(t *testing.T) {
	for _, tc := range []struct {
		file string
		said string
		want string
	}{
		{"", "", formatMarkdown},
		{"pages.csv", "", formatCSV},
		{"pages.jsonl", "", formatJSONL},
		{"pages.ndjson", "", formatJSONL},
		{"pages.txt", "", formatMarkdown},
		{"pages.csv", formatJSONL, formatJSONL},
	} {
		o := newOutFlags()
		o.file = tc.file
		if tc.said != "" {
			o.format.value = tc.said
		}
		if got := o.chosen(tc.said != ""); got != tc.want {
			t.Errorf("%q, said %q: %s, want %s", tc.file, tc.said, got, tc.want)
		}
	}
}

func TestAddressesComeOnceAndInOrder(t *testing.T) {
	list := "\ufeff# pages\n\nhttps://b.example/\r\n https://a.example/ \nhttps://c.example/"
	c := &cli{stdin: strings.NewReader(list)}
	got, err := c.addresses([]string{"https://a.example/", "https://a.example/"}, "-")
	if want := []string{"https://a.example/", "https://b.example/", "https://c.example/"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, tc := range []struct{ name, list, want string }{
		{"nothing but comments", "# none\n", "there is no address"},
		{"an address that is too long", "https://a.example/" + strings.Repeat("x", maxAddress), "over 2048 characters"},
		{"a line without an end", strings.Repeat("x", 1<<20), "line 1 is too long"},
	} {
		c := &cli{stdin: strings.NewReader(tc.list)}
		if _, err := c.addresses(nil, "-"); exitCode(err) != exitUsage || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestExitCodesOfACrawl(t *testing.T) {
	for _, tc := range []struct {
		name   string
		totals crawlTotals
		want   int
		words  string
	}{
		{"every page", crawlTotals{Succeeded: 3, Total: 3}, exitOK, "3 of 3 pages"},
		{"some", crawlTotals{Succeeded: 2, Failed: 1, Total: 3}, exitPartial, "2 of 3 pages, 1 failed"},
		{"some that nobody may ask for", crawlTotals{Succeeded: 2, Skipped: 1, Total: 3}, exitPartial, "2 of 3 pages, 1 skipped"},
		{"none", crawlTotals{Failed: 1, Total: 1}, exitFailure, "0 of 1 page, 1 failed"},
		{"cut short", crawlTotals{Succeeded: 1, Total: 3}, exitPartial, "1 of 3 pages, 2 not asked for"},
	} {
		if got := exitCode(tc.totals.exit()); got != tc.want || tc.totals.words() != tc.words {
			t.Errorf("%s: %d, %q", tc.name, got, tc.totals.words())
		}
	}
}
