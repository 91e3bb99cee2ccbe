//go:build node

package tscall

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = `
model: scripted-typescript
turns:
  - replies:
      - steps:
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - text: "Found {{url web_search 0}} für {{user}}"
`

// nodeModules are those of the web app.
const nodeModules = "../../gateway/web/node_modules"

// compile type-checks the program and everything generated that it imports.
func compile(t *testing.T) (program string) {
	t.Helper()
	out := t.TempDir()
	tsc := exec.CommandContext(t.Context(), filepath.Join(nodeModules, ".bin/tsc"), "--outDir", out)
	if text, err := tsc.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v (make test-node installs it)\n%s", err, text)
	}
	return filepath.Join(out, "services/test/tscall/ask.js")
}

func TestTypeScriptAsksThroughTheGateway(t *testing.T) {
	program := compile(t)
	w := world.New(t, script)
	s := w.Start(t)
	c := world.ClientOf(s)
	modules, err := filepath.Abs(nodeModules)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(token, text string) (stdout, stderr string, err error) {
		node := exec.CommandContext(t.Context(), "node", program, c.Base, token, text)
		node.Env = append(os.Environ(), "NODE_PATH="+modules)
		var out, said bytes.Buffer
		node.Stdout, node.Stderr = &out, &said
		err = node.Run()
		return out.String(), said.String(), err
	}
	stdout, stderr, err := ask(c.Token, "Nanoclaws, 纳米爪?")
	if want := "Found " + w.Site.URL + "/article für Nanoclaws, 纳米爪?\n"; err != nil || stdout != want || stderr != "calls web_search\n" {
		t.Errorf("printed %q, %q, %v; want %q", stdout, stderr, err, want)
	}
	stdout, stderr, err = ask("nc_"+strings.Repeat("x", 40), "Nanoclaws?")
	if err == nil || stdout != "" || !strings.HasPrefix(stderr, "401 TOKEN_INVALID: ") {
		t.Errorf("with a token of nobody: %q, %q, %v", stdout, stderr, err)
	}
}
