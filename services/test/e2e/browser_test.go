//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// web is the folder of the web app.
const web = "../../gateway/web"

// chromiums are the names that Chromium has on machines.
var chromiums = []string{"chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"}

// browser is the path of a Chromium; NANOCLAW_CHROMIUM names another one.
func browser(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("NANOCLAW_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range chromiums {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: deploy/setup.sh all installs it")
	return ""
}

// hasApp says whether the app was built into the binary.
func hasApp(t testing.TB, s stage) bool {
	t.Helper()
	res, err := http.Get(s.Direct + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return strings.Contains(string(page), `id="app"`)
}

// vitest runs the files of scenarios that match, with the stage in their
// environment.
func vitest(t testing.TB, s stage, chromium string, files ...string) error {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(web, "node_modules/.bin/vitest"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("the npm tools of the web app are not installed: make e2e installs them")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node.js: deploy/setup.sh all installs it")
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"run", "--config", "vitest.e2e.config.ts"}, files...)...)
	cmd.Dir = web
	cmd.Env = append(os.Environ(), "E2E_STAGE="+s.json(t), "E2E_CHROMIUM="+chromium)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
