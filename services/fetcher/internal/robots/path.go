package robots

import (
	"net/url"
	"strings"
)

// target is an address in the form in which it is matched.
type target struct {
	path string
	// query is path with ":" and "/" of the query as they are, where that is
	// another form; see queryForm.
	query string
	free  bool // /robots.txt itself, which is always allowed
}

// targetOf takes the path and query of an address, which is absolute.
func targetOf(u *url.URL) target {
	path := removeDots(normal(u.EscapedPath(), false))
	if path == "" {
		path = "/"
	}
	t := target{free: path == "/robots.txt" && u.RawQuery == ""}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + normal(u.RawQuery, false)
	}
	t.path, t.query = path, queryForm(path)
	return t
}

// normal makes octets comparable (RFC 9309 section 2.2.2): what may stand for
// itself does, everything else is percent-encoded in upper case, reserved
// characters stay as they were written. In a pattern "*" and a last "$" have
// their meaning, and elsewhere are encoded (section 2.2.3).
func normal(s string, pattern bool) string {
	for i := range len(s) {
		if !plain(s[i]) {
			return normalFrom(s, i, pattern)
		}
	}
	return s
}

func normalFrom(s string, from int, pattern bool) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	b.WriteString(s[:from])
	for i := from; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if unreserved(c) {
				b.WriteByte(c)
			} else {
				encode(&b, c)
			}
		case plain(c), pattern && (c == '*' || c == '$' && i == len(s)-1):
			b.WriteByte(c)
		default:
			encode(&b, c)
		}
	}
	return b.String()
}

func encode(b *strings.Builder, c byte) {
	const digits = "0123456789ABCDEF"
	b.WriteByte('%')
	b.WriteByte(digits[c>>4])
	b.WriteByte(digits[c&15])
}

// queryForm is a normal form with ":" and "/" of the query unencoded: the
// second example of RFC 9309 section 2.2.2 takes both spellings for one. Empty
// when the form is the same.
func queryForm(s string) string {
	path, query, found := strings.Cut(s, "?")
	if !found || !strings.Contains(query, "%3A") && !strings.Contains(query, "%2F") {
		return ""
	}
	return path + "?" + strings.NewReplacer("%3A", ":", "%2F", "/").Replace(query)
}

// removeDots resolves the segments "." and "..", as a server does (RFC 3986
// section 5.2.4): nothing that is disallowed is reached around a corner.
func removeDots(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	var out []string
	segments := strings.Split(path, "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch {
		case s != "." && s != "..":
			out = append(out, s)
			continue
		case s == ".." && len(out) > 1:
			out = out[:len(out)-1]
		}
		if last {
			out = append(out, "")
		}
	}
	return strings.Join(out, "/")
}

// plain are characters that stand for themselves on both sides: unreserved and
// reserved ones (RFC 3986 section 2) but for those with a meaning in patterns.
func plain(c byte) bool {
	return unreserved(c) || strings.IndexByte(":/?#[]@!&'()+,;=", c) >= 0
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	}
	return c - 'a' + 10
}
