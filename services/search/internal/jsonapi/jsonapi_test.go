package jsonapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type list struct {
	Rows *[]struct{} `json:"rows"`
}

func readList(l list, _ adapter.Response) (adapter.Page, outcome.Outcome) {
	switch {
	case l.Rows == nil:
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no rows")
	case len(*l.Rows) == 0:
		return adapter.Page{CostUSD: 1, Results: []adapter.Result{{Title: "stray"}}}, outcome.Of(outcome.EmptyVerified)
	}
	return adapter.Page{CostUSD: 1, Results: []adapter.Result{{Title: "t"}}}, outcome.Of(outcome.OK)
}

func refuse(r adapter.Response) (outcome.Outcome, bool) {
	if string(r.Body) == `{"why":"key"}` {
		return outcome.Because(outcome.AuthFailed, "key"), true
	}
	if string(r.Body) == `{"why":"pace"}` {
		return outcome.Because(outcome.RateLimited, "pace"), true
	}
	return outcome.Outcome{}, false
}

func TestTheOrderInWhichAnAnswerIsJudged(t *testing.T) {
	now := time.Date(2025, 12, 1, 12, 0, 0, 0, time.UTC)
	month := []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Policy", "1000;w=2592000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "86400"}
	second := []string{"X-RateLimit-Limit", "1", "X-RateLimit-Policy", "1;w=1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1"}
	cases := []struct {
		name   string
		status int
		body   string
		header []string
		cut    bool
		want   outcome.Code
		retry  time.Duration
	}{
		{"rows", 200, `{"rows":[{}]}`, nil, false, outcome.OK, 0},
		{"an empty list", 200, `{"rows":[]}`, nil, false, outcome.EmptyVerified, 0},
		{"no list", 200, `{}`, nil, false, outcome.LayoutUnrecognised, 0},
		{"a list of another type", 200, `{"rows":7}`, nil, false, outcome.LayoutUnrecognised, 0},
		{"half of a list", 200, `{"rows":[`, nil, true, outcome.LayoutUnrecognised, 0},
		{"nothing", 200, ` `, nil, false, outcome.LayoutUnrecognised, 0},
		{"a number", 200, `7`, nil, false, outcome.LayoutUnrecognised, 0},
		{"a challenge with 200", 200, `<title>Just a moment...</title>`, nil, false, outcome.Challenge, 0},
		{"a challenge with 403", 403, `<title>Just a moment...</title>`, nil, false, outcome.Challenge, 0},
		{"a challenge with 503", 503, `<title>Just a moment...</title>`, nil, false, outcome.Challenge, 0},
		{"rows with a status that fails", 500, `{"rows":[{}]}`, nil, false, outcome.Upstream5xx, 0},
		{"a key that is refused", 401, `{}`, nil, false, outcome.AuthFailed, 0},
		{"the engine's own words count more than the status", 422, `{"why":"key"}`, nil, false, outcome.AuthFailed, 0},
		{"other words count less", 422, `{"why":"?"}`, nil, false, outcome.BadRequest, 0},
		{"a wrong address", 404, `{}`, nil, false, outcome.Config, 0},
		{"a redirect", 302, ``, []string{"Location", "https://elsewhere.example/"}, false, outcome.Config, 0},
		{"too many requests", 429, `{}`, nil, false, outcome.RateLimited, 0},
		{"with a wait", 429, `{}`, []string{"Retry-After", "5"}, false, outcome.RateLimited, 5 * time.Second},
		{"in the second", 429, `{}`, second, false, outcome.RateLimited, time.Second},
		{"in the second, with a wait of their own", 429, `{}`, append(slices.Clone(second), "Retry-After", "5"), false, outcome.RateLimited, 5 * time.Second},
		{"in the month", 429, `{}`, month, false, outcome.QuotaExhausted, 24 * time.Hour},
		{"in the month, by the engine's own words", 429, `{"why":"pace"}`, month, false, outcome.QuotaExhausted, 24 * time.Hour},
		{"payment", 402, `{}`, nil, false, outcome.QuotaExhausted, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := http.Header{}
			for i := 0; i < len(c.header); i += 2 {
				h.Set(c.header[i], c.header[i+1])
			}
			p, o := Read(adapter.Response{Status: c.status, Header: h, Body: []byte(c.body), Truncated: c.cut, ReceivedAt: now}, refuse, readList)
			if o.Code != c.want || o.RetryAfter != c.retry {
				t.Errorf("%s (%s) after %s, want %s after %s", o.Code, o.Detail, o.RetryAfter, c.want, c.retry)
			}
			if o.Code.HasResults() != (len(p.Results) > 0) || o.Code.Answered() != (p.CostUSD == 1) {
				t.Errorf("%s with %d results for %g USD", o.Code, len(p.Results), p.CostUSD)
			}
			if limited := h.Get("X-RateLimit-Limit") != ""; limited != (len(p.Limits) == 1) {
				t.Errorf("limits %v", p.Limits)
			}
		})
	}
}

func TestFieldsOfAnotherTypeAreEmpty(t *testing.T) {
	var got struct {
		A, B, C, J Text
		D, E, F, K Texts
		G, H, I    Code
	}
	const in = `{"A":"x","B":null,"C":{"y":1},"D":["a",null,7,"","b"],"E":null,"F":"a","J":1984,"K":{"a":"b"},"G":7,"H":"7","I":[7]}`
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if got.A != "x" || got.B != "" || got.C != "" || !slices.Equal(got.D, Texts{"a", "b"}) || got.E != nil || !slices.Equal(got.F, Texts{"a"}) || got.J != "1984" || got.K != nil || got.G != "7" || got.H != "7" || got.I != "" {
		t.Errorf("got %+v", got)
	}
}

func TestPiecesOfTextAndOfData(t *testing.T) {
	got := Passages([]string{" a  b\n\n\nc ", `{"x": [1, 2]}`, `[1]`, "", " ", "{not JSON}", "[1] a note"})
	want := []adapter.Passage{
		{Text: "a b\n\nc", Kind: adapter.Prose}, {Text: `{"x": [1, 2]}`, Kind: adapter.JSON}, {Text: "[1]", Kind: adapter.JSON},
		{Text: "{not JSON}", Kind: adapter.Prose}, {Text: "[1] a note", Kind: adapter.Prose},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if first := FirstProse(got); first != "a b c" {
		t.Errorf("the first text is %q", first)
	}
	if first := FirstProse(got[1:3]); first != "" {
		t.Errorf("data passes for text: %q", first)
	}
}
