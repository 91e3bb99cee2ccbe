package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

// crawlView shows how a crawl goes: on a terminal a bar that moves, with a line
// above it for each address that failed; else a line for each address. It is
// safe for concurrent use.
type crawlView struct {
	w     io.Writer
	style terminal.Style
	live  bool
	quiet bool // say nothing of single addresses
	total int

	mu       sync.Mutex
	progress map[string]*taskmanagerv1.CrawlProgress // by task
	done     int
	failed   int
	stalled  string
	bar      bool // stands on the last line
}

func (c *cli) newCrawlView(total int, quiet bool) *crawlView {
	return &crawlView{
		w: c.stderr, style: terminal.StyleFor(c.stderr, c.env), live: terminal.Is(c.stderr) && c.getenv("TERM") != "dumb", quiet: quiet,
		total: total, progress: map[string]*taskmanagerv1.CrawlProgress{},
	}
}

// seen takes an event of a task in.
func (v *crawlView) seen(task string, event *taskmanagerv1.CrawlEvent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := event.GetEvent().(type) {
	case *taskmanagerv1.CrawlEvent_Progress:
		v.progress[task] = e.Progress
		v.stall(e.Progress.GetStallReason())
	case *taskmanagerv1.CrawlEvent_Page:
		v.done++
		v.page(e.Page)
	case *taskmanagerv1.CrawlEvent_Done:
		delete(v.progress, task)
	}
	v.draw()
}

func (v *crawlView) page(p *taskmanagerv1.CrawlPageDone) {
	if !p.GetOk() {
		v.failed++
	}
	switch {
	case v.quiet, v.live && p.GetOk():
	case p.GetOk():
		line := fmt.Sprintf("%s %d %s, %d ms", v.style.Good("✓"), p.GetStatusCode(), p.GetUrl(), p.GetDurationMs())
		if title := terminal.Line(p.GetTitle(), maxCell); title != "" {
			line += ": " + title
		}
		v.line(line)
	default:
		v.line(fmt.Sprintf("%s %s: %s", v.style.Bad("✗"), terminal.Line(p.GetUrl(), maxSnippet), reasonWords(p.GetError())))
	}
}

// stall tells once why nothing moves.
func (v *crawlView) stall(reason string) {
	if reason != v.stalled && reason != "" && !v.quiet {
		v.line("! " + terminal.Line(reason, maxNote))
	}
	v.stalled = reason
}

// line shows one line, above the bar.
func (v *crawlView) line(text string) {
	v.clear()
	_, _ = fmt.Fprintln(v.w, text)
}

func (v *crawlView) clear() {
	if v.bar {
		v.bar = false
		_, _ = io.WriteString(v.w, "\r\x1b[K")
	}
}

// draw shows the bar, on a terminal.
func (v *crawlView) draw() {
	if !v.live || v.total == 0 {
		return
	}
	const width = 30
	var rate float64
	for _, p := range v.progress {
		rate += p.GetRate()
	}
	filled := min(width, width*v.done/v.total)
	_, _ = fmt.Fprintf(v.w, "\r\x1b[K%s%s %d/%d %d%% %.1f pages/s",
		strings.Repeat("█", filled), strings.Repeat("░", width-filled), v.done, v.total, 100*min(v.done, v.total)/v.total, rate)
	if v.failed > 0 {
		_, _ = fmt.Fprintf(v.w, ", %d failed", v.failed)
	}
	v.bar = true
}

// aside makes room for a line of somebody else.
func (v *crawlView) aside() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
}

// crawlTotals is how several tasks ended together.
type crawlTotals struct {
	Succeeded int32 `json:"succeeded"`
	Failed    int32 `json:"failed"`
	Skipped   int32 `json:"skipped"`
	Total     int32 `json:"total"`
}

func (t *crawlTotals) add(d *taskmanagerv1.CrawlDone) {
	t.Succeeded += d.GetSucceeded()
	t.Failed += d.GetFailed()
	t.Skipped += d.GetSkipped()
	t.Total += d.GetTotal()
}

// notAskedFor is what becomes of the pages of a task that ended before them.
const notAskedFor = "not asked for"

// words are "9 of 10 pages, 1 failed".
func (t crawlTotals) words() string { return t.wordsWith(notAskedFor) }

// wordsWith says of the pages that are not done with what becomes of them.
func (t crawlTotals) wordsWith(rest string) string {
	words := fmt.Sprintf("%d of %s", t.Succeeded, plural(int(t.Total), "page"))
	if t.Failed > 0 {
		words += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Skipped > 0 {
		words += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	if left := t.Total - t.Succeeded - t.Failed - t.Skipped; left > 0 {
		words += fmt.Sprintf(", %d %s", left, rest)
	}
	return words
}

// exit is the exit code of pages that came or did not.
func (t crawlTotals) exit() error {
	switch {
	case t.Succeeded == t.Total:
		return nil
	case t.Succeeded > 0:
		return &exitError{code: exitPartial}
	}
	return &exitError{code: exitFailure}
}

// crawlEnd says how one task ended that did not complete; nil for one that did.
func crawlEnd(task string, d *taskmanagerv1.CrawlDone, message string) error {
	switch d.GetStatus() {
	case "failed":
		return fmt.Errorf("task %s failed: %s", task, cmp.Or(message, "no reason is known"))
	case "cancelled":
		return fmt.Errorf("task %s was cancelled", task)
	}
	return nil
}
