package orchestrator

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

func TestARunTellsWhatItSpentItsTimeOn(t *testing.T) {
	w := newWorld(t, story)
	answer := w.send(w.conversation(), "count tea") // two model calls, two tool calls, one of a tool that nobody has
	got, err := w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: answer.RunId})
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Run.ModelCalls
	if len(calls) != 2 || len(got.Run.ToolCalls) != 2 {
		t.Fatalf("%d model calls and %d tool calls: %v", len(calls), len(got.Run.ToolCalls), got.Run)
	}
	for i, c := range calls {
		if c.Round != int32(i+1) || c.Status != "completed" || c.Model != "m" || c.InputTokens == 0 || c.OutputTokens == 0 {
			t.Errorf("model call %d is %v", i+1, c)
		}
	}
	tool := got.Run.ToolCalls[0]
	if tool.StartedAt.AsTime().Before(calls[0].StartedAt.AsTime()) || tool.StartedAt.AsTime().After(calls[1].StartedAt.AsTime()) {
		t.Errorf("the tool was called at %v, the model at %v and %v", tool.StartedAt.AsTime(), calls[0].StartedAt.AsTime(), calls[1].StartedAt.AsTime())
	}
}

func TestAModelIsCheckedWithoutAskingIt(t *testing.T) {
	w := newWorld(t, story, func(b *bed) {
		m := b.cfg.Models[0]
		m.ID, m.Model = "misnamed", "nobody-knows-it"
		b.cfg.Models = append(b.cfg.Models, m)
		m.ID, m.APIURL = "away", "http://127.0.0.1:1/v1"
		b.cfg.Models = append(b.cfg.Models, m)
		m.ID, m.APIURL = "elsewhere", strings.TrimSuffix(b.cfg.Models[0].APIURL, "/v1")+"/nothing/here"
		b.cfg.Models = append(b.cfg.Models, m)
		b.cfg.Models[0].Model = "scripted-story"
	})
	for _, tc := range []struct {
		model, says string
		ok          bool
	}{
		{"m", "takes the key and lists the model", true},
		{"misnamed", "is not among the", false},
		{"away", "nothing listens there", false},
		{"elsewhere", "lists no models", true},
	} {
		t.Run(tc.model, func(t *testing.T) {
			got, err := w.Account.CheckModel(w.as("ann"), &pb.CheckModelRequest{Model: tc.model})
			if err != nil || got.Ok != tc.ok || !strings.Contains(got.Message, tc.says) {
				t.Errorf("%v, %v; want %v and %q", got, err, tc.ok, tc.says)
			}
		})
	}
	_, err := w.Account.CheckModel(w.as("ann"), &pb.CheckModelRequest{Model: "unknown"})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestTheServerTellsWhatItIs(t *testing.T) {
	const traces = "http://127.0.0.1:16686/trace/{trace_id}"
	w := newWorld(t, "", func(b *bed) { b.deps.Version, b.deps.TraceURL = "v1", traces })
	got, err := w.Account.GetServerInfo(w.as("ann"), &pb.GetServerInfoRequest{})
	if err != nil || got.Version != "v1" || got.TraceUrl != traces {
		t.Errorf("%v, %v", got, err)
	}
}
