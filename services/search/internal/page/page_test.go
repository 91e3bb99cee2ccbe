package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheOrderInWhichAPageIsJudged(t *testing.T) {
	const captcha = `<div class="captcha"><div class="captcha_header">One last step</div></div>`
	const shell = `<noscript>Please enable JavaScript</noscript><div id="root"></div>`
	found := func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{Results: []adapter.Result{{Title: "t", URL: "https://a.example/"}}}, outcome.Of(outcome.OK)
	}
	none := func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{}, outcome.Because(outcome.EmptyVerified, "the engine says so")
	}
	lost := func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list")
	}
	listed := func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{HasList: true}, outcome.Because(outcome.LayoutUnrecognised, "no rows")
	}
	cases := []struct {
		name   string
		r      adapter.Response
		read   Reader
		want   outcome.Code
		detail string
	}{
		{"a certain challenge comes before rows", adapter.Response{Status: 200, Body: []byte(captcha)}, found, outcome.Challenge, "bing captcha"},
		{"and before the word for none", adapter.Response{Status: 200, Body: []byte(captcha)}, none, outcome.Challenge, "bing captcha"},
		{"and before a status that fails", adapter.Response{Status: 503, Body: []byte(captcha)}, found, outcome.Challenge, "bing captcha"},
		{"rows come before what looks like a shell", adapter.Response{Status: 200, Body: []byte(shell)}, found, outcome.OK, ""},
		{"a status that fails comes before rows", adapter.Response{Status: 500, Body: []byte("<p>x")}, found, outcome.Upstream5xx, "HTTP 500"},
		{"too many requests stay so whatever the page looks like", adapter.Response{Status: 429, Body: []byte(`<title>Access denied</title>`)}, found, outcome.RateLimited, "HTTP 429"},
		{"and shows a captcha", adapter.Response{Status: 429, Body: []byte(captcha)}, found, outcome.RateLimited, "HTTP 429"},
		{"and names a challenge in a header", adapter.Response{Status: 429, Header: http.Header{"Cf-Mitigated": {"challenge"}}}, found, outcome.RateLimited, "HTTP 429"},
		{"a block names its page", adapter.Response{Status: 403, Body: []byte(`<title>Just a moment...</title>`)}, found, outcome.Challenge, "heading of a verification page"},
		{"a page without a list may be a shell", adapter.Response{Status: 200, Body: []byte(shell)}, lost, outcome.JSShell, "asks for scripts"},
		{"a page without a list that is nothing known", adapter.Response{Status: 200, Body: []byte("<p>x")}, lost, outcome.LayoutUnrecognised, "no list"},
		{"a cut page without a list says so", adapter.Response{Status: 200, Body: []byte("<p>x"), Truncated: true}, lost, outcome.LayoutUnrecognised, "no list; the page was cut at the size limit"},
		{"a cut page with rows says so", adapter.Response{Status: 200, Body: []byte("<p>x"), Truncated: true}, found, outcome.OK, "the page was cut at the size limit"},
		{"a list beside scripts is no shell", adapter.Response{Status: 200, Body: []byte(`<script src="x"></script>`)}, listed, outcome.LayoutUnrecognised, "no rows"},
		{"scripts without a list are", adapter.Response{Status: 200, Body: []byte(`<script src="x"></script>`)}, lost, outcome.JSShell, "scripts and no text"},
		{"202 without a body", adapter.Response{Status: 202}, lost, outcome.Challenge, "HTTP 202 without results"},
		{"202 with a body that cannot be parsed", adapter.Response{Status: 202, Body: []byte(strings.Repeat("<div>", 5000))}, found, outcome.Challenge, "HTTP 202 without results"},
		{"202 with a shell", adapter.Response{Status: 202, Body: []byte(shell)}, lost, outcome.Challenge, "HTTP 202 without results"},
		{"202 with rows", adapter.Response{Status: 202, Body: []byte("<p>x")}, found, outcome.OK, ""},
		{"202 with the word for none", adapter.Response{Status: 202, Body: []byte("<p>x")}, none, outcome.EmptyVerified, "the engine says so"},
		{"the word for none on a whole page", adapter.Response{Status: 200, Body: []byte("<p>x")}, none, outcome.EmptyVerified, "the engine says so"},
		{"the word for none on a cut page", adapter.Response{Status: 200, Body: []byte("<p>x"), Truncated: true}, none, outcome.LayoutUnrecognised, "the word for no results on a part of a page; the page was cut at the size limit"},
		{"the word for none on a page that breaks off", adapter.Response{Status: 200, Body: []byte("<!DOCTYPE html><HTML lang=en><body><p>x")}, none, outcome.LayoutUnrecognised, "the word for no results on a part of a page"},
		{"the word for none on a page that ends", adapter.Response{Status: 200, Body: []byte("<html><p>x</BODY >")}, none, outcome.EmptyVerified, "the engine says so"},
		{"rows on a page that breaks off", adapter.Response{Status: 200, Body: []byte("<html><p>x")}, found, outcome.OK, ""},
		{"a challenge named by a header", adapter.Response{Status: 405, Header: http.Header{"X-Amzn-Waf-Action": {"captcha"}}}, lost, outcome.Challenge, "aws waf captcha"},
		{"a refusal with status 200", adapter.Response{Status: 200, Body: []byte("<title>403 - Forbidden</title>")}, lost, outcome.Challenge, "heading of a refusal"},
		{"absurd nesting", adapter.Response{Status: 200, Body: []byte(strings.Repeat("<div>", 5000))}, found, outcome.LayoutUnrecognised, "the page cannot be parsed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, o := Read(c.r, c.read)
			if o.Code != c.want || o.Detail != c.detail || o.Code.HasResults() != (len(p.Results) > 0) {
				t.Errorf("%s (%s) with %d results, want %s (%s)", o.Code, o.Detail, len(p.Results), c.want, c.detail)
			}
		})
	}
}

func TestAWaitThatComesWithAFailureIsKept(t *testing.T) {
	read := func(*goquery.Document, adapter.Response) (adapter.Page, outcome.Outcome) {
		return adapter.Page{}, outcome.Because(outcome.LayoutUnrecognised, "no list")
	}
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   outcome.Code
	}{
		{"too many requests", 429, "", outcome.RateLimited},
		{"too many requests and a captcha", 429, `<div class="captcha"><div class="captcha_header">x</div></div>`, outcome.RateLimited},
		{"a server that is busy", 503, "<p>x", outcome.Upstream5xx},
		{"a certain challenge", 503, `<div class="captcha"><div class="captcha_header">x</div></div>`, outcome.Challenge},
		{"a challenge by its heading", 403, `<title>Just a moment...</title>`, outcome.Challenge},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, o := Read(adapter.Response{Status: c.status, Header: http.Header{"Retry-After": {"60"}}, Body: []byte(c.body)}, read)
			if o.Code != c.want || o.RetryAfter != time.Minute {
				t.Errorf("%s with a wait of %s, want %s with a minute", o.Code, o.RetryAfter, c.want)
			}
		})
	}
}

func TestAPageInsteadOfAnAnswer(t *testing.T) {
	for body, want := range map[string]outcome.Code{
		`<title>Just a moment...</title>`: outcome.Challenge, `<title>403 Forbidden</title>`: "", `<div id="app"></div><script src="x"></script>`: outcome.JSShell, "<p>tea": "", "": "",
	} {
		if o, ok := Instead([]byte(body)); o.Code != want || ok != (want != "") {
			t.Errorf("%q is %s (%t), want %s", body, o.Code, ok, want)
		}
	}
}
