package modelcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// reread reads the text of an answer once more, as a client with another profile
// would have: how many calls of the tools it holds, and whether it begins with
// thoughts. It uses no network. A text that cannot be read so holds nothing.
func reread(text string, p provider.Profile, tools []provider.ToolSpec) (calls int, thoughts bool) {
	client, err := provider.New(provider.Config{
		Model: "reread", APIURL: "http://reread.invalid/v1", Profile: p, ToolMode: provider.ToolsNative, HTTPTransport: said(text),
	})
	if err != nil {
		return 0, false
	}
	defer client.Close()
	req := provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Content: "reread"}}, Tools: tools}
	resp, err := client.Stream(context.Background(), req, func(provider.Delta) error { return nil })
	if err != nil {
		return 0, false
	}
	return len(resp.Calls), resp.Reasoning != ""
}

// said is a transport whose answer is a stream of one text.
type said string

// RoundTrip implements http.RoundTripper.
func (s said) RoundTrip(r *http.Request) (*http.Response, error) {
	text, err := json.Marshal(string(s))
	if err != nil {
		return nil, err
	}
	var wire bytes.Buffer
	fmt.Fprintf(&wire, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
	wire.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&wire), Request: r,
	}, nil
}
