package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
	"github.com/nanoclaw/nanoclaw/services/internal/demo"
)

// demoView shows the demonstration as it goes: each step with the time since the
// start, and the words of the model as they come.
type demoView struct {
	c     *cli
	out   io.Writer
	style terminal.Style
	json  bool
	began time.Time

	shown   map[int32]int // bytes of the text of each round
	midLine bool
}

func (c *cli) newDemoView(asJSON bool, began time.Time) *demoView {
	v := &demoView{c: c, out: c.result(), style: terminal.StyleFor(c.stdout, c.env), json: asJSON, began: began, shown: map[int32]int{}}
	if asJSON {
		v.out = io.Discard
	}
	return v
}

// introduce says what is real and what is not.
func (v *demoView) introduce(d *demo.Demo) {
	v.line("A question that takes %d tools. The search engine, the web site and the model are", len(d.Tools()))
	v.line("on this machine. Only the model's words are scripted: what the tools do is real.")
	for _, m := range d.Missing() {
		v.line("%s This machine cannot run programs safely: %s.", v.style.Bad("!"), terminal.Line(m.GetDetail(), maxNote))
	}
	v.line("")
	v.line("%s %s", v.style.Bold("?"), demo.Question)
}

func (v *demoView) seen(ev *orchestratorv1.RunEvent, t *transcript.Transcript) {
	switch e := ev.GetEvent().(type) {
	case *orchestratorv1.RunEvent_Message:
		v.text(e.Message.GetRound(), t)
	case *orchestratorv1.RunEvent_ToolCall:
		for _, call := range e.ToolCall.GetCalls() {
			v.step("%s %s", v.style.Bold("→"), callLine(call.GetFunction().GetName(), call.GetFunction().GetArguments()))
		}
	case *orchestratorv1.RunEvent_ToolResult:
		for _, r := range e.ToolResult.GetResults() {
			s, mark := summarize(r), v.style.Good("✓")
			if !s.ok {
				mark = v.style.Bad("✗")
			}
			v.step("%s %s, %d ms: %s", mark, r.GetName(), r.GetDurationMs(), terminal.Line(s.text, maxSnippet))
		}
	}
}

// text shows what is new of the words of a round.
func (v *demoView) text(round int32, t *transcript.Transcript) {
	r := t.Round(round)
	if r == nil || len(r.Text) <= v.shown[round] {
		return
	}
	if v.shown[round] == 0 {
		v.endLine()
		_, _ = fmt.Fprintln(v.out)
	}
	_, _ = io.WriteString(v.out, terminal.Clean(r.Text[v.shown[round]:]))
	v.midLine = !strings.HasSuffix(r.Text, "\n")
	v.shown[round] = len(r.Text)
}

// step shows one line with the time since the start.
func (v *demoView) step(format string, args ...any) {
	v.line("%s  %s", v.style.Dim(fmt.Sprintf("%6.2f s", time.Since(v.began).Seconds())), fmt.Sprintf(format, args...))
}

func (v *demoView) line(format string, args ...any) {
	v.endLine()
	_, _ = fmt.Fprintf(v.out, format+"\n", args...)
}

func (v *demoView) endLine() {
	if v.midLine {
		v.midLine = false
		_, _ = fmt.Fprintln(v.out)
	}
}

// demoOutcome is how the demonstration went; --json prints it.
type demoOutcome struct {
	Question string     `json:"question"`
	Answer   string     `json:"answer"`
	Scripted string     `json:"scripted"`
	Tools    []demoTool `json:"tools"`
	// Missing is what this machine lacks for run_code, with the fix.
	Missing []demoMissing `json:"missing"`
	RunID   string        `json:"run_id"`
	TraceID string        `json:"trace_id"`
	URL     string        `json:"url,omitempty"`

	tracesTo string   // the collector that has the trace, if one has it
	failed   []string // tools that were not called, or failed
}

type demoTool struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	OK        bool            `json:"ok"`
	Millis    int32           `json:"duration_ms"`
	Summary   string          `json:"summary"`
}

type demoMissing struct {
	Name   string `json:"name"`
	Detail string `json:"detail"`
	Fix    string `json:"fix"`
}

func newDemoOutcome(d *demo.Demo, said *transcript.Transcript, serving bool) demoOutcome {
	o := demoOutcome{
		Question: demo.Question, Answer: strings.TrimSpace(said.Answer()), Scripted: "the words of the model, nothing else",
		Tools: []demoTool{}, Missing: missingOf(d.Missing()), RunID: said.RunID, TraceID: said.TraceID,
		tracesTo: d.TracesTo(),
	}
	if serving {
		o.URL = d.URL()
	}
	worked := map[string]bool{}
	for _, round := range said.Rounds {
		for _, call := range round.Calls {
			tool := demoTool{Name: call.Name, Arguments: json.RawMessage(call.Arguments)}
			if r := call.Result; r != nil {
				sum := summarize(r)
				tool.OK, tool.Millis, tool.Summary = sum.ok, r.GetDurationMs(), terminal.Line(sum.text, maxSnippet)
			}
			worked[call.Name] = worked[call.Name] || tool.OK
			o.Tools = append(o.Tools, tool)
		}
	}
	o.failed = slices.DeleteFunc(slices.Clone(d.Tools()), func(name string) bool { return worked[name] })
	return o
}

func missingOf(checks []*sandboxv1.Capability) []demoMissing {
	all := []demoMissing{}
	for _, m := range checks {
		all = append(all, demoMissing{m.GetName(), m.GetDetail(), m.GetFix()})
	}
	return all
}

// conclude says what was shown and where there is more to see.
func (v *demoView) conclude(o demoOutcome) error {
	if v.json {
		return v.c.printDocument(o)
	}
	names := []string{}
	for _, tool := range o.Tools {
		if tool.OK && !slices.Contains(names, tool.Name) {
			names = append(names, tool.Name)
		}
	}
	v.line("")
	v.line("%s %s worked: %s.", v.style.Good("✓"), plural(len(names), "tool"), strings.Join(names, ", "))
	v.line("  Scripted: %s.", o.Scripted)
	if o.tracesTo != "" {
		v.line("  Trace %s has every step; it goes to the collector at %s.", o.TraceID, o.tracesTo)
	} else {
		v.line("  Trace %s has every step; NANOCLAW_TELEMETRY_EXPORTER=otlp sends it to Jaeger at 127.0.0.1:4317.", o.TraceID)
	}
	if o.URL != "" {
		v.line("  Web app: %s", o.URL)
	} else {
		v.line("  \"nanoclaw demo --serve\" leaves it running, to look around in.")
	}
	for _, m := range o.Missing {
		v.line("%s run_code was left out: %s. To put it right: %s.", v.style.Bad("✗"), terminal.Line(m.Detail, maxNote), terminal.Line(m.Fix, maxNote))
	}
	return nil
}

// exit is the exit code of the demonstration.
func (o demoOutcome) exit() error {
	switch {
	case len(o.failed) > 0:
		return fmt.Errorf("these tools did not work: %s", strings.Join(o.failed, ", "))
	case len(o.Missing) > 0:
		return &exitError{code: exitPartial}
	}
	return nil
}
