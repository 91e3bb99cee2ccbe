package adapter

import "strings"

// maxHinted is how many domains fit into a query before engines start to
// ignore the operators; with more the service's own filter has to do.
const maxHinted = 5

// WithDomainHint writes q's domains into its text with the site operator that
// Bing and DuckDuckGo share, as far as the whole stays within maxRunes. A hint
// only saves rows: it is never a substitute for filtering.
func WithDomainHint(q Query, maxRunes int) string {
	hint := ""
	switch allowed, blocked := siteTerms(q.AllowedDomains, "site:"), siteTerms(q.BlockedDomains, "-site:"); {
	case len(allowed) == 1:
		hint = allowed[0]
	case len(allowed) > 1:
		hint = "(" + strings.Join(allowed, " OR ") + ")"
	case len(blocked) > 0:
		hint = strings.Join(blocked, " ")
	}
	if hint == "" {
		return q.Text
	}
	if text := q.Text + " " + hint; len([]rune(text)) <= maxRunes {
		return text
	}
	return q.Text
}

// siteTerms gives one term a domain, or none when there are too many.
func siteTerms(domains []string, operator string) []string {
	if len(domains) > maxHinted {
		return nil
	}
	terms := make([]string, 0, len(domains))
	for _, d := range domains {
		terms = append(terms, operator+d)
	}
	return terms
}
