// Package classify recognises pages that stand where results should: captchas,
// consent walls and shells that are empty until scripts run.
//
// It goes by elements of the parsed page, never by raw text: Bing's challenge
// of 2026 carries the class names of a result page in its style sheet, the
// query in its title and status 200.
package classify

import (
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Kind is what a page is, if it is no result page.
type Kind string

// The kinds.
const (
	None      Kind = ""
	Challenge Kind = "challenge"
	Consent   Kind = "consent"
	JSShell   Kind = "js_shell"
)

// Verdict is a kind with the mark that gave it away.
type Verdict struct {
	Kind Kind
	// Mark names the rule, for operators.
	Mark string
}

// challenges are elements that only a challenge page has.
var challenges = rules(
	"bing captcha", `div.captcha > div.captcha_header, #turnstile-widget`,
	"bing captcha frame", `form[action*="/fd/ls/CAPT"], iframe[src*="/fd/ls/CAPT"]`,
	"duckduckgo anomaly", `.anomaly-modal__title, form#challenge-form[action*="anomaly.js"]`,
	"google sorry", `form#captcha-form, form[action*="/sorry/"]`,
	"yandex captcha", `form[action*="/checkcaptcha"], form[action*="/showcaptcha"], .CheckboxCaptcha, .AdvancedCaptcha, #captcha-container[data-sitekey^="ysc"]`,
	"baidu captcha", `.passMod_dialog-wrapper, .passMod_slide-grid, script[src*="wappass.baidu.com"], form[action*="wappass.baidu.com"]`,
	"sogou antispider", `form[name="authform"] #seccodeImage, #seccodeInput`,
	"cloudflare challenge", `#challenge-running, #challenge-error-text, #challenge-error-title, #cf-challenge-running, #cf-please-wait, .cf-browser-verification, form#challenge-form[action*="__cf_chl"]`,
	"cloudflare block", `#cf-wrapper #cf-error-details`,
	"datadome captcha", `iframe[src*="captcha-delivery.com"]`,
	"aws waf captcha", `awswaf-captcha, #challenge-container > script[src*="awswaf"]`,
	"perimeterx captcha", `#px-captcha`,
	"imperva challenge", `iframe#main-iframe[src*="_Incapsula_Resource"]`,
	"anubis challenge", `script#anubis_challenge, script#anubis_version`,
)

// widgets are captchas that ordinary pages embed too, so they only count on
// pages without anything else to read.
var widgets = rules(
	"turnstile widget", `.cf-turnstile, input[name="cf-turnstile-response"], script[src*="challenges.cloudflare.com"]`,
	"hcaptcha widget", `.h-captcha, iframe[src*="hcaptcha.com"]`,
	"recaptcha widget", `.g-recaptcha, iframe[src*="/recaptcha/"]`,
	"cloudflare script", `script[src*="/cdn-cgi/challenge-platform/"]`,
	"captcha form", `form[action*="captcha"]`,
	"link to google sorry", `a[href*="google.com/sorry/"]`,
)

var consents = rules(
	"consent form", `form[action*="//consent."], form[action*="/consent/"]`,
	"google consent", `form[action*="consent.google."], form[action*="consent.youtube."]`,
	"yandex consent", `.gdpr-popup-v3-main form, #gdpr-popup-v3-button-mandatory`,
)

// shells are elements of pages that hold nothing until scripts run.
var shells = rules(
	"google without scripts", `meta[http-equiv="refresh"][content*="enablejs"]`,
)

// verifying are headings of pages that make sure of a human.
var verifying = []string{
	"just a moment", "attention required", "checking your browser", "verifying your request",
	"verify you are human", "verify that you are not a robot", "are you not a robot", "are you a robot",
	"making sure you're not a bot", "security check", "access denied", "安全验证", "百度安全验证",
}

var (
	headings  = cascadia.MustCompile(`title, h1`)
	noscripts = cascadia.MustCompile(`noscript`)
	scripts   = cascadia.MustCompile(`script`)
)

// unseen are elements whose text browsers do not show.
var unseen = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Head: true,
}

// Certain looks for elements that only a challenge or a consent wall has. It
// is safe to ask before looking for results.
func Certain(doc *goquery.Document) Verdict {
	return challenges.first(doc, Challenge)
}

// sparse is how many characters a page may show and still count as having
// nothing to read.
const sparse = 1500

// Remaining judges a page in which no results were found.
func Remaining(doc *goquery.Document) Verdict {
	if v := Certain(doc); v.Kind != None {
		return v
	}
	visible := utf8.RuneCountInString(visibleText(doc))
	if visible <= sparse {
		if v := widgets.first(doc, Challenge); v.Kind != None {
			return v
		}
		if v := byHeading(doc); v.Kind != None {
			return v
		}
		if v := consents.first(doc, Consent); v.Kind != None {
			return v
		}
	}
	return shell(doc, visible)
}

func byHeading(doc *goquery.Document) Verdict {
	v := Verdict{}
	doc.FindMatcher(headings).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		text := strings.ToLower(s.Text())
		for _, h := range verifying {
			if strings.Contains(text, h) {
				v = Verdict{Challenge, "heading of a verification page"}
				return false
			}
		}
		return true
	})
	return v
}

// bare is how many characters a page without scripts asked for may show and
// still count as a shell.
const bare = 600

// shell recognises pages that ask for scripts and show next to nothing else,
// or that are scripts alone.
func shell(doc *goquery.Document, visible int) Verdict {
	if visible > bare {
		return Verdict{}
	}
	if v := shells.first(doc, JSShell); v.Kind != None {
		return v
	}
	asks := false
	doc.FindMatcher(noscripts).Each(func(_ int, s *goquery.Selection) {
		// The parser keeps the content of noscript as one text, as browsers
		// with scripts do.
		text := strings.ToLower(s.Text())
		asks = asks || strings.Contains(text, "javascript") || strings.Contains(text, "enablejs")
	})
	switch {
	case asks:
		return Verdict{JSShell, "asks for scripts"}
	case visible < 20 && doc.FindMatcher(scripts).Length() > 0:
		return Verdict{JSShell, "scripts and no text"}
	}
	return Verdict{}
}

// visibleText is the text of the page without what browsers hide.
func visibleText(doc *goquery.Document) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		if n.Type == html.ElementNode && unseen[n.DataAtom] {
			return
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	for _, n := range doc.Nodes {
		walk(n)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
