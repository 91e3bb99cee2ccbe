package taskmanager

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// stored puts content into the blob store as a worker does.
func (w *world) stored(taskID string, c *fetcherv1.PageContent) *pb.ContentRef {
	w.t.Helper()
	data, err := proto.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	ref := &pb.ContentRef{Sha256: hex.EncodeToString(sum[:]), SizeBytes: int32(len(data))}
	ref.Key = "crawl/" + taskID + "/" + ref.Sha256
	if err := w.blobs.Put(w.t.Context(), ref.Key, data, ""); err != nil {
		w.t.Fatal(err)
	}
	return ref
}

// long crawls one page whose content is in the blob store.
func (w *world) long(chars int) (taskID string, ref *pb.ContentRef) {
	w.t.Helper()
	id := w.create("ann", "https://a.example/long")
	b := w.lease("w1")
	p := page(b.Targets[0])
	p.Content, p.ContentRef = nil, w.stored(id, &fetcherv1.PageContent{Text: strings.Repeat("纳", chars)})
	w.commit(b, 1, true, p)
	return id, p.ContentRef
}

func TestLongContentComesFromTheBlobStore(t *testing.T) {
	w := newWorld(t)
	id, ref := w.long(40_000)
	res, err := w.svc.ListCrawlResults(as("ann"), &pb.ListCrawlResultsRequest{TaskId: id})
	if err != nil || utf8.RuneCountInString(res.Items[0].Data.Content.Text) != 40_000 || res.Items[0].Data.Truncated {
		t.Fatalf("%v", err)
	}
	d := w.get("ann", id).Results[0].Data
	if utf8.RuneCountInString(d.Content.Text) != 10_000 || !d.Truncated {
		t.Errorf("inline %d characters, truncated %v", utf8.RuneCountInString(d.Content.Text), d.Truncated)
	}
	for name, spoil := range map[string]func() error{
		"changed": func() error { return w.blobs.Put(t.Context(), ref.Key, []byte("other"), "") },
		"gone":    func() error { return w.blobs.Delete(t.Context(), ref.Key) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		_, err = w.svc.ListCrawlResults(as("ann"), &pb.ListCrawlResultsRequest{TaskId: id})
		wantError(t, err, codes.Unavailable, ReasonContentUnavailable)
		if err == nil || strings.Contains(err.Error(), ref.Key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestContentThatIsNotAsTheContractSaysIsRefused(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", "https://a.example/")
	b := w.lease("w1")
	other := w.stored("task_other", &fetcherv1.PageContent{Text: "x"})
	for name, change := range map[string]func(p *pb.FetchedPage){
		"content over 64 KiB":   func(p *pb.FetchedPage) { p.Content.Text = strings.Repeat("x", 100_000) },
		"a blob of another":     func(p *pb.FetchedPage) { p.Content, p.ContentRef = nil, other },
		"a blob without a hash": func(p *pb.FetchedPage) { p.ContentRef = &pb.ContentRef{Key: "crawl/" + id + "/x", Sha256: "x"} },
		"a key that is none":    func(p *pb.FetchedPage) { p.UrlKey = []byte("short") },
	} {
		p := page(b.Targets[0])
		change(p)
		_, err := w.svc.CommitBatch(worker(), &pb.CommitBatchRequest{LeaseId: b.LeaseId, Part: 1, Final: true, Pages: []*pb.FetchedPage{p}})
		if err == nil {
			t.Errorf("%s is taken", name)
			continue
		}
		wantError(t, err, codes.InvalidArgument, "")
	}
	w.finish(b)
}

func TestResultsArePagedByNumberAndBySize(t *testing.T) {
	w := newWorld(t)
	id := w.create("ann", pages("a.example", 50)...)
	for left := 50; left > 0; {
		b := w.lease("w1")
		for i, target := range b.Targets {
			p := page(target)
			p.Content.Text = strings.Repeat("x", 64<<10-100) + target.Url[len(target.Url)-1:]
			w.commit(b, i+1, i == len(b.Targets)-1, p)
		}
		left -= len(b.Targets)
	}
	limit, seen, pagesSeen := int32(100), int32(0), 0
	for cursor := ""; ; pagesSeen++ {
		res, err := w.svc.ListCrawlResults(as("ann"), &pb.ListCrawlResultsRequest{TaskId: id, Limit: &limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(res); size > 3<<20+4096 {
			t.Errorf("an answer of %d bytes", size)
		}
		for _, item := range res.Items {
			if seen++; item.Seq != seen || !item.Ok || item.Attempts != 1 {
				t.Errorf("%d comes after %d", item.Seq, seen-1)
			}
		}
		if cursor = res.NextCursor; !res.HasMore {
			break
		}
	}
	if seen != 50 || pagesSeen < 1 {
		t.Errorf("%d results on %d pages", seen, pagesSeen+1)
	}
	got := w.get("ann", id)
	if len(got.Results) != 20 || !got.ResultsTruncated || !got.Results[0].Data.Truncated {
		t.Errorf("%d results inline, truncated %v", len(got.Results), got.ResultsTruncated)
	}
}

func TestPagesOfEveryExtractTypeAreCut(t *testing.T) {
	row := func(cells ...string) *fetcherv1.TableRow { return &fetcherv1.TableRow{Cells: cells} }
	tests := []struct {
		name    string
		c, want *fetcherv1.PageContent
	}{
		{"text", &fetcherv1.PageContent{Text: "纳米爪纳米爪"}, &fetcherv1.PageContent{Text: "纳米爪纳"}},
		{"Markdown", &fetcherv1.PageContent{Markdown: "abcdef"}, &fetcherv1.PageContent{Markdown: "abcd"}},
		{"the source", &fetcherv1.PageContent{Raw: "abcdef"}, &fetcherv1.PageContent{Raw: "abcd"}},
		{"all text", &fetcherv1.PageContent{FullText: "abcdef"}, &fetcherv1.PageContent{FullText: "abcd"}},
		{"rows of a table", &fetcherv1.PageContent{Tables: []*fetcherv1.Table{{Rows: []*fetcherv1.TableRow{row("a", "b"), row("c", "d"), row("e")}}}},
			&fetcherv1.PageContent{Tables: []*fetcherv1.Table{{Rows: []*fetcherv1.TableRow{row("a", "b"), row("c", "d")}}}}},
		{"tables", &fetcherv1.PageContent{Tables: []*fetcherv1.Table{{Rows: []*fetcherv1.TableRow{row("abc")}}, {Rows: []*fetcherv1.TableRow{row("de")}}}},
			&fetcherv1.PageContent{Tables: []*fetcherv1.Table{{Rows: []*fetcherv1.TableRow{row("abc")}}}}},
		{"entries of a feed", &fetcherv1.PageContent{Feed: &fetcherv1.Feed{Items: []*fetcherv1.FeedItem{{Title: "a", Summary: "bc"}, {Title: "de"}}}},
			&fetcherv1.PageContent{Feed: &fetcherv1.Feed{Items: []*fetcherv1.FeedItem{{Title: "a", Summary: "bc"}}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !cut(tt.c, 4) || !proto.Equal(tt.c, tt.want) || cut(tt.c, 4) {
				t.Errorf("got %v, want %v", tt.c, tt.want)
			}
		})
	}
	if cut(nil, 4) {
		t.Error("nothing was cut")
	}
}

func TestStructuredPagesAreCutByTheirParagraphs(t *testing.T) {
	c := &fetcherv1.PageContent{Structured: &fetcherv1.StructuredPage{Paragraphs: []string{"12345", "67890", "1"}}}
	if !cut(c, 10) || len(c.Structured.Paragraphs) != 2 || cut(c, 10) {
		t.Errorf("%v", c)
	}
	for in, want := range map[string]string{"": "", "纳米": "纳米", "纳米爪": "纳米", "abc": "ab"} {
		if got := firstChars(in, 2); got != want {
			t.Errorf("%q is cut to %q", in, got)
		}
	}
}

func TestWhatIsBeyondItsRetentionIsRemovedWithItsBlobs(t *testing.T) {
	w := newWorld(t)
	id, ref := w.long(40_000)
	open := w.create("bob", "https://b.example/")
	if _, err := w.svc.CreateCrawlTask(as("ann", "idempotency-key", "k"), &pb.CreateCrawlTaskRequest{Urls: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	count := func(model any) int {
		n, err := w.svc.db.Read().NewSelect().Model(model).Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		ahead                               time.Duration
		tasks, results, keys, leases, blobs int
	}{
		{time.Minute, 3, 2, 1, 1, 1}, {25 * time.Hour, 3, 2, 0, 0, 1}, {13 * day, 3, 2, 0, 0, 1},
		{15 * day, 3, 0, 0, 0, 0}, {89 * day, 3, 0, 0, 0, 0}, {91 * day, 0, 0, 0, 0, 0},
	} {
		for range 2 { // cleaning twice is cleaning once
			if err := w.svc.clean(t.Context(), time.Now().Add(c.ahead)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.blobs.Get(t.Context(), ref.Key)
		if got := count((*schema.Task)(nil)); got != c.tasks {
			t.Errorf("after %s: %d tasks, want %d", c.ahead, got, c.tasks)
		}
		if got := count((*schema.Result)(nil)); got != c.results {
			t.Errorf("after %s: %d results, want %d", c.ahead, got, c.results)
		}
		if got := count((*schema.IdempotencyKey)(nil)); got != c.keys {
			t.Errorf("after %s: %d keys, want %d", c.ahead, got, c.keys)
		}
		if got := count((*schema.Lease)(nil)); got != c.leases {
			t.Errorf("after %s: %d leases, want %d", c.ahead, got, c.leases)
		}
		if errors.Is(err, blob.ErrNotFound) != (c.blobs == 0) {
			t.Errorf("after %s: the blob is %v", c.ahead, err)
		}
		if c.ahead == 15*day {
			got := w.get("bob", open)
			if got.Status != "failed" || got.ErrorMessage == "" {
				t.Errorf("a task that does not end is %s", got.Status)
			}
			if got := w.get("ann", id); got.Succeeded != 1 || len(got.Results) != 0 || !got.ResultsTruncated {
				t.Errorf("%v", got)
			}
			events, end := watchTask(as("ann"), w.svc, id, 0)
			all := collect(events)
			if err := end(); err != nil || all[len(all)-1].GetDone().GetOutcome() != "ok" {
				t.Errorf("%v, %v", all, err)
			}
		}
	}
	if n := count((*schema.User)(nil)) + count((*schema.Host)(nil)) + count((*schema.Event)(nil)) + count((*schema.Address)(nil)); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}
