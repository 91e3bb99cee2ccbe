package run

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func TestACorrectionIsStoredWithItsCallAndBookedAndIsNoRound(t *testing.T) {
	for _, tc := range []struct {
		name   string
		state  string
		tokens int
		stored string // state of the model call
		booked bool
	}{
		{"one that helped", schema.ModelCallCorrected, 5, schema.ModelCallCorrected, true},
		{"one that helped and used nothing", schema.ModelCallCorrected, 0, schema.ModelCallCorrected, true},
		{"one that did not", schema.ModelCallFailed, 5, schema.ModelCallFailed, true},
		{"one that never got an answer", schema.ModelCallFailed, 0, schema.ModelCallFailed, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			st := w.ask("ann")
			c := planned(st, "call", 0)
			c.Arguments, c.Decision, c.ArgsSHA256 = "{", schema.DecisionCorrect, "before"
			if err := w.FinishCall(ctx, st.Lease, st.Call, []schema.ToolCall{c}); err != nil {
				t.Fatal(err)
			}
			mc, err := w.BeginCall(ctx, st.Lease, "ann", "m", 1)
			if err != nil {
				t.Fatal(err)
			}
			mc.State, mc.InputTokens, mc.Error = tc.state, tc.tokens, "why"
			c.Decision, c.ArgsCanonical, c.ArgsSHA256, c.EffectKey = schema.DecisionCorrected, `{"a":1}`, "after", "another"
			c.State, c.Arguments = schema.CallDone, "changed by mistake"
			for range 2 { // a commit whose answer is lost is made again
				if err := w.Correct(ctx, st.Lease, &mc, c); err != nil {
					t.Fatal(err)
				}
			}
			calls, tools, err := w.Rounds(ctx, false, st.Run.ID)
			if err != nil || len(calls) != 1 || calls[0].ID != st.Call.ID {
				t.Fatalf("rounds = %+v, %v", calls, err)
			}
			got := tools[0]
			if got.Decision != schema.DecisionCorrected || got.ArgsCanonical != `{"a":1}` || got.ArgsSHA256 != "after" || got.EffectKey != "another" {
				t.Errorf("%+v", got)
			}
			if got.State != schema.CallPlanned || got.Arguments != "{" {
				t.Errorf("more than the arguments was changed: %+v", got)
			}
			made, err := w.ModelCalls(ctx, st.Run.ID)
			if err != nil || len(made) != 2 || made[1].State != tc.stored || made[1].EndedAt == 0 || made[1].Attempt != 2 {
				t.Fatalf("%+v, %v", made, err)
			}
			n, err := w.DB.Read().NewSelect().Table("usage_ledger").Where("call_id = ?", mc.ID).Count(ctx)
			if err != nil || (n == 1) != tc.booked {
				t.Errorf("booked %d times, %v", n, err)
			}
			used, err := w.Used(ctx, st.Run.ID)
			want := int32(1)
			if tc.booked {
				want = 2
			}
			if u := used[st.Run.ID]; err != nil || u.ModelCalls != want || int(u.InputTokens) != tc.tokens {
				t.Errorf("used %v, %v", u, err)
			}
		})
	}
}
