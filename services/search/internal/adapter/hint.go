package adapter

import (
	"strings"
	"unicode/utf8"
)

// MaxHinted is how many domains fit into a query before engines start to
// ignore the operators; with more the service's own filter has to do.
const MaxHinted = 5

// WithDomainHint writes q's domains into its text with the site operator that
// most engines share, as far as the whole stays within maxRunes; it reports
// false when it would not. A hint only saves rows: it is never a substitute for
// filtering.
func WithDomainHint(q Query, maxRunes int) (string, bool) {
	hint := ""
	switch allowed, blocked := siteTerms(q.AllowedDomains, "site:"), siteTerms(q.BlockedDomains, "-site:"); {
	case len(allowed) == 1:
		hint = allowed[0]
	case len(allowed) > 1:
		hint = "(" + strings.Join(allowed, " OR ") + ")"
	case len(blocked) > 0:
		hint = strings.Join(blocked, " ")
	default:
		return q.Text, true
	}
	if text := q.Text + " " + hint; utf8.RuneCountInString(text) <= maxRunes {
		return text, true
	}
	return q.Text, false
}

func siteTerms(domains []string, operator string) []string {
	terms := make([]string, 0, len(domains))
	for _, d := range domains {
		terms = append(terms, operator+d)
	}
	return terms
}

// DomainOption is the option under which q's domains are dropped.
func DomainOption(q Query) Option {
	if len(q.AllowedDomains) > 0 {
		return OptionAllowedDomains
	}
	return OptionBlockedDomains
}
