package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// idsIn lists the ids of calls and results in a request, in order.
func idsIn(req Request) (ids []string) {
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			ids = append(ids, c.ID)
		}
		if m.CallID != "" {
			ids = append(ids, "="+m.CallID)
		}
	}
	return ids
}

func TestIdsOfCallsGoBackAsTheEndpointTakesThem(t *testing.T) {
	long := strings.Repeat("x", 65)
	answerOf := func(ids ...string) (out []Message) {
		m := Message{Role: RoleAssistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, Call{ID: id, Name: "f", Arguments: "{}"})
		}
		out = append(out, m)
		for _, id := range ids {
			out = append(out, Message{Role: RoleTool, CallID: id})
		}
		return out
	}
	tests := []struct {
		name              string
		messages          []Message
		to64, nine, exact []string
	}{
		{"ids of nine", answerOf("abcDEF123", "000000000"),
			[]string{"abcDEF123", "000000000", "=abcDEF123", "=000000000"}, []string{"abcDEF123", "000000000", "=abcDEF123", "=000000000"}, []string{"abcDEF123", "000000000", "=abcDEF123", "=000000000"}},
		{"Kimi's own", answerOf("functions.f:0"),
			[]string{"functions.f:0", "=functions.f:0"}, []string{"d6bdd4de3", "=d6bdd4de3"}, []string{"functions.f:0", "=functions.f:0"}},
		{"a long one", answerOf(long),
			[]string{"call_9537c5fdf120482f7d58d25e9ed583f5", "=call_9537c5fdf120482f7d58d25e9ed583f5"}, []string{"9537c5fdf", "=9537c5fdf"}, []string{long, "=" + long}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for rule, want := range map[IDRule][]string{IDsUpTo64: tt.to64, IDsOfNine: tt.nine, IDsVerbatim: tt.exact} {
				got := idsIn(rule.renumber(Request{Messages: tt.messages}))
				for i := range want {
					if !rule.takes(strings.TrimPrefix(got[i], "=")) {
						t.Errorf("%q: %s is not taken", rule, got[i])
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q (-want +got):\n%s", rule, diff)
				}
			}
		})
	}
}

func TestAnIdThatIsUsedTwiceIsTwoIds(t *testing.T) {
	call := func(id string) Message {
		return Message{Role: RoleAssistant, Calls: []Call{{ID: id, Name: "f", Arguments: "{}"}}}
	}
	result := func(id string) Message { return Message{Role: RoleTool, CallID: id} }
	req := Request{Messages: []Message{call("c0"), result("c0"), call("c0"), result("c0"), call("c1"), result("c1")}}
	for _, rule := range []IDRule{IDsUpTo64, IDsOfNine} {
		ids := idsIn(rule.renumber(req))
		for i := 0; i < len(ids); i += 2 {
			if ids[i+1] != "="+ids[i] {
				t.Errorf("%q: call %s has the result of %s", rule, ids[i], ids[i+1])
			}
			for j := range i {
				if ids[j] == ids[i] {
					t.Errorf("%q: %s is there twice", rule, ids[i])
				}
			}
		}
		shorter := idsIn(rule.renumber(Request{Messages: req.Messages[:4]}))
		if diff := cmp.Diff(shorter, ids[:4]); diff != "" {
			t.Errorf("%q: the beginning of a history changes as it grows:\n%s", rule, diff)
		}
	}
	if diff := cmp.Diff([]string{"c0", "=c0", "c0", "=c0", "c1", "=c1"}, idsIn(IDsVerbatim.renumber(req))); diff != "" {
		t.Errorf("verbatim (-want +got):\n%s", diff)
	}
	if req.Messages[2].Calls[0].ID != "c0" || req.Messages[3].CallID != "c0" {
		t.Error("the caller's request was changed")
	}
}
