package doctor

import (
	"slices"
	"testing"
	"time"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

func TestTheToolsThatAreKnownAreThoseThatAreThere(t *testing.T) {
	cfg := quiet(t)
	cfg.Sandbox.Roots = nil
	s := start(t, cfg)
	ctx := auth.NewContext(t.Context(), s.Owner())
	got, err := orchestratorv1.NewToolServiceClient(s.Conn()).ListTools(ctx, &orchestratorv1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, tool := range got.GetTools() {
		there = append(there, tool.GetName())
	}
	slices.Sort(there)
	if !slices.Equal(there, ownTools) {
		t.Errorf("there are %q, known are %q", there, ownTools)
	}
}

func TestNamesOfToolsThatNobodyHas(t *testing.T) {
	cfg := quiet(t)
	cfg.Providers = []orchestrator.ProviderConfig{{Name: "words", Address: "127.0.0.1:1"}}
	cfg.Tools.Enabled = []string{"*", "web_search", "words__count", "web_serch"}
	cfg.Tools.AutoApprove = []string{"run_code"}
	cfg.Tools.Timeouts = map[string]time.Duration{"sing": time.Second}
	x := &examination{cfg: cfg}
	got := run(t.Context(), []check{{"tools", x.tools}})
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	shows(t, got[0], Warning, "tools.enabled names web_serch", "did you mean web_search?")
	shows(t, got[1], Warning, "tools.timeouts names sing", "nanoclaw tools list")
}
