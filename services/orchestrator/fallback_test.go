package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// tired has a model without credit, one that answers, and one that writes
// arguments which cannot be read.
const tired = `
model: scripted-tired
turns:
  - when: {model: m}
    replies: [{http: {status: 402, body: '{"error":{"message":"no credit left","code":"insufficient_quota"}}'}}]
  - when: {user_contains: "Tool: count"}
    replies: [{steps: [{text: '{"text":"tea"}'}]}]
  - when: {model: scribbler}
    replies:
      - steps: [{call: {name: count, arguments: '{"text":"tea","text":"milk"}'}}]
      - steps: [{text: "It is {{result count text}}."}]
  - replies: [{steps: [{text: "Here I am."}]}]
    repeat: true
`

// family adds models with keys of their own at the address of m.
func family(b *bed) {
	b.cfg.Models[0].Fallback = []string{"spare"}
	for _, id := range []string{"spare", "scribbler"} {
		b.cfg.Models = append(b.cfg.Models, ModelConfig{ID: id, APIURL: b.cfg.Models[0].APIURL, APIKey: "another-key"})
	}
}

// run reads a run of ann.
func (w *world) run(id string) *pb.Run {
	w.t.Helper()
	res, err := w.Runs.GetRun(w.as("ann"), &pb.GetRunRequest{RunId: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Run
}

// modelCalls are the model calls of a run, in short.
func modelCalls(r *pb.Run) (out []string) {
	for _, c := range r.ModelCalls {
		s := c.Model + " " + c.Status
		if c.Corrector {
			s += " corrector"
		}
		out = append(out, s)
	}
	return out
}

func TestTheModelThatAnsweredIsTheOneThatIsShown(t *testing.T) {
	w := newWorld(t, tired, family)
	conversation := w.conversation()
	want := []string{"m error", "spare completed"}
	for i, asked := range []bool{true, false, true} { // whether m was asked
		if i == 2 {
			if _, err := w.Account.CheckModel(w.as("ann"), &pb.CheckModelRequest{Model: "m"}); err != nil {
				t.Fatal(err)
			}
		}
		runID, stream := w.live(conversation, "hello")
		var said []string
		done := ""
		for _, e := range drain(t, stream) {
			if n := e.GetNotice(); n != nil {
				said = append(said, n.Kind+": "+n.Message)
			}
			if d := e.GetDone(); d != nil {
				done = d.Model
			}
		}
		r := w.run(runID)
		if got := modelCalls(r); done != "spare" || r.Model != "spare" || !slices.Equal(got, want) {
			t.Errorf("run %d: done by %q, model %q, model calls %q", i, done, r.Model, got)
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], "failover: m does not answer: ") || !strings.HasSuffix(said[0], ". Asking spare instead.") || !strings.Contains(said[0], "no credit left") {
			t.Errorf("run %d: said %q", i, said)
		}
		if left := len(said) > 0 && strings.Contains(said[0], "It is not asked again before 20"); left == asked {
			t.Errorf("run %d: said %q", i, said)
		}
	}
	list, err := w.Conversations.ListMessages(w.as("ann"), &pb.ListMessagesRequest{ConversationId: conversation})
	if err != nil || len(list.Items) != 6 || list.Items[1].Model != "spare" || list.Items[3].Model != "spare" {
		t.Errorf("messages %v, %v", list, err)
	}
}

func TestACorrectionIsShownAmongTheModelCallsAndInTheResult(t *testing.T) {
	w := newWorld(t, tired, family)
	res, err := w.Conversations.SendMessage(w.as("ann"), &pb.SendMessageRequest{ConversationId: w.conversation(), Content: "count", Model: "scribbler"})
	if err != nil {
		t.Fatal(err)
	}
	if got := modelCalls(w.run(res.Message.RunId)); !slices.Equal(got, []string{"scribbler completed", "scribbler completed corrector", "scribbler completed"}) {
		t.Errorf("model calls %q", got)
	}
	if res.Message.Content != "It is tea." || res.Message.Usage.ModelCalls != 3 {
		t.Errorf("%q, %v", res.Message.Content, res.Message.Usage)
	}
	var steps []string
	for _, s := range res.Message.Steps {
		steps = append(steps, fmt.Sprint(s.Type, s.Call.GetFunction().GetArguments(), strings.Contains(s.Result.GetContent(), "corrected by the model")))
	}
	if want := []string{`tool_call{"text":"tea"}false`, "tool_resulttrue", "textfalse"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q", steps)
	}
}

func TestModelsOfOneKeyAtOneHostAreOfOneAccount(t *testing.T) {
	at := func(url, key string, headers map[string]string) ModelConfig {
		return ModelConfig{APIURL: url, APIKey: config.Secret(key), Headers: headers}
	}
	first := at("https://a.example/v1", "k", nil)
	for _, tc := range []struct {
		name  string
		other ModelConfig
		same  bool
	}{
		{"another path", at("https://a.example/v2/chat/completions", "k", nil), true},
		{"white space around the key", at(" https://a.example/v1", " k\n", nil), true},
		{"headers beside the key", at("https://a.example/v1", "k", map[string]string{"X-Team": "a"}), true},
		{"another host", at("https://b.example/v1", "k", nil), false},
		{"another port", at("https://a.example:8443/v1", "k", nil), false},
		{"another key", at("https://a.example/v1", "l", nil), false},
		{"no key", at("https://a.example/v1", "", nil), false},
	} {
		host, key := accountOf(first)
		otherHost, otherKey := accountOf(tc.other)
		if same := host == otherHost && key == otherKey; same != tc.same {
			t.Errorf("%s: the same account = %v", tc.name, same)
		}
	}
	_, header := accountOf(at("https://a.example/v1", "", map[string]string{"api-key": "x"}))
	_, other := accountOf(at("https://a.example/v1", "", map[string]string{"api-key": "y"}))
	_, query := accountOf(at("https://a.example/v1?key=z", "", nil))
	if header == other || query == header || query == "" {
		t.Error("keys that are sent in another way are not told apart")
	}
}
