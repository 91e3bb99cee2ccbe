package domains

import (
	"fmt"
	"slices"
	"strconv"
)

const (
	// MaxEntries bounds each of the two lists.
	MaxEntries = 256
	// MaxHints is how many hosts a search engine takes as a group of site:
	// operators before it starts to ignore them.
	MaxHints = 5

	allowedField = "allowed_domains"
	blockedField = "blocked_domains"
)

// Error is a refused domain list. Field is the field or element at fault
// ("allowed_domains[2]"), Value what stood there, Reason a sentence that goes on
// from the value and says what to do.
type Error struct {
	Field  string
	Value  string
	Reason string
}

func (e *Error) Error() string {
	if e.Value == "" {
		return e.Field + ": " + e.Reason
	}
	return e.Field + ": " + strconv.Quote(clip(e.Value)) + " " + e.Reason
}

// Filter decides which addresses a caller wants to see. A nil or empty Filter
// lets everything through. It is immutable and safe for concurrent use.
type Filter struct {
	allowed []pattern
	blocked []pattern
}

// NewFilter reads the two lists, of which at most one may have entries.
//
// "example.com" stands for itself and its subdomains, "*.example.com" for the
// subdomains alone, "example.com/docs" for that path and below; an IP address
// stands for exactly itself. A public suffix such as com or github.io may be
// blocked but not allowed, since allowing it would allow strangers. Errors are
// of type *Error.
func NewFilter(allowed, blocked []string) (*Filter, error) {
	if len(allowed) > 0 && len(blocked) > 0 {
		return nil, &Error{
			Field:  blockedField,
			Reason: "cannot be used together with allowed_domains; send one of the two",
		}
	}
	allow, err := parseList(allowedField, allowed)
	if err != nil {
		return nil, err
	}
	for i, p := range allow {
		if p.host.name != "" && isPublicSuffix(p.host.name) {
			return nil, &Error{
				Field:  element(allowedField, i),
				Value:  allowed[i],
				Reason: "is a public suffix, below which anybody registers names; name the domains you mean",
			}
		}
	}
	block, err := parseList(blockedField, blocked)
	if err != nil {
		return nil, err
	}
	return &Filter{allowed: allow, blocked: block}, nil
}

func parseList(field string, entries []string) ([]pattern, error) {
	if len(entries) > MaxEntries {
		return nil, &Error{
			Field:  field,
			Reason: fmt.Sprintf("has %d entries; at most %d are accepted", len(entries), MaxEntries),
		}
	}
	list := make([]pattern, 0, len(entries))
	for i, entry := range entries {
		p, err := parsePattern(entry)
		if err != nil {
			return nil, &Error{Field: element(field, i), Value: entry, Reason: err.Error()}
		}
		list = append(list, p)
	}
	return list, nil
}

func element(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// Empty reports whether the filter lets everything through.
func (f *Filter) Empty() bool {
	return f == nil || len(f.allowed) == 0 && len(f.blocked) == 0
}

// Allows reports whether an address passes. Give it the final address, after
// any search engine's redirect has been unwrapped. An address that cannot be
// read passes only an empty filter.
func (f *Filter) Allows(rawURL string) bool {
	if f.Empty() {
		return true
	}
	at, err := locate(rawURL)
	if err != nil {
		return false
	}
	covers := func(p pattern) bool { return p.matches(at) }
	if len(f.allowed) > 0 {
		return slices.ContainsFunc(f.allowed, covers)
	}
	return !slices.ContainsFunc(f.blocked, covers)
}

// Allowed returns the allow list in normal form and in the caller's order.
func (f *Filter) Allowed() []string {
	if f == nil {
		return nil
	}
	return texts(f.allowed)
}

// Blocked returns the block list in normal form and in the caller's order.
func (f *Filter) Blocked() []string {
	if f == nil {
		return nil
	}
	return texts(f.blocked)
}

func texts(list []pattern) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// ServerHint returns the distinct allowed hosts, without wildcard and path, for
// a search engine's site: operators. It is nil when there are none or more than
// MaxHints. The hint only saves results that would be thrown away: Allows still
// decides.
func (f *Filter) ServerHint() []string {
	if f.Empty() {
		return nil
	}
	var hosts []string
	for _, p := range f.allowed {
		if h := p.host.String(); !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) > MaxHints {
		return nil
	}
	return hosts
}
