package classify

import (
	"net/http"
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
		{"cloudflare in German", `<title>Nur einen Moment…</title><noscript>Enable JavaScript and cookies to continue</noscript><script>window._cf_chl_opt={cvId:"3"};</script>`, Challenge},
		{"cloudflare in Chinese", `<title>请稍候…</title><noscript>Enable JavaScript</noscript><script>var a=document.createElement("script");a.src="/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1";</script>`, Challenge},
		{"cloudflare's scripts on a page", `<script>window._cf_chl_opt={};</script><p>` + text, None},
		{"cloudflare's measurements on a shell", `<script>(function(){window.__CF$cv$params={};a.src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"})()</script><div id="app"></div>`, JSShell},
		{"cloudflare's names in a text", `<p>What is window._cf_chl_opt on /cdn-cgi/challenge-platform/h/b/orchestrate/chl_page?</p>`, None},
		{"aws waf without its element", `<title>おまちください</title><script>window.gokuProps = {"key":"x"};</script><noscript>JavaScript</noscript>`, Challenge},
		{"imperva by its script", `<script src="/_Incapsula_Resource?SWJIYLWA=x"></script>`, Challenge},
		{"a captcha and nothing else", `<div class="g-recaptcha"></div>`, Challenge},
		{"a captcha at the foot of a page", `<p>` + text + `</p><div class="g-recaptcha"></div>`, None},
		{"a verifying heading", `<h1>Verifying your request</h1><p>Please wait.</p>`, Challenge},
		{"an article about captchas", `<h1>Are you a robot? A history</h1><p>` + text, None},
		{"a consent wall", `<form action="https://consent.example.com/save"><button>Accept</button></form>`, Consent},
		{"asks for scripts", `<noscript>Please enable JavaScript</noscript><div id="root"></div>`, JSShell},
		{"asks for scripts beside a page", `<noscript>Please enable JavaScript</noscript><p>` + text, None},
		{"nothing but scripts", `<div id="app"></div><script src="/app.js"></script>`, JSShell},
		{"brave's proof of work", `<title>PoW Captcha - Brave Search</title><div id="pow-captcha-content"><p>` + text, Challenge},
		{"brave's, by its title", `<title>PoW Captcha - Brave Search</title><p>Working</p>`, Challenge},
		{"mojeek's refusal", `<title>403 - Forbidden</title><h1>403 - Forbidden</h1><p>Sorry, your network appears to be sending automated queries.</p>`, Challenge},
		{"a refusal of a server", `<html><head><title>429 Too Many Requests</title></head><body><center>nginx</center></body></html>`, Challenge},
		{"google's refusal", `<title>Error 403 (Forbidden)!!1</title><p>Your client does not have permission.</p>`, Challenge},
		{"a heading that begins with a status", `<title>403 area code</title><h1>forbidden city</h1><p>x</p>`, None},
		{"unusual traffic", `<div>Our systems have detected unusual traffic from your computer network.</div>`, Challenge},
		{"unusual traffic in German", `<div>Unsere Systeme haben ungewöhnlichen Datenverkehr aus Ihrem Computernetzwerk festgestellt.</div>`, Challenge},
		{"yandex in Russian", `<title>Ой!</title><p>Подтвердите, что запросы отправляли вы, а не робот</p>`, Challenge},
		{"in Polish", `<title>Jeszcze jeden krok</title><p>Potwierdź, że nie jesteś robotem</p>`, Challenge},
		{"in Turkish", `<p>Ağınızdan olağan dışı trafik algıladık.</p>`, Challenge},
		{"in Arabic", `<p>يرجى التحقق من أنك لست روبوتًا</p>`, Challenge},
		{"in Hebrew", `<p>אנא אשר שאינך רובוט</p>`, Challenge},
		{"in Thai", `<p>โปรดยืนยันว่าคุณไม่ใช่หุ่นยนต์</p>`, Challenge},
		{"in Portuguese", `<p>Confirme que você não é um robô.</p>`, Challenge},
		{"in traditional Chinese beside scripts", `<h1>驗證</h1><p>請確認您不是機器人</p><script src="/c.js"></script>`, Challenge},
		{"sogou in words", `<title>搜狗搜索</title><p>此验证码用于确认这些请求是您的正常行为而不是自动程序发出的，需要您协助验证。</p>`, Challenge},
		{"360", `<title>访问异常页面</title><p>系统检测到您操作过于频繁，请输入验证码以便正常访问。</p>`, Challenge},
		{"naver", `<p>자동입력 방지를 위해 확인이 필요합니다.</p>`, Challenge},
		{"startpage's form", `<form action="/sp/captcha" method="post"><input name="x"></form>`, Challenge},
		{"an image of a captcha", `<p>Please type what you see</p><img src="/Captcha.php?x=1">`, Challenge},
		{"a curly apostrophe", `<p>Please confirm you’re not a bot.</p>`, Challenge},
		{"words of a verification that are the query", `<title>unusual traffic - Find</title><input name="q" value="unusual traffic"><h1>unusual traffic</h1>`, None},
		{"a heading that is the query", `<title>access denied - Find</title><input name="q" value="access denied windows"><p>x</p>`, None},
		{"words of a verification in an article", `<p>They have detected unusual traffic. ` + text, None},
		{"datadome's script", `<p>Please enable JS and disable any ad blocker</p><script src="https://ct.captcha-delivery.com/c.js"></script>`, Challenge},
		{"yandex in Russian by its title", `<title>Вы не робот?</title><div id="root"></div>`, Challenge},
		{"a text about captchas that was searched for", `<title>captcha - Find</title><p>Tells whether you are human or not.</p>`, None},
		{"google's consent in Chinese", `<h1>继续前往 Google 之前</h1><form action="https://consent.google.com/save"></form><p>` + text, Consent},
		{"a refresh to a captcha", `<META HTTP-EQUIV="Refresh" CONTENT="0; URL=https://wappass.baidu.com/static/captcha/x">`, Challenge},
		{"google's consent with much to read", `<title>Before you continue to Google Search</title><form action="https://consent.google.com/save"></form><p>` + text, Consent},
		{"the same in German", `<title>Bevor Sie zu Google weitergehen</title><form action="https://consent.google.de/save"></form><p>` + text, Consent},
		{"its heading on another page", `<h1>Before you continue: a guide</h1><p>` + text, None},
		{"yahoo's consent", `<title>Yahoo is part of the Yahoo family of brands</title><form method="post" class="consent-form" action="/v2/collectConsent?sessionId=1"></form><p>` + text, Consent},
		{"yahoo's consent by its host", `<form action="https://consent.yahoo.com/v2/x"></form>`, Consent},
		{"asks for scripts without noscript", `<div>You need to enable JavaScript to run this app.</div>`, JSShell},
		{"asks for scripts in Chinese", `<p>请启用 JavaScript 后继续</p>`, JSShell},
		{"asks for scripts in Polish", `<p>Włącz JavaScript, aby kontynuować</p>`, JSShell},
		{"asks for scripts in Arabic", `<p>يرجى تفعيل JavaScript لعرض النتائج</p>`, JSShell},
		{"scripts are what was searched for", `<input name="q" value="enable javascript"><p>enable javascript</p>`, None},
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

func TestAListBesideScriptsIsNoShell(t *testing.T) {
	for page, want := range map[string]Kind{
		`<ol id="list"></ol><script src="/app.js"></script>`:                                None,
		`<ol id="list"></ol><noscript>Please enable JavaScript</noscript><script></script>`: JSShell,
		`<ol id="list"></ol><div class="g-recaptcha"></div>`:                                Challenge,
	} {
		doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		if v := WithList(doc); v.Kind != want {
			t.Errorf("%s is %q by %q, want %q", page, v.Kind, v.Mark, want)
		}
	}
}

func TestHeadersOfChallenges(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"cloudflare": {"Cf-Mitigated", "challenge", "cloudflare challenge"}, "cloudflare cached": {"Cf-Cache-Status", "challenge", ""},
		"aws": {"X-Amzn-Waf-Action", "Captcha", "aws waf captcha"}, "none": {"Content-Type", "text/html", ""},
	} {
		if got := ByHeader(http.Header{c.key: {c.value}}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
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
