package provider

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// cutStream is an answer with reasoning, text, a call, usage and an end.
const cutStream = `data: {"id":"r","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"hm"},"finish_reason":null}]}

data: {"id":"r","choices":[{"index":0,"delta":{"content":"I will look, 龙虾."},"finish_reason":null}]}

data: {"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":"}}]},"finish_reason":null}]}

data: {"id":"r","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}}]},"finish_reason":null}]}

data: {"id":"r","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"r","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}

data: [DONE]

`

func TestAnAnswerCutAtAnyByteIsNeverTakenForAWholeOne(t *testing.T) {
	finish := strings.Index(cutStream, `"finish_reason":"tool_calls"}]}`) + len(`"finish_reason":"tool_calls"}]}`)
	for n := range len(cutStream) + 1 {
		c := newTestClient(t, Config{HTTPTransport: answer(200, nil, cutStream[:n], whole)})
		resp, _, err := ask(c, hello)
		if whole := n >= finish; whole != (err == nil) {
			t.Fatalf("cut at byte %d: error %v", n, err)
		}
		if err != nil {
			if e := asError(t, err); e.Kind != KindTruncated || !e.Retryable() {
				t.Fatalf("cut at byte %d: kind %s", n, e.Kind)
			}
			continue
		}
		if resp.Reasoning != "hm" || resp.Text != "I will look, 龙虾." || len(resp.Calls) != 1 || resp.Calls[0].Arguments != `{"q":"x"}` {
			t.Fatalf("cut at byte %d: %+v", n, resp)
		}
	}
}

func TestGarbageIsNeverTakenForAnAnswer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for range 300 {
		garbage := make([]byte, rnd.IntN(2000))
		for i := range garbage {
			garbage[i] = byte(rnd.Uint32())
		}
		for _, in := range []string{string(garbage), "data: " + string(garbage) + "\n\ndata: [DONE]\n\n"} {
			c := newTestClient(t, Config{HTTPTransport: answer(200, nil, in, whole)})
			if resp, _, err := ask(c, hello); err == nil {
				t.Fatalf("%q is read as %+v", in, resp)
			}
		}
	}
}

func TestCallsOfOtherProvidersGoToMistralUnderIdsThatItTakes(t *testing.T) {
	var sent struct {
		Messages []struct {
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	c := newTestClient(t, Config{Profile: Profile{IDs: IDsOfNine}, HTTPTransport: transport(func(r *http.Request) (*http.Response, error) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		return answer(200, nil, okStream, whole)(r)
	})})
	req := Request{Messages: []Message{
		{Role: RoleAssistant, Calls: []Call{{ID: "functions.f:0", Name: "f", Arguments: "{}"}, {ID: "abcDEF123", Name: "f", Arguments: "{}"}}},
		{Role: RoleTool, CallID: "functions.f:0", Content: "1"}, {Role: RoleTool, CallID: "abcDEF123", Content: "2"},
	}}
	if _, _, err := ask(c, req); err != nil {
		t.Fatal(err)
	}
	calls := sent.Messages[0].ToolCalls
	if !shortID.MatchString(calls[0].ID) || calls[1].ID != "abcDEF123" || sent.Messages[1].ToolCallID != calls[0].ID || sent.Messages[2].ToolCallID != "abcDEF123" {
		t.Errorf("sent %+v", sent)
	}
	if req.Messages[0].Calls[0].ID != "functions.f:0" {
		t.Error("the caller's request was changed")
	}
}
