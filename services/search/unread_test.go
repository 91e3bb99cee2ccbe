package search

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestAPageThatNobodyCanReadIsKeptForTheOperator(t *testing.T) {
	cases := []struct {
		name, page, reason string
		kept               bool
	}{
		{"a new layout", `<div class="new">secret plans</div>`, "LAYOUT_UNRECOGNISED", true},
		{"a challenge", challengePage, "CHALLENGE", false},
		{"rows of other queries", bingPage("running shoes", "https://a.example/"), "DECOY_SUSPECTED", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			guard, err := netguard.New(netguard.Config{})
			if err != nil {
				t.Fatal(err)
			}
			cfg, dir := DefaultConfig(), t.TempDir()
			cfg.Adapter, cfg.Bing = "bing", engineAt(t, says(200, c.page))
			s, err := New(t.Context(), cfg, Deps{Guard: guard, Log: slog.New(slog.DiscardHandler), UnreadDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Search(as(t, "ann"), ask("secret plans")); rpcerr.Reason(err) != c.reason {
				t.Fatalf("got %v", err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "bing", "*.json"))
			if err != nil || (len(files) == 1) != c.kept || len(files) > 1 {
				t.Fatalf("files %v (%v)", files, err)
			}
			if c.kept {
				readAgain(t, files[0])
			}
		})
	}
}

func TestAPageThatRepeatsAKeyIsKeptWithoutIt(t *testing.T) {
	guard, err := netguard.New(netguard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const key = "hush/1+2&3"
	page := `<p>Authorization: Bearer hush/1+2&3, ?key=hush%2F1%2B2%263, hush&#47; hush/1+2&amp;3</p>`
	for _, name := range []string{"brave_llm", "brave_web", "tavily", "bocha", "zhipu", "anthropic"} {
		cfg, dir := DefaultConfig(), t.TempDir()
		at := KeyedConfig{EngineConfig: engineAt(t, says(200, page)), APIKey: key}
		cfg.Adapter, cfg.Brave, cfg.Tavily, cfg.Bocha, cfg.Zhipu.KeyedConfig = name, at, at, at, at
		cfg.Anthropic.KeyedConfig, cfg.Anthropic.Model = at, "m"
		s, err := New(t.Context(), cfg, Deps{Guard: guard, Log: slog.New(slog.DiscardHandler), UnreadDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Search(as(t, "ann"), ask("green tea"))
		s.Close()
		files, err := filepath.Glob(filepath.Join(dir, name, "*.json"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: files %v (%v)", name, files, err)
		}
		line, err := os.ReadFile(files[0])
		if err != nil || !strings.Contains(string(line), "Bearer [") {
			t.Errorf("%s: %s (%v)", name, line, err)
		}
		for _, form := range []string{"hush/1", "hush%2F", "hush/1+2\\u0026amp;3"} {
			if strings.Contains(string(line), form) {
				t.Errorf("%s kept %s: %s", name, form, line)
			}
		}
	}
}

// readAgain gives a kept answer to inspect results, as its reader would.
func readAgain(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil || strings.Contains(line, "secret") {
		t.Errorf("kept %q (%v)", line, err)
	}
	var in InspectInput
	if err := json.Unmarshal([]byte(line), &in); err != nil {
		t.Fatal(err)
	}
	if out, err := InspectResults(in); err != nil || out.Outcome != "LAYOUT_UNRECOGNISED" {
		t.Errorf("read again: %+v (%v)", out, err)
	}
}
