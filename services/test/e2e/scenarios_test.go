//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestWebApp plays the scenarios of services/gateway/web/e2e. E2E_FILES, names
// with spaces between, chooses some.
func TestWebApp(t *testing.T) {
	chromium := browser(t)
	s, _ := set(t)
	if !hasApp(t, s) {
		t.Fatal("the binary has no web app: run make web")
	}
	s.others(t)
	if err := vitest(t, s, chromium, strings.Fields(os.Getenv("E2E_FILES"))...); err != nil {
		t.Error("scenarios failed; see above: ", err)
	}
}
