package runs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// oneCall is a script in which the model makes one call and tells its result.
func oneCall(tool, arguments string) string {
	return fmt.Sprintf(`
turns:
  - replies:
      - steps: [{call: {name: %s, arguments: %s}}]
      - steps: [{text: "It said: {{result %s}}"}]
`, tool, arguments, tool)
}

func toolsOf(t testing.TB, c *world.Client) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for _, tool := range c.Data(t, "GET", "/api/tools", nil)["tools"].([]any) {
		all[tool.(map[string]any)["name"].(string)] = tool.(map[string]any)
	}
	return all
}

func TestAStrangersProviderAsItsOwnProcess(t *testing.T) {
	t.Parallel()
	words, err := world.Launch(t, exec.Command(world.Program(t, "provider")))
	if err != nil {
		t.Fatal(err)
	}
	reading := []string{"web_search", "fetch_page", "read_result"}
	for _, tc := range []struct {
		name           string
		enabled, auto  []string
		trust          map[string]orchestrator.TrustConfig
		wantEnabled    bool
		wantAsks       bool
		wantEffect     string
		wantSaid       string
		wantFailedCall bool
	}{
		{
			name: "is off until somebody turns it on", wantAsks: true, wantEffect: "opaque",
			wantSaid: "TOOL_DISABLED", wantFailedCall: true,
		},
		{
			name: "asks when it is turned on", enabled: append(reading, "words__word_count"), wantEnabled: true, wantAsks: true, wantEffect: "opaque",
			wantSaid: "APPROVAL_UNAVAILABLE", wantFailedCall: true,
		},
		{
			name: "is called when its operator approves of it", enabled: append(reading, "words__word_count"), auto: []string{"words__word_count"},
			wantEnabled: true, wantEffect: "opaque", wantSaid: `"words":4`,
		},
		{
			name: "is called when its operator vouches for it", enabled: append(reading, "words__word_count"),
			trust:       map[string]orchestrator.TrustConfig{"word_count": {Effect: "pure", Sink: "read", Trusted: true}},
			wantEnabled: true, wantEffect: "pure", wantSaid: `"words":4`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := world.New(t, oneCall("words__word_count", `{text: "one two three four"}`))
			w.Config.Providers = []orchestrator.ProviderConfig{{Name: "words", Address: addrOf(words), Tools: tc.trust}}
			w.Config.Tools.Enabled, w.Config.Tools.AutoApprove = tc.enabled, tc.auto
			c := world.ClientOf(w.Start(t))
			tool := toolsOf(t, c)["words__word_count"]
			if tool["provider"] != "words" || tool["enabled"] != tc.wantEnabled || tool["asks"] != tc.wantAsks || tool["effect"] != tc.wantEffect {
				t.Errorf("the tool is %v", tool)
			}
			id := c.Conversation(t)
			run := c.Ask(t, id, "How many words?")
			log := checkRun(t, c, id, run.RunID, run)
			if log.Done["finish_reason"] != "stop" || !strings.Contains(log.Text(2), tc.wantSaid) {
				t.Errorf("the run ended with %v %v, the answer is %q", log.Done, log.Error, log.Text(2))
			}
			if len(log.Results) != 1 || log.Results[0]["is_error"] != tc.wantFailedCall {
				t.Errorf("results %v", log.Results)
			}
		})
	}
}

func TestARunSurvivesAStrangerThatMisbehaves(t *testing.T) {
	t.Parallel()
	strange := startStranger(t, "127.0.0.1:0")
	var script strings.Builder
	script.WriteString("turns:\n")
	for name := range misbehaviour {
		fmt.Fprintf(&script, `
  - when: {user_contains: "%[1]s!"}
    replies:
      - steps: [{text: "Trying."}, {call: {name: strange__%[1]s, arguments: {}}}]
      - steps: [{text: "It said: {{result strange__%[1]s}}"}]
`, name)
	}
	w := world.New(t, script.String())
	w.Config.Tools.Enabled = []string{"*"}
	w.Config.Tools.Timeouts = map[string]time.Duration{"strange__hang": hangTime}
	trust := map[string]orchestrator.TrustConfig{}
	for name := range misbehaviour {
		w.Config.Tools.AutoApprove = append(w.Config.Tools.AutoApprove, "strange__"+name)
		trust[name] = orchestrator.TrustConfig{Effect: "pure"}
	}
	delete(trust, "nothing") // so it is opaque
	w.Config.Providers = []orchestrator.ProviderConfig{{Name: "strange", Address: addrOf(strange), Tools: trust}}
	p := world.Serve(t, world.Program(t, "nanoclaw"), w.ConfigFile(t))
	before := peakMemory(t, p.Pid)

	for _, tc := range []struct{ tool, reason string }{
		{"behave", ""},
		{"hang", "TIMEOUT"},
		{"flood", "RESULT_TOO_LARGE"},
		{"lump", "RESULT_TOO_LARGE"},
		{"garbage", "BAD_RESULT"},
		{"nothing", "OUTCOME_UNKNOWN"},
		{"scold", "PROVIDER_FAILED"},
		{"chatter", ""},
		{"die", "PROVIDER_UNAVAILABLE"},
		{"behave", "PROVIDER_UNAVAILABLE"}, // it is dead
	} {
		t.Run(strings.TrimSpace(tc.tool+" "+tc.reason), func(t *testing.T) {
			id := p.Conversation(t)
			began := time.Now()
			run := p.Ask(t, id, tc.tool+"!")
			log := checkRun(t, p.Client, id, run.RunID, run)
			if log.Done["finish_reason"] != "stop" || len(log.Results) != 1 {
				t.Fatalf("the run ended with %v %v and %d results", log.Done, log.Error, len(log.Results))
			}
			failed, _ := log.Result(0)["error"].(map[string]any)
			if reason, _ := failed["reason"].(string); reason != tc.reason || log.Results[0]["is_error"] != (tc.reason != "") {
				t.Errorf("the model was told %v", log.Result(0))
			}
			if !strings.Contains(log.Text(2), tc.reason) || strings.Contains(log.Text(2), "secret of the stranger") {
				t.Errorf("the model read %.300q", log.Text(2))
			}
			if took := time.Since(began); tc.tool == "hang" && took > hangTime+10*time.Second {
				t.Errorf("it took %s", took)
			}
			t.Logf("%.200q", log.Text(2))
		})
	}

	if grown := peakMemory(t, p.Pid) - before; grown > 256<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	} else {
		t.Logf("memory grew by %d MiB, from %d", grown>>20, before>>20)
	}

	// It comes back at the same address: nobody need start the suite again.
	startStranger(t, addrOf(strange))
	eventually(t, 20*time.Second, "the tool works again", func() bool {
		id := p.Conversation(t)
		return strings.Contains(p.Ask(t, id, "behave!").Text(2), "well behaved")
	})
	if err := p.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestAStrangerThatComesLater(t *testing.T) {
	t.Parallel()
	addr := addrtest.Reserve(t)
	w := world.New(t, oneCall("strange__behave", "{}"))
	w.Config.Tools.Enabled = []string{"*"}
	w.Config.Tools.AutoApprove = []string{"strange__behave"}
	w.Config.Providers = []orchestrator.ProviderConfig{{Name: "strange", Address: addr}}
	c := world.ClientOf(w.Start(t)) // which waits for no stranger: it comes after this
	if names := slices.Sorted(maps.Keys(toolsOf(t, c))); slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "strange__") }) {
		t.Errorf("tools %v", names)
	}
	id := c.Conversation(t)
	if run := c.Ask(t, id, "now?"); run.Done["finish_reason"] != "stop" || !strings.Contains(run.Text(2), "UNKNOWN_TOOL") {
		t.Errorf("without the stranger: %v, %q", run.Done, run.Text(2))
	}
	startStranger(t, addr)
	eventually(t, 20*time.Second, "the stranger's tools are there", func() bool { return toolsOf(t, c)["strange__behave"] != nil })
	if run := c.Ask(t, id, "and now?"); !strings.Contains(run.Text(2), "well behaved") {
		t.Errorf("with the stranger: %v, %q", run.Done, run.Text(2))
	}
}

// eventually asks again until it is so.
func eventually(t testing.TB, within time.Duration, what string, so func() bool) {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		if time.Since(began) > within {
			t.Fatalf("%s: not within %s", what, within)
		}
		<-tick.C
	}
}

// peakMemory is the most memory that a process ever had, in bytes.
func peakMemory(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); f[0] == "VmHWM:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("the kernel does not tell the peak of memory")
	return 0
}
