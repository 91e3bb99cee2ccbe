package run

import (
	"errors"
	"testing"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/ident"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestModelCallsOfADeadOwnerAreAbandonedAndAttemptsCounted(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	_, _ = w.FreeAll(ctx)
	_, l, err := w.Claim(ctx, st.Run.ID, bob, limits)
	if err != nil {
		t.Fatal(err)
	}
	mc, err := w.BeginCall(ctx, l, "ann", "m", 1)
	if err != nil || mc.Attempt != 2 {
		t.Errorf("attempt = %d, %v", mc.Attempt, err)
	}
	if n := w.count("model_calls", "state = 'abandoned' AND id = ?", st.Call.ID); n != 1 {
		t.Error("the first call was not abandoned")
	}
	mc.Text, mc.InputTokens, mc.OutputTokens = "hi", 3, 4
	if err := w.FinishCall(ctx, l, mc, nil); err != nil {
		t.Fatal(err)
	}
	calls, _, err := w.Rounds(ctx, true, st.Run.ID)
	if err != nil || len(calls) != 1 || calls[0].Text != "hi" {
		t.Errorf("rounds = %+v, %v", calls, err)
	}
	if n := w.count("usage_ledger", "call_id = ? AND input_tokens = 3 AND output_tokens = 4", mc.ID); n != 1 {
		t.Errorf("%d ledger rows", n)
	}
}

func TestAFailedModelCallIsBookedForWhatItUsed(t *testing.T) {
	for _, used := range []int{0, 7} {
		w := newWorld(t)
		st := w.ask("ann")
		mc := st.Call
		mc.InputTokens, mc.Error = used, "broke off"
		if err := w.FailCall(ctx, st.Lease, mc); err != nil {
			t.Fatal(err)
		}
		if got, want := w.count("usage_ledger", "call_id = ?", mc.ID), min(used, 1); got != want {
			t.Errorf("a call that used %d tokens: %d ledger rows, want %d", used, got, want)
		}
		if w.count("model_calls", "state = 'failed' AND error = 'broke off'") != 1 {
			t.Error("the failure was not stored")
		}
	}
}

func TestFinishEndsEverythingOfTheRun(t *testing.T) {
	w := newWorld(t)
	st := w.ask("ann")
	done, left := planned(st, "done", 0), planned(st, "left", 1)
	if err := w.FinishCall(ctx, st.Lease, st.Call, []schema.ToolCall{done, left}); err != nil {
		t.Fatal(err)
	}
	done.State, done.Attempt, done.CostUSD = schema.CallDone, 1, 0.5
	for range 2 { // a result that is stored again costs nothing more
		if err := w.FinishTools(ctx, st.Lease, nil, []*schema.ToolCall{&done}); err != nil {
			t.Fatal(err)
		}
	}
	mc, err := w.BeginCall(ctx, st.Lease, "ann", "m", 2)
	if err != nil {
		t.Fatal(err)
	}
	mc.OutputTokens = 9
	events, err := w.Finish(ctx, st.Lease, st.Run, End{
		Status: schema.RunCancelled, FinishReason: "cancelled", Content: "part", Usage: &pb.Usage{OutputTokens: 1}, Call: &mc,
		Events: []*pb.RunEvent{note("last words")},
	})
	if err != nil || len(events) != 2 || events[1].GetDone() == nil || events[1].Seq != 3 {
		t.Fatalf("events = %v, %v", events, err)
	}
	r := w.get(st)
	if r.Status != schema.RunCancelled || r.FinishReason != "cancelled" || r.EndedAt == 0 || r.LeaseUntil != 0 {
		t.Errorf("run = %+v", r)
	}
	for where, want := range map[string]int{
		"state = 'cancelled' AND reason = 'CANCELLED'": 1, "state = 'done'": 1,
	} {
		if n := w.count("tool_calls", where); n != want {
			t.Errorf("%d calls where %s, want %d", n, where, want)
		}
	}
	if w.count("model_calls", "state = 'started'") != 0 || w.count("usage_ledger", "call_id = ? AND output_tokens = 9", mc.ID) != 1 {
		t.Error("the model call that was cut short was not ended and booked")
	}
	if w.count("usage_ledger", "cost_usd > 0") != 1 {
		t.Error("the tool call was not booked once")
	}
	c, _ := w.conversations.Get(ctx, "ann", r.ConversationID)
	if c.LiveRun != "" || c.ActiveLeaf != r.MessageID {
		t.Errorf("conversation = %+v", c)
	}
}

func TestCancelInEachStatus(t *testing.T) {
	for _, tc := range []struct {
		name, status string // after the request
		requested    bool
		make         func(w *world) Started
	}{
		{"running", schema.RunRunning, true, func(w *world) Started { return w.ask("ann") }},
		{"queued", schema.RunCancelled, false, func(w *world) Started {
			return w.start(Request{UserID: "ann", ConversationID: w.conversation("ann"), Content: "x"})
		}},
		{"waiting", schema.RunCancelled, false, func(w *world) Started {
			st := w.ask("ann")
			mc := st.Call
			mc.Text, mc.OutputTokens = "so far", 5
			_ = w.FinishCall(ctx, st.Lease, mc, []schema.ToolCall{planned(st, "a", 0)})
			_ = w.Park(ctx, st.Lease, schema.WaitStuckRun)
			return st
		}},
		{"ended", schema.RunCompleted, false, func(w *world) Started {
			st := w.ask("ann")
			w.finish(st)
			return st
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			st := tc.make(w)
			before := len(w.events(st.Run.ID))
			for range 2 { // asking twice changes nothing more
				r, err := w.RequestCancel(ctx, "ann", st.Run.ID, bob)
				if err != nil || r.Status != tc.status || r.CancelRequested != tc.requested {
					t.Fatalf("run = %+v, %v", r, err)
				}
			}
			events := w.events(st.Run.ID)
			if tc.status == schema.RunCancelled {
				last, _ := w.Events(ctx, st.Run.ID, before, 10)
				if len(last) != 1 || last[0].GetDone().GetFinishReason() != "cancelled" {
					t.Errorf("events = %v", last)
				}
				if w.count("conversations", "live_run <> ''") != 0 || w.count("tool_calls", "state = 'planned'") != 0 {
					t.Error("the run left something going")
				}
			} else if len(events) != before {
				t.Errorf("events = %v", events)
			}
			if tc.name == "waiting" {
				m, err := w.conversations.Message(ctx, "ann", st.Run.MessageID)
				last, _ := w.Events(ctx, st.Run.ID, before, 10)
				if err != nil || m.Content != "so far" || last[0].GetDone().Usage.OutputTokens != 5 {
					t.Errorf("answer = %+v, %v, %v", m, last, err)
				}
			}
		})
	}
	w := newWorld(t)
	st := w.ask("ann")
	if _, err := w.RequestCancel(ctx, "ben", st.Run.ID, bob); !errors.Is(err, ErrNotFound) {
		t.Errorf("a foreign run: %v, want ErrNotFound", err)
	}
}

func TestCallsWithoutARun(t *testing.T) {
	w := newWorld(t)
	call := func() schema.ToolCall {
		return schema.ToolCall{ID: ident.New("call_"), UserID: "ann", Name: "tool", EffectKey: ident.New("k")}
	}
	key := idempotency.Key{Route: "invoke/tool", Key: "k", BodySHA256: "b"}
	c := call()
	if attached, err := w.BeginInvoke(ctx, &c, key); err != nil || attached || c.State != schema.CallDispatching {
		t.Fatalf("%v, %v, %+v", attached, err, c)
	}
	again := call()
	if attached, err := w.BeginInvoke(ctx, &again, key); err != nil || !attached || again.ID != c.ID {
		t.Errorf("the same key: %v, %v, %+v", attached, err, again)
	}
	c.State, c.Result = schema.CallDone, `{}`
	if err := w.EndInvoke(ctx, &c); err != nil {
		t.Fatal(err)
	}
	lost := call()
	if _, err := w.BeginInvoke(ctx, &lost, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	if err := w.LoseInvokes(ctx, w.Now()); err != nil {
		t.Fatal(err)
	}
	if got, err := w.Call(ctx, "ann", lost.ID); err != nil || got.State != schema.CallUnknown || got.Reason != "OUTCOME_UNKNOWN" {
		t.Errorf("a call of a dead process = %+v, %v", got, err)
	}
	if got, err := w.Call(ctx, "ann", c.ID); err != nil || got.State != schema.CallDone {
		t.Errorf("a call that had ended = %+v, %v", got, err)
	}
	if _, err := w.Call(ctx, "ben", c.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("a foreign call: %v", err)
	}
}
