package main

import (
	"fmt"
	"io"
	"strings"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
)

// humanView shows a run to a person: the answer on stdout, the steps to it on
// stderr. On a terminal text is shown as it is written; into a pipe goes the
// answer alone, once it is known which text is the answer.
type humanView struct {
	answer, steps io.Writer
	style         terminal.Style
	live          bool
	thinking      bool

	shown   map[textKey]string
	midLine bool    // text without a line end stands on the terminal
	last    textKey // which text that is
}

// textKey is one text of a run.
type textKey struct {
	round    int32
	thinking bool
}

func (c *cli) newHumanView(thinking bool) *humanView {
	return &humanView{
		answer: c.result(), steps: c.stderr, style: terminal.StyleFor(c.stderr, c.env), live: terminal.Is(c.stdout),
		thinking: thinking, shown: map[textKey]string{},
	}
}

func (v *humanView) seen(ev *orchestratorv1.RunEvent, t *transcript.Transcript) {
	switch e := ev.GetEvent().(type) {
	case *orchestratorv1.RunEvent_Thinking:
		if v.thinking {
			v.text(v.steps, textKey{e.Thinking.GetRound(), true}, t.Round(e.Thinking.GetRound()).Thinking)
		}
	case *orchestratorv1.RunEvent_Message:
		if v.live {
			v.text(v.answer, textKey{e.Message.GetRound(), false}, t.Round(e.Message.GetRound()).Text)
		}
	case *orchestratorv1.RunEvent_ToolCall:
		v.calls(e.ToolCall, t)
	case *orchestratorv1.RunEvent_ToolProgress:
		v.step(v.style.Dim("  " + terminal.Line(e.ToolProgress.GetName()+": "+e.ToolProgress.GetMessage(), maxCell)))
	case *orchestratorv1.RunEvent_ToolResult:
		for _, r := range e.ToolResult.GetResults() {
			v.result(r)
		}
	case *orchestratorv1.RunEvent_ApprovalRequired:
		v.step(v.style.Bold("? ") + "waits for a decision: " + callLine(e.ApprovalRequired.GetName(), e.ApprovalRequired.GetArguments()))
	case *orchestratorv1.RunEvent_Notice:
		v.step("! " + terminal.Line(e.Notice.GetMessage(), maxNote))
	case *orchestratorv1.RunEvent_RoundRestarted:
		v.restarted(e.RoundRestarted.GetRound())
	}
}

// text shows what is new of a text. What was shown cannot be taken back: a text
// that became another is shown again from its beginning.
func (v *humanView) text(w io.Writer, key textKey, now string) {
	shown := v.shown[key]
	switch {
	case strings.HasPrefix(shown, now): // nothing new yet, or the beginning sent again
		return
	case !strings.HasPrefix(now, shown):
		v.step("! the text changed; again from its beginning:")
		shown = ""
	}
	if key != v.last {
		v.endLine()
	}
	v.shown[key], v.last = now, key
	rest := now[len(shown):]
	_, _ = io.WriteString(w, v.dimmed(key, terminal.Clean(rest)))
	v.midLine = !strings.HasSuffix(rest, "\n")
}

func (v *humanView) dimmed(key textKey, text string) string {
	if key.thinking {
		return v.style.Dim(text)
	}
	return text
}

// step shows one line beside the text.
func (v *humanView) step(line string) {
	v.endLine()
	_, _ = fmt.Fprintln(v.steps, line)
}

// aside makes room for a line of somebody else.
func (v *humanView) aside() { v.endLine() }

func (v *humanView) endLine() {
	if v.midLine {
		v.midLine = false
		_, _ = fmt.Fprintln(v.steps)
	}
}

// calls shows what the model wants done, after what it said before.
func (v *humanView) calls(e *orchestratorv1.ToolCalls, t *transcript.Transcript) {
	if text := strings.TrimSpace(t.Round(e.GetRound()).Text); text != "" && !v.live {
		v.step(v.style.Dim(terminal.Clean(text)))
	}
	for _, call := range e.GetCalls() {
		v.step(v.style.Dim("→ ") + callLine(call.GetFunction().GetName(), call.GetFunction().GetArguments()))
	}
}

func (v *humanView) result(r *orchestratorv1.ToolResult) {
	s := summarize(r)
	mark, join := v.style.Good("✓ "), ", "
	if !s.ok {
		mark, join = v.style.Bad("✗ "), ": "
	}
	line := fmt.Sprintf("%s %d ms", terminal.Line(r.GetName(), maxCell), r.GetDurationMs())
	if s.text != "" {
		line += join + terminal.Line(s.text, maxSnippet)
	}
	v.step(mark + line)
	for _, source := range s.sources {
		v.step(v.style.Dim("    " + terminal.Line(source, maxSnippet)))
	}
}

func (v *humanView) restarted(round int32) {
	if v.shown[textKey{round, false}] != "" || v.shown[textKey{round, true}] != "" {
		v.step("! the server begins this round again")
	}
	delete(v.shown, textKey{round, false})
	delete(v.shown, textKey{round, true})
}

// ended shows the answer, where it was held back, and what it took.
func (v *humanView) ended(t *transcript.Transcript) error {
	v.endLine()
	answer := t.Answer()
	switch {
	case v.live || answer == "":
	case t.Failed != nil: // a text without an end is no answer
		v.step(v.style.Dim(terminal.Clean(answer)))
	default:
		if _, err := fmt.Fprintln(v.answer, strings.TrimRight(answer, "\n")); err != nil {
			return err
		}
	}
	if d := t.Done; d != nil {
		u := d.GetUsage()
		v.step(v.style.Dim(fmt.Sprintf("%s, %s, %s", finishWords(d.GetFinishReason()),
			plural(int(u.GetInputTokens()), "token")+" in", plural(int(u.GetOutputTokens()), "token")+" out")))
	}
	return nil
}

// finishWords say why a run ended.
func finishWords(reason string) string {
	switch reason {
	case "stop":
		return "done"
	case "limit":
		return "ended at the limit of rounds"
	case "length":
		return "ended at the limit of length: the answer is cut"
	case "breaker":
		return "ended because a tool failed again and again"
	case "budget":
		return "ended at the budget"
	}
	return reason
}
