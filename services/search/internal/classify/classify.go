// Package classify recognises pages that stand where results should: captchas,
// consent walls and shells that are empty until scripts run.
//
// It goes by elements of the parsed page, never by raw text: Bing's challenge
// of 2026 carries the class names of a result page in its style sheet, the
// query in its title and status 200.
package classify

import (
	"net/http"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
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

// Certain looks for elements that only a challenge has. It is safe to ask before
// looking for results.
func Certain(doc *goquery.Document) Verdict {
	return challenges.first(doc, Challenge)
}

// Refusal is the mark of a page whose heading is nothing but a status that
// refuses.
const Refusal = "heading of a refusal"

// ByHeader gives the mark of a challenge that the headers of an answer name, or
// "" for none.
func ByHeader(h http.Header) string {
	switch {
	case strings.EqualFold(h.Get("Cf-Mitigated"), "challenge"):
		return "cloudflare challenge"
	case h.Get("X-Amzn-Waf-Action") != "":
		return "aws waf " + strings.ToLower(h.Get("X-Amzn-Waf-Action"))
	}
	return ""
}

// sparse is how many characters a page may show and still count as having
// nothing to read.
const sparse = 1500

// Remaining judges a page in which no results were found.
func Remaining(doc *goquery.Document) Verdict { return remaining(doc, false) }

// WithList is Remaining for a page that has the engine's list, only without rows
// that are understood: scripts beside a list do not make a shell.
func WithList(doc *goquery.Document) Verdict { return remaining(doc, true) }

func remaining(doc *goquery.Document, listed bool) Verdict {
	if v := Certain(doc); v.Kind != None {
		return v
	}
	p := look(doc)
	if v := consent(p); v.Kind != None {
		return v
	}
	if p.length <= sparse {
		if v := widgets.first(doc, Challenge); v.Kind != None {
			return v
		}
		if v := p.byScripts(); v.Kind != None {
			return v
		}
		if v := p.byWords(); v.Kind != None {
			return v
		}
		if v := consents.first(doc, Consent); v.Kind != None {
			return v
		}
	}
	return p.shell(listed)
}

// consent recognises walls that have much to read: by a form that no other page
// has, or by their heading beside a form of a consent page.
func consent(p page) Verdict {
	if v := walls.first(p.doc, Consent); v.Kind != None {
		return v
	}
	for _, h := range p.headings {
		if p.says(h, continuing) {
			return consents.first(p.doc, Consent)
		}
	}
	return Verdict{}
}

// byScripts looks into the scripts of the page.
func (p page) byScripts() Verdict {
	var v Verdict
	p.doc.FindMatcher(scripts).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		text := s.Text()
		for _, c := range scripted {
			if !slices.ContainsFunc(c.words, func(w string) bool { return !strings.Contains(text, w) }) {
				v = Verdict{Challenge, c.mark}
			}
		}
		return v.Kind == None
	})
	return v
}

// byWords looks for the words of a page that makes sure of a human, or that
// turns robots away, in its headings and in its text.
func (p page) byWords() Verdict {
	for _, h := range p.headings {
		switch {
		case p.says(h, verifying):
			return Verdict{Challenge, "heading of a verification page"}
		case refused.MatchString(h):
			return Verdict{Challenge, Refusal}
		}
	}
	if p.says(p.text, suspecting) {
		return Verdict{Challenge, "words of a verification page"}
	}
	return Verdict{}
}

// Fails reports whether a text says that results could not be had, are kept back
// or are not for robots, other than in words of the query that was asked.
func Fails(text, asked string) bool {
	p, text := page{asked: folded(asked)}, folded(text)
	return p.says(text, failing) || p.says(text, suspecting)
}

// bare is how many characters a page without scripts asked for may show and
// still count as a shell.
const bare = 600

// shell recognises pages that ask for scripts and show next to nothing else,
// or that are scripts alone.
func (p page) shell(listed bool) Verdict {
	if p.length > bare {
		return Verdict{}
	}
	if v := shells.first(p.doc, JSShell); v.Kind != None {
		return v
	}
	asks := p.says(p.text, []string{"javascript"}) && p.says(p.text, enabling)
	p.doc.FindMatcher(noscripts).Each(func(_ int, s *goquery.Selection) {
		// The parser keeps the content of noscript as one text, as browsers
		// with scripts do.
		text := strings.ToLower(s.Text())
		asks = asks || strings.Contains(text, "javascript") || strings.Contains(text, "enablejs")
	})
	switch {
	case asks:
		return Verdict{JSShell, "asks for scripts"}
	case !listed && p.length < 20 && p.doc.FindMatcher(scripts).Length() > 0:
		return Verdict{JSShell, "scripts and no text"}
	}
	return Verdict{}
}
