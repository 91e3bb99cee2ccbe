package adaptertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// answered is the golden form of what was made of an answer.
type answered struct {
	Outcome    outcome.Code     `json:"outcome"`
	Detail     string           `json:"detail,omitempty"`
	RetryAfter string           `json:"retry_after,omitempty"`
	Altered    string           `json:"altered_query,omitempty"`
	Searched   string           `json:"searched_query,omitempty"`
	CostUSD    float64          `json:"cost_usd,omitempty"`
	Limits     adapter.Limits   `json:"limits,omitempty"`
	Results    []adapter.Result `json:"results,omitempty"`
}

// Answers checks what the engine makes of every testdata/PREFIX*.http, an answer
// with status and headers as it is on the wire, against the JSON file of the
// same name.
func Answers(t *testing.T, prefix string, engine adapter.Adapter) {
	t.Helper()
	for file, r := range Responses(t, "testdata", prefix) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			p, o := engine.Parse(r)
			got := answered{
				Outcome: o.Code, Detail: o.Detail, Altered: p.AlteredQuery, Searched: p.SearchedQuery,
				CostUSD: p.CostUSD, Limits: p.Limits, Results: p.Results,
			}
			if o.RetryAfter > 0 {
				got.RetryAfter = o.RetryAfter.Round(time.Millisecond).String()
			}
			var text bytes.Buffer
			enc := json.NewEncoder(&text)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(got); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".http")+".json", text.String())
		})
	}
}

// Responses are the answers in the files DIR/PREFIX*.http by their names.
func Responses(t testing.TB, dir, prefix string) map[string]adapter.Response {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*.http"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers %s/%s*.http (%v)", dir, prefix, err)
	}
	out := map[string]adapter.Response{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), nil)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[f] = adapter.Response{Status: r.StatusCode, Header: r.Header, Body: body, ReceivedAt: Received}
	}
	return out
}
