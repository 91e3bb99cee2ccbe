package duckduckgo

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestCapturedPagesAreReadAsKnown(t *testing.T) {
	kinds := map[string]outcome.Code{
		"results": outcome.OK, "challenge": outcome.Challenge, "js_shell": outcome.JSShell,
		"results_legacy_layout": outcome.LayoutUnrecognised, "results_js_serp": outcome.LayoutUnrecognised,
		"news_js_serp": outcome.LayoutUnrecognised,
	}
	adaptertest.ReadsCaptured(t, NewHTML(""), kinds)
	adaptertest.ReadsCaptured(t, NewLite(""), kinds)
}

func TestHandMadePagesAreReadAsWritten(t *testing.T) {
	adaptertest.Reads(t, "html_", NewHTML(""))
	adaptertest.Reads(t, "lite_", NewLite(""))
}

func TestWhatAnswersBesideTheResultsSayIsNotAboutThem(t *testing.T) {
	for _, class := range []string{"zci", "js-zci-x", "module--images", "react-module"} {
		body := `<form><input name="q" value="tea"></form><div id="links"><div class="` + class + `"><p>No results</p></div></div>`
		if _, o := NewHTML("").Parse(adapter.Response{Status: 200, Body: []byte(body)}); o.Code != outcome.LayoutUnrecognised {
			t.Errorf("%s: %s (%s)", class, o.Code, o.Detail)
		}
	}
}

// known are the fields that DuckDuckGo takes from us.
var known = []string{"q", "b", "kl", "df", "kp"}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "html_", NewHTML(""), known)
	adaptertest.Options(t, "lite_", NewLite(""), known)
}

func TestRequestsAreByteForByteAsRecorded(t *testing.T) {
	cases := []struct {
		name   string
		engine adapter.Adapter
		q      adapter.Query
	}{
		{"html_plain", NewHTML(""), adapter.Query{Text: "tea ceremony", Count: 5}},
		{"html_chinese", NewHTML(""), adapter.Query{Text: "杭州 龙井茶", Count: 5}},
		{"html_bang", NewHTML(""), adapter.Query{Text: "!g tea !", Count: 5}},
		{"html_own_address", NewHTML("http://127.0.0.1:8080/"), adapter.Query{Text: "tea & cake"}},
		{"html_two_domains", NewHTML(""), adapter.Query{Text: "tea", Count: 10, AllowedDomains: []string{"example.com", "example.org"}}},
		{"lite_plain", NewLite(""), adapter.Query{Text: "tea ceremony", Count: 5}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan := adaptertest.Plans(t, c.name, c.engine, c.q)
			for name := range form(t, plan) {
				if !slices.Contains(known, name) {
					t.Errorf("field %q is none of DuckDuckGo's", name)
				}
			}
			if dropped := len(plan.Dropped) > 0; dropped != (c.q.Count > 0) {
				t.Errorf("dropped options %v for a count of %d", plan.Dropped, c.q.Count)
			}
		})
	}
}

func TestQueryTooLongForItsDomainsIsSentAlone(t *testing.T) {
	long := adapter.Query{Text: strings.TrimSpace(strings.Repeat("tea ", 123)), AllowedDomains: []string{"example.com"}}
	plan, err := NewHTML("").Plan(long)
	if err != nil {
		t.Fatal(err)
	}
	if got := form(t, plan).Get("q"); got != long.Text {
		t.Errorf("query was changed to %q", got)
	}
}

func form(t *testing.T, plan adapter.Plan) url.Values {
	t.Helper()
	v, err := url.ParseQuery(string(plan.Request.Body))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func FuzzParseHTML(f *testing.F) { adaptertest.Fuzz(f, "html_", NewHTML("")) }

func FuzzParseLite(f *testing.F) { adaptertest.Fuzz(f, "lite_", NewLite("")) }
