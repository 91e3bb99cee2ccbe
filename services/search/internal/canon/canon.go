// Package canon says when two addresses are the same page.
package canon

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

// tracking are parameters that only say where a reader came from. ref, source
// and id are not among them: pages use them for content.
var tracking = map[string]bool{
	"fbclid": true, "gclid": true, "gbraid": true, "wbraid": true, "dclid": true, "msclkid": true,
	"twclid": true, "ttclid": true, "igshid": true, "yclid": true, "mc_cid": true, "mc_eid": true,
	"_hsenc": true, "_hsmi": true,
}

// Key gives equal strings for addresses of the same page. It serves comparison
// alone: the address that is shown, filtered and fetched stays as it came. An
// address that cannot be read is its own key.
func Key(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	key := hostKey(u) + pathKey(escapedAlike(u.EscapedPath()))
	if q := queryKey(escapedAlike(u.RawQuery)); q != "" {
		key += "?" + q
	}
	// Fragments of the two forms that script applications use as paths.
	if f := escapedAlike(u.EscapedFragment()); strings.HasPrefix(f, "!") || strings.HasPrefix(f, "/") {
		key += "#" + f
	}
	return key
}

// escapedAlike gives a part of an address in which equal characters are written
// alike (RFC 3986 section 6.2.2): what needs no escape has none, all others have
// one, in capitals. An escaped delimiter stays apart from a plain one.
func escapedAlike(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, escaped := s[i], false
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, escaped = byte(n), true
				i += 2
			}
		}
		unreserved := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
		if unreserved || !escaped && c != '%' && c > ' ' && c < 0x7f {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

func hostKey(u *url.URL) string {
	host := u.Hostname()
	if h, err := domains.ParseHost(host); err == nil {
		host = h.String()
	}
	for _, p := range []string{"www.", "m."} {
		if rest, ok := strings.CutPrefix(host, p); ok && strings.Contains(rest, ".") {
			host = rest
			break
		}
	}
	if p := u.Port(); p != "" && p != "80" && p != "443" {
		host += ":" + p
	}
	return host
}

func pathKey(escaped string) string {
	p := path.Clean("/" + escaped)
	if p == "/" {
		return ""
	}
	return p
}

// queryKey sorts the parameters and leaves out those that track.
func queryKey(raw string) string {
	var kept []string
	for p := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(p, "=")
		name = strings.ToLower(name)
		if p == "" || strings.HasPrefix(name, "utm_") || tracking[name] {
			continue
		}
		kept = append(kept, p)
	}
	slices.Sort(kept)
	return strings.Join(kept, "&")
}
