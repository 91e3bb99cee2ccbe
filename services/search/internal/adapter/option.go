package adapter

import "slices"

// Option is the name of an option, as callers write it.
type Option string

// The options.
const (
	OptionMaxResults     Option = "max_results"
	OptionPage           Option = "page"
	OptionAllowedDomains Option = "allowed_domains"
	OptionBlockedDomains Option = "blocked_domains"
	OptionFreshness      Option = "freshness"
	OptionLanguage       Option = "language"
	OptionRegion         Option = "region"
	OptionSafeSearch     Option = "safe_search"
	OptionLocation       Option = "location"
	OptionNews           Option = "news"
	OptionPassages       Option = "passages"
	OptionPassageTokens  Option = "max_tokens"
)

// Options lists all options, in the order in which dropped ones are named.
func Options() []Option {
	return []Option{
		OptionMaxResults, OptionPage, OptionAllowedDomains, OptionBlockedDomains, OptionFreshness, OptionLanguage,
		OptionRegion, OptionSafeSearch, OptionLocation, OptionNews, OptionPassages, OptionPassageTokens,
	}
}

// Hard reports whether results without the option are other results than those
// asked for. The rest the service can do itself with what an engine sends: it
// cuts lists and passages and filters domains.
func (o Option) Hard() bool {
	switch o {
	case OptionMaxResults, OptionAllowedDomains, OptionBlockedDomains, OptionPassageTokens:
		return false
	}
	return true
}

// Dropped are options that a request does not express, in the order of Options.
type Dropped []Option

// Add adds options that are not yet among them.
func (d *Dropped) Add(more ...Option) {
	var all Dropped
	for _, o := range Options() {
		if slices.Contains(*d, o) || slices.Contains(more, o) {
			all = append(all, o)
		}
	}
	*d = all
}
