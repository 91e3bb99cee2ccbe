package classify

// challenges are elements that only a challenge page has.
var challenges = rules(
	"bing captcha", `div.captcha > div.captcha_header, #turnstile-widget`,
	"bing captcha frame", `form[action*="/fd/ls/CAPT"], iframe[src*="/fd/ls/CAPT"]`,
	"duckduckgo anomaly", `.anomaly-modal__title, form#challenge-form[action*="anomaly.js"]`,
	"brave captcha", `#pow-captcha-content`,
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
	"captcha form", `form[action*="captcha" i], form[action*="antispider"]`,
	"captcha frame", `iframe[src*="captcha" i]`,
	"captcha image", `img[src*="captcha" i], img[src*="seccode" i], img[id*="captcha" i]`,
	"captcha field", `input[name*="captcha" i], input[id*="captcha" i]`,
	"captcha box", `div[id*="captcha" i], div[class*="captcha" i], altcha-widget`,
	"captcha script", `script[src*="captcha-delivery.com"], script[src*="qcaptcha"], script[src*="ncaptcha"], script[src*="geetest.com"], script[src*="arkoselabs.com"], script[src*="perimeterx"]`,
	"imperva script", `script[src*="_Incapsula_Resource"]`,
	"refresh to a captcha", `meta[http-equiv="refresh" i][content*="captcha" i], meta[http-equiv="refresh" i][content*="/sorry/" i]`,
	"link to google sorry", `a[href*="google.com/sorry/"]`,
)

// scripted are words that only the scripts of a challenge have, all of each, in
// whatever language the page is.
var scripted = []struct {
	mark  string
	words []string
}{
	{"cloudflare challenge", []string{"_cf_chl_opt"}},
	{"cloudflare challenge", []string{"/cdn-cgi/challenge-platform/", "/orchestrate/"}},
	{"aws waf challenge", []string{"gokuProps"}},
}

// consents are forms that agree to cookies; they may lie over a page, too.
var consents = rules(
	"consent form", `form[action*="//consent."], form[action*="/consent/"], form[action*="/consent?"]`,
	"refresh to a consent page", `meta[http-equiv="refresh" i][content*="//consent." i]`,
	"google consent", `form[action*="consent.google."], form[action*="consent.youtube."]`,
	"yandex consent", `.gdpr-popup-v3-main form, #gdpr-popup-v3-button-mandatory`,
)

// walls are forms of consent pages alone.
var walls = rules(
	"yahoo consent", `form.consent-form, form[action*="collectConsent" i]`,
)

// shells are elements of pages that hold nothing until scripts run.
var shells = rules(
	"google without scripts", `meta[http-equiv="refresh"][content*="enablejs"]`,
)
