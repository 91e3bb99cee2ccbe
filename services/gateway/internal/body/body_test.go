package body_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway/internal/body"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestUnknownFieldsAreNamedByTheirPath(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		into     proto.Message
		want     string
	}{
		{"all known", `{"query":"x","max_results":3,"allowed_domains":["a"]}`, &searchv1.SearchRequest{}, ""},
		{"the lowerCamelCase name is known too", `{"maxResults":3}`, &searchv1.SearchRequest{}, ""},
		{"at the top", `{"query":"x","limit":3}`, &searchv1.SearchRequest{}, "limit"},
		{"the first of two", `{"b":1,"a":2}`, &searchv1.SearchRequest{}, "b"},
		{"in another case", `{"Query":"x"}`, &searchv1.SearchRequest{}, "Query"},
		{"in a message", `{"usage":{"tokens":1}}`, &orchestratorv1.Message{}, "usage.tokens"},
		{"in a list", `{"steps":[{"type":"text"},{"call":{"function":{"nmae":"x"}}}]}`, &orchestratorv1.Message{}, "steps[1].call.function.nmae"},
		{"not in what has JSON of its own", `{"arguments":{"any":{"thing":[1,{"x":2}]}},"name":"t"}`, &orchestratorv1.InvokeToolRequest{}, ""},
		{"after what has JSON of its own", `{"arguments":{"any":1},"confirm":"t"}`, &orchestratorv1.InvokeToolRequest{}, "confirm"},
		{"nothing is looked for in a null", `{"usage":null,"steps":null}`, &orchestratorv1.Message{}, ""},
		{"an unknown field after a value of the wrong kind", `{"usage":[{"x":{}}],"zzz":1}`, &orchestratorv1.Message{}, "zzz"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := body.Decoder{In: strings.NewReader(tc.in)}.Decode(tc.into)
			if tc.want == "" {
				if err != nil {
					t.Fatalf("Decode = %v", err)
				}
				return
			}
			if rpcerr.Reason(err) != body.ReasonUnknownField || !strings.Contains(err.Error(), `"`+tc.want+`"`) {
				t.Errorf("Decode = %v, want %q named", err, tc.want)
			}
		})
	}
}

func TestWrongTypesAreNamedAndPlaced(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"a number for text", `{"query":7}`, "query at line 1, column 10: must be a value of type string"},
		{"text for a number", "{\n\"max_results\": \"x\"}", "max_results at line 2, column 16: must be a value of type int32"},
		{"a number out of range", `{"max_results":3000000000}`, "max_results at line 1, column 16: must be a value of type int32"},
		{"text for a list", `{"query":"a","allowed_domains":"a.example"}`, "allowed_domains at line 1, column 32: must be a JSON list"},
		{"an object for a list", `{"blockedDomains":{}}`, "blocked_domains at line 1, column 19: must be a JSON list"},
		{"text for an object", `{"location":"Oslo"}`, "location at line 1, column 13: must be a JSON object"},
		{"a list for an object", `{"location":["Oslo"]}`, "location at line 1, column 13: must be a JSON object"},
		{"a number in a list of texts", `{"allowed_domains":["a.example",5]}`, "allowed_domains at line 1, column 33: must be a value of type string"},
		{"a field sent twice", `{"query":"a","query":"b"}`, "query at line 1, column 14: is given twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := body.Decoder{In: strings.NewReader(tc.in)}.Decode(&searchv1.SearchRequest{})
			if err == nil || err.Error() != tc.want {
				t.Errorf("Decode = %v, want %s", err, tc.want)
			}
		})
	}
}

func TestHowDeepABodyMayBe(t *testing.T) {
	nested := func(levels int, open, inner, end string) string {
		return `{"name":"x","arguments":{"a":` + strings.Repeat(open, levels-2) + inner + strings.Repeat(end, levels-2) + `}}`
	}
	for _, tc := range []struct {
		name, in string
		ok       bool
	}{
		{"lists as deep as may be", nested(100, "[", "1", "]"), true},
		{"objects as deep as may be", nested(100, `{"a":`, "1", "}"), true},
		{"one list too many", nested(101, "[", "1", "]"), false},
		{"one object too many", nested(101, `{"a":`, "1", "}"), false},
		{"many beside each other", nested(50, "[", strings.Repeat(`[{"a":[]}],`, 1000)+"1", "]"), true},
		{"brackets inside texts", nested(3, "[", `"`+strings.Repeat(`[{\"[\\`, 1000)+`"`, "]"), true},
		{"after a text that ends in a backslash", nested(3, "[", `"\\",`+strings.Repeat("[", 100)+strings.Repeat("]", 100), "]"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/api/x", strings.NewReader(tc.in))
			r.Header.Set("Content-Type", "application/json")
			problem, ok := body.Limits{MaxBytes: 1 << 20}.Read(httptest.NewRecorder(), r)
			if ok != tc.ok || !ok && (problem.Status != 400 || problem.Reason != body.ReasonTooDeep || !strings.Contains(problem.Message, "line 1, column ")) {
				t.Fatalf("Read = %+v, %v", problem, ok)
			}
			if !ok {
				return
			}
			// What passes can be read, sent and read again.
			in, out := &orchestratorv1.InvokeToolRequest{}, &orchestratorv1.InvokeToolRequest{}
			if err := (body.Decoder{In: body.Of(r)}).Decode(in); err != nil {
				t.Fatal(err)
			}
			wire, err := proto.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(wire, out); err != nil || !proto.Equal(in, out) {
				t.Errorf("it does not come back: %v", err)
			}
		})
	}
}

func TestAnEmptyBodyIsLeftToTheHandler(t *testing.T) {
	if err := (body.Decoder{In: strings.NewReader("")}).Decode(&searchv1.SearchRequest{}); !errors.Is(err, io.EOF) {
		t.Errorf("Decode = %v, want io.EOF", err)
	}
}

// FuzzBody checks that whatever passes Read is one JSON object, that Decode
// then never panics, and that a message it accepts has no field that the
// document did not name by a name of the message.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{}`, `{"query":"x"}`, `{"steps":[{"call":{"function":{"name":1}}}]}`, `{"usage":{"a":1}}`, `[1]`, `{"a":1}{}`, "{\"\xff\":1}", ``, `{"steps":{"a":[]}}`, `{"origins":["a",{}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := httptest.NewRequest("POST", "/api/x", bytes.NewReader(raw))
		r.Header.Set("Content-Type", "application/json")
		problem, ok := body.Limits{MaxBytes: 1 << 16}.Read(httptest.NewRecorder(), r)
		if !ok {
			if problem.Status < 400 || problem.Message == "" || problem.Reason == "" {
				t.Fatalf("problem = %+v", problem)
			}
			return
		}
		b := body.Of(r)
		if len(b.Bytes()) == 0 {
			return
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &object); err != nil || object == nil {
			t.Fatalf("%q passed as an object: %v", raw, err)
		}
		msg := &orchestratorv1.Message{}
		err := body.Decoder{In: b}.Decode(msg)
		if (err == nil) != (body.Failure(r) == nil) {
			t.Fatalf("Decode = %v, Failure = %v", err, body.Failure(r))
		}
		if err != nil {
			return
		}
		for name := range object {
			fields := msg.ProtoReflect().Descriptor().Fields()
			if fields.ByTextName(name) == nil && fields.ByJSONName(name) == nil {
				t.Fatalf("%q was accepted with the unknown field %q", raw, name)
			}
		}
	})
}

func TestABodyMayRepeatThePathButNotContradictIt(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		ok       bool
	}{
		{"it says nothing", `{"query":"a"}`, true},
		{"it says the same", `{"query":"path"}`, true},
		{"it is empty", `{"query":""}`, true},
		{"it says something else", `{"query":"body"}`, false},
		{"it says something else of another kind", `{"max_results":6}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &body.Body{Reader: strings.NewReader(tc.in), Path: map[string]string{"query": "path", "max_results": "5", "stranger": "x"}}
			if strings.Contains(tc.in, `"a"`) {
				delete(b.Path, "query")
			}
			if err := (body.Decoder{In: b}).Decode(&searchv1.SearchRequest{}); (err == nil) != tc.ok {
				t.Errorf("%v", err)
			}
		})
	}
}
