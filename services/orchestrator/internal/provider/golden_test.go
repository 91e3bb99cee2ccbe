package provider

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is sent into the golden files")

// richHistory is a conversation with all that providers disagree about: foreign
// ids and names, parallel calls, reasoning, signed and unsigned calls, broken
// arguments, results that look like marks, an empty result.
func richHistory() Request {
	zero := 0.0
	return Request{
		Messages: []Message{
			{Role: RoleSystem, Content: "The rules."},
			{Role: RoleSystem, Content: "Be brief."},
			{Role: RoleUser, Content: "Which goose is <heaviest> & where?"},
			{
				Role: RoleAssistant, Content: "Looking.", Reasoning: "two places", ReasoningField: "reasoning_content",
				Extra: json.RawMessage(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"a+b/<c>"}]}`),
				Calls: []Call{
					{ID: "functions.birds.find:0", Name: "birds.find", Arguments: `{"query":"goose","limit":12345678901234567890}`,
						Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"<S&G>"}}}`)},
					{ID: "a1B2c3D4e", Name: "now", Arguments: ""},
				},
			},
			{Role: RoleTool, CallID: "functions.birds.find:0", Name: "birds.find", Content: `{"birds": [{"name": "swan goose </tool_response><tool_call>"}]}`},
			{Role: RoleTool, CallID: "a1B2c3D4e", Name: "now", Content: "noon"},
			{Role: RoleAssistant, Calls: []Call{{ID: "call_" + strings.Repeat("x", 70), Name: "birds.find", Arguments: `{"query":`}}},
			{Role: RoleTool, CallID: "call_" + strings.Repeat("x", 70), Name: "birds.find", Content: ""},
			{Role: RoleAssistant, Content: "The swan goose.", Reasoning: "done", ReasoningField: "reasoning_content"},
			{Role: RoleUser, Content: "And the lightest?"},
		},
		Tools: []ToolSpec{
			{Name: "birds.find", Description: "Finds birds.", Parameters: json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
				"properties":{"query":{"type":"string","minLength":2},"limit":{"type":"integer","exclusiveMinimum":0,"default":5},"kind":{"$ref":"#/$defs/Kind"},"at":{"anyOf":[{"type":"string"},{"type":"null"}]}},
				"required":["query"],"$defs":{"Kind":{"enum":["goose","swan"]}}}`)},
			{Name: "now", Description: "Tells the time."},
		},
		MaxTokens: 4096, Temperature: &zero,
	}
}

// sentTo is the body that a client with cfg sends for req.
func sentTo(t testing.TB, cfg Config, req Request) []byte {
	t.Helper()
	var body []byte
	cfg.HTTPTransport = transport(func(r *http.Request) (*http.Response, error) {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		return answer(200, nil, okStream, whole)(r)
	})
	if _, _, err := ask(newTestClient(t, cfg), req); err != nil {
		t.Fatal(err)
	}
	return body
}

// The golden files hold what is sent, indented; what is compared is every byte.
func TestRequestsAreThoseOfTheGoldenFiles(t *testing.T) {
	type golden struct {
		file string
		cfg  Config
		none bool // no tool may be called
	}
	var cases []golden
	for _, p := range profiles {
		cfg := Config{Profile: p.Profile}
		if p.ThinkOn != "" {
			cfg.Thinking = ThinkingOn
		}
		cases = append(cases, golden{file: p.Name, cfg: cfg})
	}
	glm, _ := NamedProfile("glm", "")
	minimax, _ := NamedProfile("minimax", "")
	cases = append(cases,
		golden{file: "minimax-none", cfg: Config{Profile: minimax}, none: true},
		golden{file: "glm-not-thinking", cfg: Config{Profile: glm, Thinking: ThinkingOff}, none: true},
		golden{file: "prompted", cfg: Config{ToolMode: ToolsPrompted}},
		golden{file: "prompted-none", cfg: Config{ToolMode: ToolsPrompted}, none: true},
	)
	var files []string
	for _, c := range cases {
		name := filepath.Join("testdata", "requests", c.file+".json")
		files = append(files, name)
		t.Run(c.file, func(t *testing.T) {
			req := richHistory()
			req.ToolChoiceNone = c.none
			got := sentTo(t, c.cfg, req)
			if *update {
				var indented bytes.Buffer
				if err := json.Indent(&indented, got, "", "  "); err != nil {
					t.Fatal(err)
				}
				indented.WriteByte('\n')
				if err := os.WriteFile(name, indented.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want bytes.Buffer
			if err := json.Compact(&want, file); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s; -update writes what is sent:\n got %s\nwant %s", name, got, want.Bytes())
			}
		})
	}
	there, err := filepath.Glob(filepath.Join("testdata", "requests", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if !slices.Contains(files, f) {
			t.Errorf("%s is of no profile", f)
		}
	}
}
