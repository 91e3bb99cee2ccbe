package toolkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// A provider of one tool, ready to be served.
func Example() {
	type input struct {
		Text string `json:"text" jsonschema:"the text to shout"`
		Loud int    `json:"loud,omitempty" jsonschema:"how loud"`
	}
	provider := toolkit.New(toolkit.Config{Name: "shouting"})
	defer provider.Close()
	err := toolkit.Add(provider, toolkit.Tool{
		Name: "shout", Description: "Says a text loudly.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead,
		Schema: func(s *jsonschema.Schema) { s.Properties["loud"].Default = json.RawMessage("1") },
	}, func(_ context.Context, _ *toolkit.Call, in input) (toolkit.Result, error) {
		if in.Text == "" {
			return toolkit.Fail("EMPTY_TEXT", "text is empty; give the text to shout", false), nil
		}
		return toolkit.JSON(strings.ToUpper(in.Text) + strings.Repeat("!", in.Loud)), nil
	})
	if err != nil {
		fmt.Println(err) // the provider must not start
		return
	}
	server := grpc.NewServer()
	provider.Register(server)
	// server.Serve(listener)
	for name := range server.GetServiceInfo() {
		fmt.Println(name)
	}
	// Output: nanoclaw.tool.v1.ToolProviderService
}

// What a model wrote is checked once; the canonical text and its hash go on.
func ExampleValidator_Check() {
	v, err := toolkit.NewValidator([]byte(`{
		"type": "object", "required": ["query"], "additionalProperties": false,
		"properties": {"query": {"type": "string"}, "max_results": {"type": "integer", "minimum": 1, "maximum": 10}}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	canonical, changes, err := v.Check([]byte(`{ "query": "go", "max_results": "50" }`))
	fmt.Println(string(canonical), err)
	fmt.Println(strings.Join(changes, "\n"))
	_, _, err = v.Check([]byte(`{"max_results": 5}`))
	fmt.Println(err)
	// Output:
	// {"max_results":10,"query":"go"} <nil>
	// /max_results: "50" read as an integer
	// /max_results: 50 is out of range, 10 taken
	// /query: expected a string (required), got nothing
}
