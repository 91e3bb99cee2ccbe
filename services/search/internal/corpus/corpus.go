// Package corpus opens the captured result pages that tests of several
// packages read. They lie outside the repository, beside it.
package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Case is one captured page with what is known about it.
type Case struct {
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

// Load reads all cases, or skips the test when the pages are not there.
func Load(t testing.TB) []Case {
	t.Helper()
	dir := find(t)
	raw, err := os.ReadFile(filepath.Join(dir, "EXPECTED.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
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
