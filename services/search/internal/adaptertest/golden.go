// Package adaptertest holds every adapter to the same tests: requests byte for
// byte, pages against golden readings, captured pages against what is known of
// them, and properties that no page whatsoever may break.
package adaptertest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Received is when the pages of these tests claim to have been read.
var Received = time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)

// Plans checks the request for q against testdata/request_NAME.txt.
func Plans(t *testing.T, name string, engine adapter.Adapter, q adapter.Query) adapter.Plan {
	t.Helper()
	plan, err := engine.Plan(q)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "request_"+name+".txt"), wire(plan.Request))
	return plan
}

// wire writes a request as it goes out, headers sorted.
func wire(r adapter.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], " | "))
	}
	if r.Body != nil {
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	return b.String()
}

// reading is the golden form of what was made of a page.
type reading struct {
	Outcome outcome.Code     `json:"outcome"`
	Detail  string           `json:"detail,omitempty"`
	Altered string           `json:"altered_query,omitempty"`
	Results []adapter.Result `json:"results,omitempty"`
}

// Reads checks what the engine makes of every testdata/PREFIX*.html against the
// JSON file of the same name.
func Reads(t *testing.T, prefix string, engine adapter.Adapter) {
	t.Helper()
	for file, body := range pages(t, prefix) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, o := engine.Parse(adapter.Response{Status: 200, Body: body, ReceivedAt: Received})
			text, err := json.MarshalIndent(reading{o.Code, o.Detail, p.AlteredQuery, p.Results}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".html")+".json", string(text)+"\n")
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

func pages(t testing.TB, prefix string) map[string][]byte {
	t.Helper()
	out := Pages(t, "testdata", prefix)
	if len(out) == 0 {
		t.Fatalf("no pages testdata/%s*.html", prefix)
	}
	return out
}

// Pages are the files DIR/PREFIX*.html by their names; there may be none.
func Pages(t testing.TB, dir, prefix string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*.html"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
