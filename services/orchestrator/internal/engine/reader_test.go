package engine

import (
	"context"
	"encoding/json"
	"strings"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// page is what a reader makes of a run.
type page struct {
	w     *world
	seq   int32
	texts map[int32]string
	live  int // pieces that came live
}

func (w *world) page() *page { return &page{w: w, texts: map[int32]string{}} }

func (p *page) read(e *pb.RunEvent) error {
	if e.Seq > 0 {
		if e.Seq <= p.seq {
			p.w.t.Errorf("event %d after event %d", e.Seq, p.seq)
		}
		p.seq = e.Seq
	}
	if m := e.GetMessage(); m != nil {
		have := p.texts[m.Round]
		if int(m.Offset) > len(have) {
			p.w.t.Errorf("a gap in the text of round %d", m.Round)
			return nil
		}
		p.texts[m.Round] = have[:m.Offset] + m.Content
		if e.Seq == 0 {
			p.live++
		}
	}
	if r := e.GetRoundRestarted(); r != nil {
		delete(p.texts, r.Round)
	}
	return nil
}

// check compares the reader's last text with the stored answer, and the log
// with the rules of the contract.
func (p *page) check(r schema.Run) {
	p.w.t.Helper()
	content := p.w.answer(r)
	last := int32(0)
	for round := range p.texts {
		last = max(last, round)
	}
	if last > 0 && content != "" && p.texts[last] != content {
		p.w.t.Errorf("the reader has the text %q, the answer is %q", p.texts[last], content)
	}
	p.w.checkLog(r)
}

// checkLog checks that the log has no gaps, that every call has one result, in
// order, and that nothing is left open.
func (w *world) checkLog(r schema.Run) {
	w.t.Helper()
	var open []string
	events := w.events(r)
	for i, e := range events {
		if int(e.Seq) != i+1 {
			w.t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		for _, c := range e.GetToolCall().GetCalls() {
			open = append(open, c.Id)
		}
		for _, res := range e.GetToolResult().GetResults() {
			if len(open) == 0 || res.ToolCallId != open[0] {
				w.t.Errorf("event %d has the result of %s, waiting are %v", e.Seq, res.ToolCallId, open)
				continue
			}
			open = open[1:]
			if !json.Valid([]byte(res.Content)) {
				w.t.Errorf("result %s is not JSON: %s", res.ToolCallId, res.Content)
			}
		}
		if last := i == len(events)-1; last != (e.GetDone() != nil || e.GetError() != nil) {
			w.t.Errorf("event %d of %d is %s", e.Seq, len(events), run.TypeOf(e))
		}
	}
	if len(open) > 0 {
		w.t.Errorf("calls without a result: %v", open)
	}
	for table, where := range map[string]string{
		"model_calls": "state = 'started' AND run_id = '" + r.ID + "'",
		"tool_calls":  "state IN ('planned', 'dispatching') AND run_id = '" + r.ID + "'",
	} {
		if n := w.count(table, where); n != 0 {
			w.t.Errorf("%d %s were left where %s", n, table, where)
		}
	}
	if n := w.count("conversations", "live_run = '"+r.ID+"'"); n != 0 {
		w.t.Error("the conversation still has the live run")
	}
}

func (w *world) events(r schema.Run) []*pb.RunEvent {
	w.t.Helper()
	events, err := w.runs.Events(context.Background(), r.ID, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

// log is the logged events in short: "run_started tool_call tool_result ...";
// notices tell their kind, results that came in several events stand once.
func (w *world) log(r schema.Run) string {
	w.t.Helper()
	var out []string
	for _, e := range w.events(r) {
		s := run.TypeOf(e)
		if n := e.GetNotice(); n != nil {
			s += ":" + n.Kind
		}
		if n := len(out); s != "tool_result" || out[n-1] != s {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) answer(r schema.Run) string {
	w.t.Helper()
	m, err := w.convs.Message(context.Background(), "ann", r.MessageID)
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Content
}

// toolCalls are the calls of a run, in order.
func (w *world) toolCalls(r schema.Run) []schema.ToolCall {
	w.t.Helper()
	_, tools, err := w.runs.Rounds(context.Background(), true, r.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return tools
}

func (w *world) count(table, where string) int {
	w.t.Helper()
	n, err := w.db.Read().NewSelect().Table(table).Where(where).Count(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return int(n)
}

// outcome is how a run ended, in short.
func outcome(r schema.Run) string {
	return strings.Join(strings.Fields(r.Status+" "+r.FinishReason+" "+r.ErrorReason), " ")
}

// modelCalls are the states of a run's model calls, in order.
func (w *world) modelCalls(r schema.Run) string {
	w.t.Helper()
	calls, err := w.runs.ModelCalls(context.Background(), r.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, c := range calls {
		out = append(out, c.State)
	}
	return strings.Join(out, " ")
}
