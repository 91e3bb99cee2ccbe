package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// wireMessage is a message as an endpoint gets it.
type wireMessage struct {
	Role       string `json:"role"`
	Content    *string
	CallID     string `json:"tool_call_id"`
	Calls      []wireCall
	members    map[string]json.RawMessage
	hasContent bool
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	// Own is the member of calls that randomRound signs with.
	Own   json.RawMessage `json:"y"`
	Extra *struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

func (m *wireMessage) UnmarshalJSON(raw []byte) error {
	var known struct {
		Role    string     `json:"role"`
		Content *string    `json:"content"`
		CallID  string     `json:"tool_call_id"`
		Calls   []wireCall `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		return err
	}
	m.Role, m.Content, m.CallID, m.Calls = known.Role, known.Content, known.CallID, known.Calls
	err := json.Unmarshal(raw, &m.members)
	_, m.hasContent = m.members["content"]
	return err
}

// unsigned reports whether a message has calls and no call is signed.
func (m wireMessage) unsigned() bool {
	return len(m.Calls) > 0 && !slices.ContainsFunc(m.Calls, func(c wireCall) bool {
		return c.Own != nil || c.Extra != nil && c.Extra.Google.Signature != ""
	})
}

// wireBody is a request as an endpoint gets it.
type wireBody struct {
	Messages []wireMessage   `json:"messages"`
	Tools    json.RawMessage `json:"tools"`
	Choice   json.RawMessage `json:"tool_choice"`
}

// recorder is an endpoint that answers and keeps what it was sent. One that
// demands signatures refuses calls without.
type recorder struct {
	body   []byte
	signed bool
}

const unsigned = `{"error":{"message":"Function call is missing a thought_signature in functionCall parts."}}`

const hiStream = `data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	status, answer := http.StatusOK, hiStream
	var body wireBody
	if err := json.Unmarshal(r.body, &body); err != nil {
		return nil, err
	}
	if r.signed && slices.ContainsFunc(body.Messages, wireMessage.unsigned) {
		status, answer = http.StatusBadRequest, unsigned
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// rules are what an endpoint of a profile demands beyond what all do.
type rules struct {
	id        *regexp.Regexp // of calls; nil: up to 64 bytes
	anyID     bool
	repeatIDs bool
	demands   string // a member of every answer with calls
	forbids   string // a member of none
	signed    bool   // one call of every answer is signed
	inText    bool   // no tool calls at all
	noChoice  bool
}

var endpointRules = map[string]rules{
	"mistral":  {id: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), forbids: "reasoning"},
	"openai":   {forbids: "reasoning"},
	"azure":    {forbids: "reasoning"},
	"gemini":   {signed: true, forbids: "reasoning"},
	"deepseek": {demands: "reasoning_content"},
	"kimi":     {demands: "reasoning_content", anyID: true, repeatIDs: true},
	"minimax":  {noChoice: true},
}

// Whatever a conversation went through, each endpoint is sent what it takes:
// through the one place where history becomes a prompt, and the one where a prompt
// becomes a request.
func TestEveryHistoryBecomesARequestThatTheEndpointTakes(t *testing.T) {
	seed := sampletest.Seed(t)
	for _, name := range provider.ProfileNames() {
		for _, mode := range []provider.ToolMode{provider.ToolsNative, provider.ToolsPrompted} {
			t.Run(fmt.Sprintf("%s, %s", name, mode), func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 7))
				demand := endpointRules[name]
				if demand.inText = mode == provider.ToolsPrompted; demand.inText {
					demand = rules{inText: true}
				}
				end := &recorder{signed: demand.signed}
				client := clientFor(t, name, mode, end)
				for range sampletest.Count(8, 100) {
					tryHistory(t, client, end, demand, rnd)
				}
			})
		}
	}
}

func clientFor(t *testing.T, name string, mode provider.ToolMode, end *recorder) *provider.Client {
	t.Helper()
	profile, err := provider.NamedProfile(name, "")
	if err != nil {
		t.Fatal(err)
	}
	client, err := provider.New(provider.Config{Model: "m", APIURL: "http://model.invalid/v1", Profile: profile, ToolMode: mode, HTTPTransport: end})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// tryHistory sends one random conversation.
func tryHistory(t *testing.T, client *provider.Client, end *recorder, demand rules, rnd *rand.Rand) {
	t.Helper()
	branch, rounds, live := randomConversation(rnd)
	own := func(model string) bool { return model == "here" }
	history := WithRounds(History(branch, rounds, own), live, own)
	req := provider.Request{
		Messages:       append(System(pick(rnd, "", "Be brief.")), history...),
		Tools:          []provider.ToolSpec{{Name: "web_search", Description: "d"}, {Name: "搜索.x"}},
		ToolChoiceNone: pick(rnd, true, false),
	}
	before := transcript(req.Messages)
	if _, err := client.Stream(t.Context(), req, func(provider.Delta) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if transcript(req.Messages) != before {
		t.Fatal("the request was changed")
	}
	var body wireBody
	if err := json.Unmarshal(end.body, &body); err != nil {
		t.Fatal(err)
	}
	if err := demand.broken(body); err != nil {
		t.Fatalf("%v\nfrom\n%s\nsent %s", err, before, end.body)
	}
}

// broken reports the first rule that a request breaks.
func (r rules) broken(body wireBody) error {
	if r.inText && (body.Tools != nil || body.Choice != nil) || r.noChoice && body.Choice != nil {
		return fmt.Errorf("tools %s, choice %s", body.Tools, body.Choice)
	}
	var open []string // ids of calls that wait for their result
	used := map[string]bool{}
	for i, m := range body.Messages {
		if !m.hasContent || m.Content == nil && len(m.Calls) == 0 {
			return fmt.Errorf("message %d of %s has no content", i, m.Role)
		}
		if m.Role == "tool" {
			if len(open) == 0 || m.CallID != open[0] {
				return fmt.Errorf("message %d is the result of %q, waiting are %q", i, m.CallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d of %s, but %q wait for their results", i, m.Role, open)
		}
		if i > 0 && m.Role == "user" && slices.Contains([]string{"user", "tool"}, body.Messages[i-1].Role) {
			return fmt.Errorf("message %d: a user after a %s", i, body.Messages[i-1].Role)
		}
		if m.Role == "system" && i > 0 && body.Messages[i-1].Role != "system" {
			return fmt.Errorf("message %d: a system message in the middle", i)
		}
		if len(m.Calls) == 0 {
			continue
		}
		if err := r.brokenCalls(m, used); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%q have no result", open)
	}
	return nil
}

func (r rules) brokenCalls(m wireMessage, used map[string]bool) error {
	if r.inText {
		return fmt.Errorf("%d calls for a model that has none", len(m.Calls))
	}
	if raw, ok := m.members[r.demands]; r.demands != "" && (!ok || bytes.Equal(raw, []byte("null"))) {
		return fmt.Errorf("an answer with calls has no %s", r.demands)
	}
	if r.forbids != "" && m.members[r.forbids] != nil {
		return fmt.Errorf("an answer has %s", r.forbids)
	}
	if r.signed && m.unsigned() {
		return fmt.Errorf("no call is signed")
	}
	for _, c := range m.Calls {
		var args map[string]json.RawMessage
		if c.Type != "function" || !toolName.MatchString(c.Function.Name) || json.Unmarshal([]byte(c.Function.Arguments), &args) != nil || args == nil {
			return fmt.Errorf("the call %+v", c)
		}
		if r.id != nil && !r.id.MatchString(c.ID) || r.id == nil && !r.anyID && len(c.ID) > 64 || c.ID == "" || used[c.ID] && !r.repeatIDs {
			return fmt.Errorf("the id %q", c.ID)
		}
		used[c.ID] = true
	}
	return nil
}
