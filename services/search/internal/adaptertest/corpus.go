package adaptertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// Captured is a page captured from an engine with what is known about it.
type Captured struct {
	File     string `json:"file"`
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	Status   int    `json:"status"`
	Organic  []struct {
		Title string `json:"title"`
		URL   string `json:"url"`
	} `json:"organic"`
	Body []byte `json:"-"`
}

// Corpus reads the captured pages, which lie outside the repository beside it;
// it skips the test when they are not there.
func Corpus(t testing.TB) []Captured {
	t.Helper()
	dir := find(t)
	raw, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []Captured
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatalf("EXPECTED.json: %v", err)
	}
	for i := range cases {
		if cases[i].Body, err = os.ReadFile(filepath.Join(dir, cases[i].File)); err != nil {
			t.Fatal(err)
		}
	}
	return cases
}

func find(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		pages := filepath.Join(dir, "..", "shared", "data", "search")
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			if _, err := os.Stat(pages); err != nil {
				t.Skipf("captured result pages are not at %s", pages)
			}
			return pages
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no go.work above the test: cannot find the captured result pages")
		}
		dir = filepath.Dir(dir)
	}
}

// ReadsCaptured checks that the engine reads its captured pages as they are
// known. kinds gives the outcome of each kind of page.
func ReadsCaptured(t *testing.T, engine adapter.Adapter, kinds map[string]outcome.Code) {
	t.Helper()
	for _, c := range Corpus(t) {
		if c.Provider != engine.Name() {
			continue
		}
		t.Run(fmt.Sprint(c.File, " status ", c.Status), func(t *testing.T) {
			p, o := engine.Parse(adapter.Response{Status: c.Status, Body: c.Body})
			if o.Code != kinds[c.Kind] {
				t.Fatalf("outcome %s (%s), want %s", o.Code, o.Detail, kinds[c.Kind])
			}
			if (o.Code == outcome.OKAlteredQuery) != (p.AlteredQuery != "") {
				t.Errorf("outcome %s with altered query %q", o.Code, p.AlteredQuery)
			}
			if len(p.Results) != len(c.Organic) {
				t.Fatalf("%d results, want %d", len(p.Results), len(c.Organic))
			}
			for i, want := range c.Organic {
				got := p.Results[i]
				if got.URL != want.URL || got.Title != want.Title {
					t.Errorf("result %d is %q at %s, want %q at %s", i, got.Title, got.URL, want.Title, want.URL)
				}
				if got.Snippet == "" {
					t.Errorf("result %d (%s) has no snippet", i, got.URL)
				}
			}
		})
	}
}
