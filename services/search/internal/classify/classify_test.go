package classify

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
)

func TestPagesInPlaceOfResults(t *testing.T) {
	text := strings.Repeat("An ordinary page with much to read. ", 60)
	cases := []struct {
		name, page string
		want       Kind
	}{
		{"bing's last step", `<title>tea - Search</title><div class="captcha"><div class="captcha_header">One last step</div></div>`, Challenge},
		{"its names in a style sheet alone", `<style>.captcha .captcha_header{}</style><p>` + text, None},
		{"duckduckgo's ducks", `<div class="anomaly-modal__title">Unfortunately</div>`, Challenge},
		{"google's sorry", `<form id="captcha-form" action="index"></form>`, Challenge},
		{"yandex", `<form action="/checkcaptcha?key=1"></form>`, Challenge},
		{"yandex smart captcha", `<form action="/showcaptcha?d=x"></form>`, Challenge},
		{"baidu", `<div class="passMod_dialog-wrapper"></div>`, Challenge},
		{"baidu by its script", `<script src="https://wappass.baidu.com/static/machine/js/api/mkd.js"></script>`, Challenge},
		{"baidu's captcha named in an article", `<p>wappass.baidu.com passMod_dialog-wrapper ` + text, None},
		{"google's sorry behind a link", `<a href="https://www.google.com/sorry/index?continue=x">here</a>`, Challenge},
		{"google's sorry in a script of a page", `<script>var u="https://www.google.com/sorry/index"</script><p>` + text, None},
		{"google without scripts", `<meta http-equiv="refresh" content="0; url=/httpservice/retry/enablejs?sei=x"><div id="main"></div>`, JSShell},
		{"google's consent", `<form action="https://consent.google.com/save"><button>Accept all</button></form>`, Consent},
		{"a page that only links to a consent form", `<form action="https://consent.google.com/save"></form><p>` + text, None},
		{"cloudflare waiting", `<div class="cf-browser-verification">Please wait</div>`, Challenge},
		{"cloudflare with its form", `<form id="challenge-form" action="/?__cf_chl_f_tk=x"></form>`, Challenge},
		{"cloudflare has blocked", `<div id="cf-wrapper"><div id="cf-error-details"><h1>Sorry, you have been blocked</h1></div></div><p>` + text, Challenge},
		{"cloudflare's script on a page", `<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script><p>` + text, None},
		{"turnstile alone", `<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>`, Challenge},
		{"sogou", `<form name="authform"><img id="seccodeImage"></form>`, Challenge},
		{"datadome", `<iframe src="https://geo.captcha-delivery.com/captcha/"></iframe>`, Challenge},
		{"perimeterx", `<div id="px-captcha"></div>`, Challenge},
		{"imperva", `<iframe id="main-iframe" src="/_Incapsula_Resource?x"></iframe>`, Challenge},
		{"anubis", `<script id="anubis_challenge" type="application/json">{}</script>`, Challenge},
		{"cloudflare", `<title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/h/b/orchestrate"></script>`, Challenge},
		{"a captcha and nothing else", `<div class="g-recaptcha"></div>`, Challenge},
		{"a captcha at the foot of a page", `<p>` + text + `</p><div class="g-recaptcha"></div>`, None},
		{"a verifying heading", `<h1>Verifying your request</h1><p>Please wait.</p>`, Challenge},
		{"an article about captchas", `<h1>Are you a robot? A history</h1><p>` + text, None},
		{"a consent wall", `<form action="https://consent.example.com/save"><button>Accept</button></form>`, Consent},
		{"asks for scripts", `<noscript>Please enable JavaScript</noscript><div id="root"></div>`, JSShell},
		{"asks for scripts beside a page", `<noscript>Please enable JavaScript</noscript><p>` + text, None},
		{"nothing but scripts", `<div id="app"></div><script src="/app.js"></script>`, JSShell},
		{"nothing", ``, None},
		{"a page", `<p>` + text, None},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc, err := goquery.NewDocumentFromReader(strings.NewReader(c.page))
			if err != nil {
				t.Fatal(err)
			}
			if v := Remaining(doc); v.Kind != c.want {
				t.Errorf("kind %q by %q, want %q", v.Kind, v.Mark, c.want)
			}
		})
	}
}

func TestCapturedPagesAreToldApart(t *testing.T) {
	want := map[string]Kind{"challenge": Challenge, "js_shell": JSShell}
	for _, c := range adaptertest.Corpus(t) {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(c.Body)))
		if err != nil {
			t.Fatal(err)
		}
		if v := Remaining(doc); v.Kind != want[c.Kind] {
			t.Errorf("%s is %q by %q, want %q", c.File, v.Kind, v.Mark, want[c.Kind])
		}
		if v := Certain(doc); v.Kind != None && c.Kind != "challenge" {
			t.Errorf("%s is taken for a certain %s by %q", c.File, v.Kind, v.Mark)
		}
	}
}
