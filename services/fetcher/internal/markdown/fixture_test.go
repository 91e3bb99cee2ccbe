package markdown

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var update = flag.Bool("update", false, "write what comes out into the golden files")

// parse reads a page as the extractor does, and gives its body and base.
func parse(t testing.TB, page string) (*html.Node, Options) {
	t.Helper()
	doc, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse("https://example.com/docs/page.html")
	if err != nil {
		t.Fatal(err)
	}
	if b := first(doc, func(n *html.Node) bool { return n.DataAtom == atom.Base }); b != nil {
		ref, err := url.Parse(attr(b, "href"))
		if err != nil {
			t.Fatal(err)
		}
		base = base.ResolveReference(ref)
	}
	return first(doc, func(n *html.Node) bool { return n.DataAtom == atom.Body }), Options{Base: base}
}

func write(t testing.TB, page string) string {
	t.Helper()
	root, o := parse(t, page)
	var b strings.Builder
	Write(&b, root, o)
	return b.String()
}

func TestPagesComeOutAsTheirGoldenFilesSay(t *testing.T) {
	pages, err := filepath.Glob("testdata/*/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(page, "testdata/"), ".html"), func(t *testing.T) {
			body, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, string(body)) + "\n"
			golden := strings.TrimSuffix(page, ".html") + ".md"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
