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
