package schema

import "testing"

func TestHowACallWithoutAResultEnds(t *testing.T) {
	for _, tc := range []struct{ state, effect, want string }{
		{CallPlanned, "opaque", CallCancelled},
		{CallWaitingApproval, "opaque", CallCancelled},
		{CallDispatching, EffectPure, CallCancelled},
		{CallDispatching, "keyed", CallUnknown},
		{CallDispatching, "queryable", CallUnknown},
		{CallDispatching, "opaque", CallUnknown},
		{CallDispatching, "", CallUnknown},
	} {
		c := ToolCall{State: tc.state, Effect: tc.effect}
		if got, _ := c.Ending(); got != tc.want {
			t.Errorf("%s and %q ends as %s, want %s", tc.state, tc.effect, got, tc.want)
		}
	}
}
