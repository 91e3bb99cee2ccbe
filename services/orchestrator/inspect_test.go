package orchestrator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider/arguments"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// The promise of inspect is that it shows what a run would read: the client of a
// configured model is asked over a real connection, the answer written byte by
// byte.
func TestInspectStreamReadsAsARunDoes(t *testing.T) {
	for _, in := range recordedStreams(t) {
		t.Run(in.Name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range in.Headers {
					w.Header().Set(k, v)
				}
				w.WriteHeader(in.Status)
				for i := range len(in.Wire) {
					_, _ = w.Write([]byte(in.Wire[i : i+1]))
					if i < 2_000 {
						_ = http.NewResponseController(w).Flush()
					}
				}
			}))
			defer server.Close()
			seen, err := InspectStream(in)
			if err != nil {
				t.Fatal(err)
			}
			mc := ModelConfig{ID: "m", APIURL: server.URL}
			req := provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Content: "hi"}}}
			if p := in.Profile; p != nil {
				mc.Profile = profileOf(*p)
				for _, call := range seen.ToolCalls {
					req.Tools = append(req.Tools, provider.ToolSpec{Name: call.Name})
				}
			}
			ms, err := newModels(Config{Models: []ModelConfig{mc}}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer ms.close()
			model, _ := ms.Model("m")
			resp, err := model.Streamer.Stream(context.Background(), req, func(provider.Delta) error { return nil })
			ran, reportErr := streamReport(in.Name, resp, err)
			if reportErr != nil {
				t.Fatal(reportErr)
			}
			for _, r := range []*StreamReport{&seen, &ran} {
				for i := range r.ToolCalls {
					if len(r.ToolCalls[i].ID) == 9 { // made up where there was none
						r.ToolCalls[i].ID = "*"
					}
				}
				r.Passback = nil // holds the ids
				if r.Error != nil {
					r.Error.Explanation = "" // names the address
					if r.Error.Kind == "stream_truncated" || r.Error.Kind == "bad_response" {
						r.Error.Message = ""
					}
				}
			}
			if diff := cmp.Diff(seen, ran); diff != "" {
				t.Errorf("inspect and a run differ (-inspect +run):\n%s", diff)
			}
		})
	}
}

// profileOf is the name of the configuration's profile for one of the corpus.
func profileOf(p StreamProfile) string {
	switch {
	case p.ThinkTags:
		return "think-tags"
	case p.TextCalls == provider.DSML:
		return "deepseek"
	}
	return string(p.TextCalls)
}

func TestInspectStreamSaysWhatIsWrongWithItsProfile(t *testing.T) {
	for _, p := range []StreamProfile{{Name: "nobody"}, {TextCalls: "xml"}} {
		if _, err := InspectStream(StreamInput{Profile: &p}); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

func TestInspectArgsReadsAsTheGateDoes(t *testing.T) {
	tools, err := toolkit.NewValidator(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{`{"q":"x"}`, `{'q':'x'}`, "```\n{\"q\":\"x\"}\n```", `{"q":"x"`, `{"q":1,"q":2}`, `nothing`, ``} {
		seen := InspectArgs(ArgsInput{Name: "a", Input: in})
		canonical, _, err := arguments.Check(tools, in, true)
		if seen.OK != (err == nil) || seen.OK && string(canonical) != string(seen.Value) {
			t.Errorf("%s: inspect %+v, gate %s, %v", in, seen, canonical, err)
		}
		careful, _, err := arguments.Check(tools, in, false)
		if (seen.OK && seen.Light) != (err == nil) {
			t.Errorf("%s: inspect %+v, gate %s, %v", in, seen, careful, err)
		}
	}
	cut := InspectArgs(ArgsInput{Input: `{"q":"x"`, Finish: "length"})
	if cut.OK || len(cut.Repairs) > 0 || cut.Error == "" {
		t.Errorf("what the limit cut is repaired: %+v", cut)
	}
}

// recordedStreams is the corpus of recorded answers; without it the test is
// skipped.
func recordedStreams(t *testing.T) (out []StreamInput) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var f *os.File
	for f == nil {
		if f, err = os.Open(filepath.Join(dir, "..", "shared", "data", "agent", "sse-quirks.jsonl")); err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/agent is not here")
		}
		dir = filepath.Dir(dir)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var in StreamInput
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			t.Fatal(err)
		}
		out = append(out, in)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
