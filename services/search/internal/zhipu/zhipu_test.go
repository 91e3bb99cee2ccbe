package zhipu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

var engine = New(Config{Key: "KEY"})

// known are the parameters of the engine that we send.
var known = []string{
	"search_query", "search_engine", "search_intent", "count", "search_domain_filter", "search_recency_filter", "content_size",
}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", engine, known, adapter.OptionLanguage, adapter.OptionRegion)
}

func TestAnswersAreReadAsWritten(t *testing.T) { adaptertest.Answers(t, "", engine) }

func TestWithoutSettingsNothingIsAsked(t *testing.T) {
	if _, err := New(Config{}).Plan(adapter.Query{Text: "tea"}); !errors.Is(err, adapter.ErrNotConfigured) {
		t.Errorf("got %v", err)
	}
}

func TestAnswersOfOtherShapesAreReadForWhatTheyAre(t *testing.T) {
	adaptertest.Shapes(t, engine, adaptertest.Shape{File: "results", List: "search_result", Title: "title", URL: "link"})
}

func TestEachIndexIsAskedForWhatItHeeds(t *testing.T) {
	cases := []struct {
		index   string
		count   int
		body    string
		dropped adapter.Dropped
	}{
		{"search_std", 7, `"count":7,"search_domain_filter":"a.example"`, nil},
		{"search_pro", 50, `"count":50,"search_domain_filter":"a.example"`, nil},
		{"search_pro_sogou", 1, `"count":10,"search_domain_filter":"a.example"`, nil},
		{"search_pro_sogou", 20, `"count":20,"search_domain_filter":"a.example"`, nil},
		{"search_pro_sogou", 41, `"count":50,"search_domain_filter":"a.example"`, nil},
		{"search_pro_sogou", 60, `"count":50,"search_domain_filter":"a.example"`, adapter.Dropped{adapter.OptionMaxResults}},
		{"search_pro_quark", 7, `"search_intent":false,"content_size"`, adapter.Dropped{adapter.OptionMaxResults, adapter.OptionAllowedDomains}},
	}
	for _, c := range cases {
		plan, err := New(Config{Key: "KEY", Index: c.index}).Plan(adapter.Query{Text: "tea", Count: c.count, AllowedDomains: []string{"a.example"}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(plan.Request.Body), c.body) || !slices.Equal(plan.Dropped, c.dropped) {
			t.Errorf("%s for %d rows: %s without %v, want %s without %v", c.index, c.count, plan.Request.Body, plan.Dropped, c.body, c.dropped)
		}
	}
}

func TestWhatACodeMeansDoesNotHangOnTheStatus(t *testing.T) {
	meant := map[outcome.Code][]string{
		outcome.AuthFailed:     {"1000", "1001", "1002", "1003", "1004", "1100", "1110", "1111", "1112", "1121", "1220"},
		outcome.QuotaExhausted: {"1113", "1304", "1308", "1309"},
		outcome.BadRequest:     {"1210", "1213", "1214", "1215", "1300", "1301"},
		outcome.Config:         {"1211", "1212", "1221", "1222", "1702"},
		outcome.RateLimited:    {"1231", "1302", "1303", "1305", "1701"},
		outcome.Upstream5xx:    {"500", "1120", "1230", "1234", "1703"},
	}
	for want, codes := range meant {
		for _, code := range codes {
			for _, body := range []string{`{"error":{"code":"` + code + `","message":"x"}}`, `{"error":{"code":` + code + `},"search_result":[]}`} {
				for _, status := range []int{200, 400, 401, 429, 500} {
					_, o := engine.Parse(adapter.Response{Status: status, Body: []byte(body)})
					if o.Code != want {
						t.Errorf("%d %s: %s, want %s", status, body, o.Code, want)
					}
				}
			}
		}
	}
	for _, body := range []string{`{"error":{"code":"9999"},"search_result":[]}`, `{"error":"x","search_result":[]}`, `{"error":{},"search_result":[]}`} {
		if _, o := engine.Parse(adapter.Response{Status: 200, Body: []byte(body)}); o.Code != outcome.Upstream5xx {
			t.Errorf("%s: %s", body, o.Code)
		}
	}
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", engine) }
