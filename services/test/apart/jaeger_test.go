//go:build jaeger

package apart

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/otlptest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// TestJaegerShowsAQuestionAsOneTrace asks a question that is searched for, read
// about and answered, and then asks a real Jaeger for its trace.
func TestJaegerShowsAQuestionAsOneTrace(t *testing.T) {
	j := startJaeger(t)
	newWorld := func(t *testing.T) *world.World {
		w := world.New(t, answering)
		w.Config.Telemetry.Exporter, w.Config.Telemetry.OTLPEndpoint = telemetry.ExporterOTLP, j.otlp
		return w
	}
	t.Run("one process", func(t *testing.T) {
		w := newWorld(t)
		p := world.Serve(t, world.Program(t, "nanoclaw"), w.ConfigFile(t))
		t.Cleanup(p.HTTP.CloseIdleConnections)
		j.show(t, p.Client, oneProcess())
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a process for each service", func(t *testing.T) {
		d := deploy(t, newWorld(t))
		d.startAll()
		j.show(t, d.client(), turnTree)
		d.stop()
	})
	t.Run("a process for each service, as Jaeger lists them", func(t *testing.T) {
		_, body, err := j.get(deadline(t), "/api/v3/services")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"", "-gateway", "-orchestrator", "-search", "-fetcher"} {
			if name = fmt.Sprintf("%q", telemetry.DefaultServiceName+name); !strings.Contains(string(body), name) {
				t.Errorf("no service %s in %s", name, body)
			}
		}
	})
}

// oneProcess is turnTree where all services are one process.
func oneProcess() string {
	return regexp.MustCompile(`nanoclaw-(`+strings.Join([]string{suite.TargetGateway, suite.TargetOrchestrator, suite.TargetSearch, suite.TargetFetcher}, "|")+`) \|`).
		ReplaceAllString(turnTree, "nanoclaw |")
}

// show asks a question and requires that Jaeger shows it as the tree.
func (j jaeger) show(t *testing.T, c *world.Client, tree string) {
	t.Helper()
	traceID, run := askForTrace(t, c)
	if stored := checkStory(t, c, run); stored != traceID || traceID == "" {
		t.Fatalf("the answer's header names trace %q, its run %q", traceID, stored)
	}
	for i, r := range run.Results {
		if r["trace_id"] != traceID {
			t.Errorf("result %d names trace %v, the header %s", i, r["trace_id"], traceID)
		}
	}
	spans := strings.Count(strings.Trim(tree, "\n\t "), "\n") + 1
	shown := otlptest.Start(t) // draws what Jaeger answers
	if _, err := shown.Export(deadline(t), j.trace(t, traceID, spans)); err != nil {
		t.Fatal(err)
	}
	t.Logf("Jaeger shows trace %s as\n%s", traceID, shown.Tree(traceID))
	shown.RequireTree(t, traceID, tree)
	checkKinds(t, shown.Spans(), traceID)
}

// checkKinds checks what Jaeger goes by when it draws a trace of an agent: the
// kinds of the spans and their gen_ai attributes.
func checkKinds(t *testing.T, spans []otlptest.Span, traceID string) {
	t.Helper()
	byID := map[string]otlptest.Span{}
	for _, s := range spans {
		byID[s.SpanID] = s
	}
	for _, s := range spans {
		kind, operation := "internal", ""
		switch name, _, _ := strings.Cut(s.Name, " "); {
		case name == "POST":
			kind = "server"
		case strings.HasPrefix(name, "nanoclaw."):
			kind = "client"
			if byID[s.ParentID].Name == s.Name {
				kind = "server"
			}
		case name == "chat":
			kind, operation = "client", "chat"
		case name == "invoke_agent", name == "execute_tool":
			operation = name
		case name == "search.attempt", name == "fetch":
			kind = "client"
		}
		if s.TraceID != traceID || s.Kind != kind || s.Error || s.Attributes["gen_ai.operation.name"] != operation {
			t.Errorf("%s: kind %s, want %s; gen_ai.operation.name %q, want %q; %+v", s.Name, s.Kind, kind, s.Attributes["gen_ai.operation.name"], operation, s)
		}
		switch operation {
		case "invoke_agent":
			if s.Attributes["agent.episode_id"] == "" { // by which Jaeger's UI knows an agent
				t.Errorf("%s has no agent.episode_id", s.Name)
			}
		case "execute_tool":
			if want := strings.TrimPrefix(s.Name, "execute_tool "); s.Attributes["gen_ai.tool.name"] != want {
				t.Errorf("%s: gen_ai.tool.name %q", s.Name, s.Attributes["gen_ai.tool.name"])
			}
		}
	}
}
