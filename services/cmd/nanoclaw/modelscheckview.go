package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

// stressView shows how a check of a model goes, on stderr: on a terminal a line
// that changes, and everywhere a line for each round that did not pass.
type stressView struct {
	w      io.Writer
	style  terminal.Style
	live   bool
	passed int
	trial  bool
	line   bool // stands on the last line
}

func (c *cli) newStressView() *stressView {
	return &stressView{w: c.stderr, style: terminal.StyleFor(c.stderr, c.env), live: terminal.Is(c.stderr) && c.getenv("TERM") != "dumb"}
}

// seen takes a step in.
func (v *stressView) seen(p orchestrator.StressProgress) {
	if p.Trial && !v.trial {
		v.trial, v.passed = true, 0
		v.say("trying other settings")
	}
	switch {
	case p.Wait > 0:
		v.say(fmt.Sprintf("the provider asks to wait %s", p.Wait.Round(time.Second)))
	case p.Problem != "":
		v.say(fmt.Sprintf("%s round %d, %s: %s", v.style.Bad("✗"), p.Round, p.Kind, terminal.Line(p.Problem, maxNote)))
	default:
		v.passed++
	}
	if v.live {
		_, _ = fmt.Fprintf(v.w, "\r\x1b[K%d/%d rounds, %d passed", p.Round, p.Rounds, v.passed)
		v.line = true
	}
}

func (v *stressView) say(text string) {
	v.done()
	_, _ = fmt.Fprintln(v.w, text)
}

// done removes what changes.
func (v *stressView) done() {
	if v.line {
		v.line = false
		_, _ = io.WriteString(v.w, "\r\x1b[K")
	}
}

// showStress prints the report for people.
func (c *cli) showStress(r orchestrator.StressReport) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s (%s) at %s: profile %s (%s), tools %s, seed %d\n", r.Model, r.Name, r.Endpoint, r.Profile, r.ProfileFrom, r.ToolMode, r.Seed)
	if r.Stopped != "" {
		fmt.Fprintf(&out, "stopped after %d of %s: %s\n", r.Asked, plural(r.Rounds, "round"), r.Stopped)
	}
	if _, err := fmt.Fprintln(c.stdout, terminal.Clean(out.String())); err != nil {
		return err
	}
	if r.Asked > 0 {
		if err := c.tableOfKinds(r); err != nil {
			return err
		}
		if _, err := fmt.Fprint(c.stdout, "\n", terminal.Clean(figures(r.StressSummary))); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(c.stdout, terminal.Clean(recommendation(r)))
	return err
}

func (c *cli) tableOfKinds(r orchestrator.StressReport) error {
	row := func(name string, t orchestrator.StressTally) []string {
		cells := []string{name}
		for _, n := range []orchestrator.StressCount{t.Passed, t.Called, t.Exact, t.Repaired, t.Unreadable, t.Valid, t.Right} {
			cells = append(cells, fraction(n))
		}
		return cells
	}
	var rows [][]string
	for _, t := range r.Kinds {
		rows = append(rows, row(string(t.Kind), t))
	}
	return c.table("KIND\tPASSED\tCALLED\tEXACT\tREPAIRED\tUNREADABLE\tVALID\tRIGHT", append(rows, row("all", r.Total)))
}

// fraction is "3/4", and "-" of none.
func fraction(n orchestrator.StressCount) string {
	if n.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n.N, n.Of)
}

// figures are what the table does not have.
func figures(s orchestrator.StressSummary) string {
	var out strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&out, "%-16s %s\n", name, fmt.Sprintf(format, args...))
	}
	share := func(name string, n orchestrator.StressCount, of string) {
		if n.Of > 0 {
			line(name, "%d of %s (%d %%)", n.N, plural(n.Of, of), 100*n.N/n.Of)
		}
	}
	share("passed", s.Total.Passed, "round")
	share("called a tool", s.Total.Called, "round")
	share("exact JSON", s.Total.Exact, "call")
	share("repaired", s.Total.Repaired, "call")
	share("fit the schema", s.Total.Valid, "call")
	share("as asked for", s.Total.Right, "call")
	share("parallel calls", s.Parallel, "round")
	share("streamed", s.Streamed, "round")
	share("needless calls", s.Needless, "round")
	if s.Cut.N > 0 {
		share("cut by limit", s.Cut, "answer")
	}
	if s.Latency.P95MS > 0 {
		line("first token", "%d ms half the time, %d ms in 95 of 100", s.FirstToken.P50MS, s.FirstToken.P95MS)
		line("whole answer", "%d ms half the time, %d ms in 95 of 100", s.Latency.P50MS, s.Latency.P95MS)
	}
	estimated := ""
	if s.Estimated {
		estimated = " (partly estimated: the provider did not count all)"
	}
	line("tokens", "%d in, %d out%s", s.InputTokens, s.OutputTokens, estimated)
	for _, m := range s.Repairs {
		line("repair", "%d times: %s", m.Count, m.What)
	}
	for _, f := range s.Failures {
		line("failed", "%s, %s: %s", plural(f.Count, "call"), f.Kind, f.Message)
	}
	return out.String() + "\n"
}

// recommendation says what to configure.
func recommendation(r orchestrator.StressReport) string {
	var out strings.Builder
	rec := r.Recommendation
	if rec.Change {
		fmt.Fprintf(&out, "Recommended: change the model's settings in config.yml to  profile: %s, tool_mode: %s\n  because %s\n", rec.Profile, rec.ToolMode, rec.Reason)
	} else {
		fmt.Fprintf(&out, "Recommended: keep  profile: %s, tool_mode: %s\n  because %s\n", rec.Profile, rec.ToolMode, rec.Reason)
	}
	for _, advice := range rec.Advice {
		fmt.Fprintf(&out, "! %s\n", advice)
	}
	return out.String()
}
