//go:build e2e && figures

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFigures measures the web app in a browser, and prints one JSON line a
// figure. make bench runs it where Node.js and Chromium are.
func TestFigures(t *testing.T) {
	chromium := browser(t)
	s, w := set(t)
	if !hasApp(t, s) {
		t.Skip("the binary has no web app: make web builds it")
	}
	s.Many = addMany(t, w.Config.DataDir)
	out := filepath.Join(t.TempDir(), "figures")
	t.Setenv("E2E_FIGURES", out)
	if err := vitest(t, s, chromium); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.Write(text); err != nil {
		t.Fatal(err)
	}
}
