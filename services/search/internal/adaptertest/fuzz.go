package adaptertest

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// Fuzz feeds the engine arbitrary answers, starting from testdata/PREFIX*.html
// and testdata/PREFIX*.http.
// Results come with the outcomes that have them and with no other, in one line
// each, and lead to the web.
func Fuzz(f *testing.F, prefix string, engine adapter.Adapter) {
	for _, body := range seeds(f, prefix) {
		f.Add(200, body)
		f.Add(202, body)
	}
	f.Add(429, []byte("slow down"))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		p, o := engine.Parse(adapter.Response{Status: status, Body: body, ReceivedAt: Received})
		if o.Code.HasResults() != (len(p.Results) > 0) {
			t.Fatalf("%s with %d results", o.Code, len(p.Results))
		}
		for _, r := range p.Results {
			if r.Title == "" || strings.ContainsAny(r.Title+r.Snippet, "\n\r\x00") {
				t.Fatalf("title %q, snippet %q", r.Title, r.Snippet)
			}
			for _, p := range r.Passages {
				if strings.TrimSpace(p.Text) == "" || p.Kind != adapter.Prose && p.Kind != adapter.JSON {
					t.Fatalf("passage %q of kind %q", p.Text, p.Kind)
				}
			}
			if u, err := url.Parse(r.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				t.Fatalf("address %q (%v)", r.URL, err)
			}
		}
	})
}

func seeds(f *testing.F, prefix string) map[string][]byte {
	f.Helper()
	out := map[string][]byte{}
	if html, err := filepath.Glob(filepath.Join("testdata", prefix+"*.html")); err == nil && len(html) > 0 {
		out = pages(f, prefix)
	}
	if raw, err := filepath.Glob(filepath.Join("testdata", prefix+"*.http")); err == nil && len(raw) > 0 {
		for name, r := range Responses(f, "testdata", prefix) {
			out[name] = r.Body
		}
	}
	if len(out) == 0 {
		f.Fatalf("nothing to start from in testdata/%s*", prefix)
	}
	return out
}
