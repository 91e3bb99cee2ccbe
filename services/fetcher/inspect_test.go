package fetcher

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/crawlworker"
)

func TestInspectPageGivesEveryField(t *testing.T) {
	page := newsPage
	r, err := InspectPage(PageInput{ID: "n", URL: "https://site.example/a", HTML: &page})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"id", "detected_type", "charset", "page_type", "confidence", "title", "byline", "published", "language",
		"text", "markdown", "links", "images", "tables", "structured", "metadata", "warnings", "cpu_ms"} {
		if v, ok := got[field]; !ok || v == nil {
			t.Errorf("%s is %v", field, v)
		}
	}
	if r.ID != "n" || r.Title != "Harbour news" || r.Language != "en" || r.Links[0].URL != "https://site.example/home" || !strings.HasPrefix(r.Text, "The ferry is late") {
		t.Errorf("report %+v", r)
	}
}

func TestInspectPageSaysWhatIsWrongWithItsInput(t *testing.T) {
	b64, pdf := "!", base64.StdEncoding.EncodeToString([]byte("%PDF-1.7\n"))
	page := "x"
	for want, in := range map[string]PageInput{
		"one of path, html and html_base64": {ID: "a"},
		"html_base64: ":                     {HTMLBase64: &b64},
		"path: ":                            {Path: filepath.Join(t.TempDir(), "none")},
		"url: ":                             {URL: "http://[", HTML: &page},
		"the PDF is damaged":                {HTMLBase64: &pdf},
	} {
		if _, err := InspectPage(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is compared: the same 20 pages of the corpus as InspectPage, a fetch, the
// tool of the model and the crawl worker read them.
func TestInspectPageFetchToolAndCrawlReadAPageAlike(t *testing.T) {
	var body []byte
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(body)
	})
	for _, name := range corpusPages(t, 20) {
		body = gunzip(t, name)
		b64 := base64.StdEncoding.EncodeToString(body)
		want, err := InspectPage(PageInput{URL: s.url, HTMLBase64: &b64, ContentType: "text/html"})
		if err != nil {
			t.Fatal(err)
		}
		for kind, text := range map[string]string{"text": want.Text, "markdown": want.Markdown} {
			for reader, got := range map[string]*fetcherv1.FetchResponse{
				"fetch": s.fetch(t, &fetcherv1.FetchRequest{ExtractType: kind, MaxChars: proto.Int32(maxMaxChars)}),
				"tool":  s.toolPage(t, kind),
				"crawl": s.crawlPage(t, kind),
			} {
				m := got.GetMetadata()
				if got.GetContent().GetText()+got.GetContent().GetMarkdown() != text || m.GetTitle() != want.Title || m.GetCharset() != want.Charset {
					t.Errorf("%s, %s: %s differs from inspect page", filepath.Base(name), kind, reader)
				}
			}
		}
		links := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "links"}).GetContent().GetLinks()
		if len(links) != len(want.Links) {
			t.Errorf("%s: %d links and %d", filepath.Base(name), len(links), len(want.Links))
		}
	}
}

// toolPage reads a page with the tool of the model.
func (s *site) toolPage(t *testing.T, kind string) *fetcherv1.FetchResponse {
	t.Helper()
	_, v := s.call(t, fmt.Sprintf(`{"url": %q, "extract_type": %q, "max_chars": %d}`, s.url, kind, maxMaxChars))
	text, _ := v["content"].(map[string]any)[kind].(string)
	meta := v["metadata"].(map[string]any)
	title, _ := meta["title"].(string)
	charset, _ := meta["charset"].(string)
	return &fetcherv1.FetchResponse{Content: &fetcherv1.PageContent{Text: text}, Metadata: &fetcherv1.PageMetadata{Title: title, Charset: charset}}
}

// crawlPage reads a page as the crawl worker does.
func (s *site) crawlPage(t *testing.T, kind string) *fetcherv1.FetchResponse {
	t.Helper()
	page, err := s.service.crawlPage(context.Background(), crawlworker.Query{URL: s.url, Extract: kind,
		Hop: func(context.Context, *url.URL) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return &fetcherv1.FetchResponse{Content: page.Content, Metadata: page.Metadata}
}

// corpusPages names n pages of the corpus beside the repository.
func corpusPages(t *testing.T, n int) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		found, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", "extract", "trafilatura", "html", "*.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) >= n {
			return found[:n]
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/extract is not here")
		}
	}
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
