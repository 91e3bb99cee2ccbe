package robots

import (
	"net/url"
	"strings"
	"time"
)

// Rules are what a robots.txt says to one crawler. The zero value allows
// everything.
type Rules struct {
	// List are the rules of the crawler's groups, in no order that matters.
	List []Rule `json:"l,omitempty"`
	// Delay is the crawl-delay of these groups; 0 without one.
	Delay time.Duration `json:"d,omitempty"`
}

// Rule allows or disallows the addresses that match a pattern.
type Rule struct {
	Allow bool `json:"a,omitempty"`
	// Pattern is in normal form.
	Pattern string `json:"p"`
}

// Allows says whether an absolute address may be asked for: the rule with the
// most octets decides, an allowing one among equals (RFC 9309 section 2.2.2).
func (r Rules) Allows(u *url.URL) bool {
	if len(r.List) == 0 {
		return true
	}
	t := targetOf(u)
	if t.free {
		return true
	}
	longest, allowed := -1, true
	for _, rule := range r.List {
		n := len(rule.Pattern)
		if n < longest || n == longest && (allowed || !rule.Allow) {
			continue // cannot change the answer
		}
		if rule.matches(t) {
			longest, allowed = n, rule.Allow
		}
	}
	return allowed
}

func (r Rule) matches(t target) bool {
	if match(r.Pattern, t.path) {
		return true
	}
	pattern := queryForm(r.Pattern)
	if pattern == "" && t.query == "" {
		return false
	}
	if pattern == "" {
		pattern = r.Pattern
	}
	path := t.query
	if path == "" {
		path = t.path
	}
	return match(pattern, path)
}

// match says whether a path begins as the pattern says, where "*" is any octets
// and "$" at the end is the end. It takes time in proportion to both lengths,
// whatever the pattern.
func match(pattern, path string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	head, rest, star := strings.Cut(pattern, "*")
	path, found := strings.CutPrefix(path, head)
	if !found || !star {
		return found && (!toEnd || path == "")
	}
	for {
		part, more, star := strings.Cut(rest, "*")
		if !star && toEnd {
			return strings.HasSuffix(path, part)
		}
		i := strings.Index(path, part)
		if i < 0 || !star {
			return i >= 0
		}
		path, rest = path[i+len(part):], more
	}
}
