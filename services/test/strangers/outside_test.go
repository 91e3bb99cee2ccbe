package strangers

import (
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestAnOutsideClientStreamsARun(t *testing.T) {
	s, token := begin(t, "chat")
	outside := build(t, "outside", ".")
	stdout, stderr, err := run(t, outside, s.GRPCAddr(), token, "How big are nanoclaws?")
	if want := "Read aloud: On nanoclaws " + world.Article; err != nil || strings.Join(strings.Fields(stdout), " ") != want {
		t.Errorf("printed %q, %v %s\nwant %q", stdout, err, stderr, want)
	}
	stdout, stderr, err = run(t, outside, s.GRPCAddr(), "nc_"+strings.Repeat("x", 40), "How big are nanoclaws?")
	if err == nil || stdout != "" || !strings.Contains(stderr, "Unauthenticated") {
		t.Errorf("with a token of nobody: %q, %v %s", stdout, err, stderr)
	}
}

func TestAnOutsideClientNeedsTheContractsAlone(t *testing.T) {
	const ours = "github.com/nanoclaw/nanoclaw/"
	for module := range strings.Lines(goCommand(t, "outside", "list", "-m", "-f", "{{.Path}}", "all")) {
		if module = strings.TrimSpace(module); strings.HasPrefix(module, ours) && module != ours+"gen" {
			t.Errorf("it requires %s", module)
		}
	}
	linked := map[string]bool{}
	for module := range strings.Lines(goCommand(t, "outside", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		if module = strings.TrimSpace(module); module != "" {
			linked[module] = true
		}
	}
	const most = 12
	if len(linked) > most || !linked[ours+"gen"] || !linked["google.golang.org/grpc"] {
		t.Errorf("it links %d modules, at most %d are wanted: %v", len(linked), most, linked)
	}
}
