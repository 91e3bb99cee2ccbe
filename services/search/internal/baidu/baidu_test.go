package baidu

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adaptertest"
	"github.com/nanoclaw/nanoclaw/services/search/internal/outcome"
)

// known are the parameters of Baidu that we send.
var known = []string{"wd", "ie", "rn", "pn", "gpc"}

func TestEveryOptionIsExpressedOrNamed(t *testing.T) {
	adaptertest.Options(t, "", New(Config{}), known, adapter.OptionLanguage, adapter.OptionRegion)
}

func TestCapturedPagesAreReadAsKnown(t *testing.T) {
	seen := 0
	for _, c := range adaptertest.Corpus(t) {
		if c.Provider != Name {
			continue
		}
		seen++
		p, o := New(Config{}).Parse(adapter.Response{Status: c.Status, Body: c.Body})
		switch c.Kind {
		case "results":
			// The addresses of this page were replaced; its rows are six of the
			// index and two of the encyclopaedia, less one box of suggestions.
			if o.Code != outcome.OK || len(p.Results) != 8 {
				t.Errorf("%s: %s (%s) with %d results", c.File, o.Code, o.Detail, len(p.Results))
			}
			for _, r := range p.Results {
				if r.Title == "" || r.Snippet == "" || r.URL == "" {
					t.Errorf("%s: row %+v", c.File, r)
				}
			}
		case "no_results":
			if o.Code != outcome.EmptyVerified {
				t.Errorf("%s: %s (%s)", c.File, o.Code, o.Detail)
			}
		}
	}
	if seen == 0 {
		t.Skip("no captured page of Baidu")
	}
}

func TestHandMadePagesAreReadAsWritten(t *testing.T) { adaptertest.Reads(t, "", New(Config{})) }

func TestARedirectToTheCaptchaIsAChallenge(t *testing.T) {
	_, o := New(Config{}).Parse(adapter.Response{Status: 302, Header: map[string][]string{
		"Location": {"https://wappass.baidu.com/static/captcha/tuxing_v2.html?logid=1"},
	}})
	if o.Code != outcome.Challenge {
		t.Errorf("outcome %s (%s)", o.Code, o.Detail)
	}
}

func FuzzParse(f *testing.F) { adaptertest.Fuzz(f, "", New(Config{})) }
