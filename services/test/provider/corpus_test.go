package provider

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shape is one recorded answer of a model's endpoint, and what is to be read in it.
type shape struct {
	Name    string            `json:"name"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Wire    string            `json:"wire"`
	Profile struct {
		ThinkTags bool   `json:"think_tags"`
		TextCalls string `json:"text_calls"`
	} `json:"profile"`
	Expect struct {
		Text      string `json:"text"`
		Reasoning string `json:"reasoning"`
		Calls     []struct {
			ID        string         `json:"id"`
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"tool_calls"`
		Finish string `json:"finish"`
		Error  *struct {
			Kind       string  `json:"kind"`
			Message    string  `json:"message"`
			RetryAfter float64 `json:"retry_after_s"`
		} `json:"error"`
		Usage    map[string]float64 `json:"usage"`
		Passback map[string]any     `json:"passback"`
	} `json:"expect"`
}

// profile is the configuration's name for what is known of the endpoint.
func (s shape) profile() string {
	byGrammar := map[string]string{"hermes": "hermes", "qwen-coder": "qwen-coder", "glm": "glm", "dsml": "deepseek"}
	switch {
	case s.Profile.TextCalls != "":
		return byGrammar[s.Profile.TextCalls]
	case s.Profile.ThinkTags:
		return "think-tags"
	}
	return "plain"
}

// The tools f and g of the recordings are those of a provider of ours, whose tools
// have its name before theirs.
var toolNames = []struct{ recorded, ours string }{{"f", "echo__f"}, {"g", "echo__g"}}

// renamed is the shape with the names of tools that there are.
func (s shape) renamed() shape {
	var pairs []string
	for _, n := range toolNames {
		for _, place := range []string{`"name":"%"`, `"name": "%"`, `\"name\": \"%\"`, `<function=%>`, `<tool_call>%\n<arg_key>`, `invoke name=\"%\"`} {
			pairs = append(pairs, strings.ReplaceAll(place, "%", n.recorded), strings.ReplaceAll(place, "%", n.ours))
		}
	}
	s.Wire = strings.NewReplacer(pairs...).Replace(s.Wire)
	for i := range s.Expect.Calls {
		for _, n := range toolNames {
			if s.Expect.Calls[i].Name == n.recorded {
				s.Expect.Calls[i].Name = n.ours
			}
		}
	}
	return s.sooner()
}

// sooner is the shape with a wait of one second where the provider asks for one:
// runs keep to it, and so do those who run the test.
func (s shape) sooner() shape {
	if s.Expect.Error == nil || s.Expect.Error.RetryAfter == 0 {
		return s
	}
	headers := map[string]string{}
	for name, value := range s.Headers {
		if headers[name] = value; strings.EqualFold(name, "Retry-After") {
			headers[name] = "1"
		}
	}
	failure := *s.Expect.Error
	s.Headers, s.Expect.Error, failure.RetryAfter = headers, &failure, 1
	return s
}

// calling is the shape with a call at its end: what goes back of an answer goes
// back with calls.
func (s shape) calling() shape {
	const end, call = `data: {"id":"r1"`, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}` + "\n\n"
	at := strings.LastIndex(s.Wire, end)
	s.Wire = s.Wire[:at] + call + s.Wire[at:]
	if err := json.Unmarshal([]byte(`[{"id":"c1","name":"f","arguments":{}}]`), &s.Expect.Calls); err != nil {
		panic(err)
	}
	s.Name, s.Expect.Finish = s.Name+"-with-a-call", "tool_calls"
	return s
}

// corpus returns the recorded shapes; without them the test is skipped.
func corpus(t testing.TB) []shape {
	t.Helper()
	f, err := os.Open(filepath.Join(repositoryRoot(t), "..", "shared", "data", "agent", "sse-quirks.jsonl"))
	if err != nil {
		t.Skipf("the recorded answers of models are not at hand: %v", err)
	}
	defer f.Close()
	var out []shape
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var s shape
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("recorded answer %d: %v", len(out)+1, err)
		}
		if s.Expect.Passback != nil && len(s.Expect.Calls) == 0 {
			out = append(out, s.calling().renamed())
		}
		out = append(out, s.renamed())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// repositoryRoot is the nearest folder above the test with a go.work.
func repositoryRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
	}
	t.Skip("no go.work above the test")
	return ""
}
