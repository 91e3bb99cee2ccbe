package strangers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const script = `
model: scripted-strangers
turns:
  - replies:
      - steps:
          - reasoning: "The web will know."
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
      - steps:
          - text: "Read aloud: {{result fetch_page content.text}}"
`

// begin starts a suite, and makes a token for a stranger who may do what the
// scopes say.
func begin(t *testing.T, scopes ...string) (s *suite.Suite, token string) {
	t.Helper()
	s = world.New(t, script).Start(t)
	c := world.ClientOf(s)
	t.Cleanup(c.HTTP.CloseIdleConnections)
	token, _ = c.Data(t, "POST", "/api/tokens", map[string]any{"name": "stranger", "scopes": scopes})["token"].(string)
	if token == "" {
		t.Fatal("no token was made")
	}
	return s, token
}

// goCommand runs the go command in a module beside this package.
func goCommand(t *testing.T, module string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join("..", module)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), module, err, &stderr)
	}
	return string(out)
}

// build builds a package of such a module.
func build(t *testing.T, module, pkg string) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), module)
	goCommand(t, module, "build", "-trimpath", "-o", binary, pkg)
	return binary
}

// run runs a program to its end.
func run(t *testing.T, binary string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}
