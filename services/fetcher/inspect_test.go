package fetcher

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
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

// TestInspectPageReadsAsAFetchDoes compares both on pages of the corpus.
func TestInspectPageReadsAsAFetchDoes(t *testing.T) {
	pages := corpusPages(t, 20)
	var body []byte
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(body)
	})
	for _, name := range pages {
		body = gunzip(t, name)
		b64 := base64.StdEncoding.EncodeToString(body)
		want, err := InspectPage(PageInput{URL: s.url, HTMLBase64: &b64, ContentType: "text/html"})
		if err != nil {
			t.Fatal(err)
		}
		text := s.fetch(t, &fetcherv1.FetchRequest{MaxChars: proto.Int32(maxMaxChars)})
		if text.GetContent().GetText() != want.Text || text.GetMetadata().GetTitle() != want.Title || text.GetMetadata().GetCharset() != want.Charset {
			t.Errorf("%s: the texts differ", filepath.Base(name))
		}
		links := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "links"}).GetContent().GetLinks()
		if len(links) != len(want.Links) {
			t.Errorf("%s: %d links and %d", filepath.Base(name), len(links), len(want.Links))
		}
	}
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
