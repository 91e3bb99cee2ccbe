package markdown

import (
	"net/url"
	"strings"
)

const (
	// MaxAddress is the longest address that is written, in bytes.
	MaxAddress = 4 << 10
	// MaxAddresses is how long all addresses of a text may be, in bytes: a
	// short relative address stands for a base of any length.
	MaxAddresses = 8 << 20
)

// address is what an address of the page is as the destination of a link:
// absolute, http, https or mailto, and without any character that would end it
// early. It is "" for every other.
func (w *writer) address(ref string) string {
	if ref = Unquoted(ref); ref == "" {
		return ""
	}
	to := destination(w.absolute(ref))
	if to == "" {
		return ""
	}
	if len(to) > MaxAddress || w.addresses+len(to) > MaxAddresses {
		w.report.Addresses++
		return ""
	}
	w.addresses += len(to)
	return to
}

// Unquoted is an address of a page without what no address has: the white space,
// quotes and angle brackets that people leave around it (crawl4ai#570, spider#172),
// and breaks within it, which browsers leave out, too (URL standard, "remove all
// ASCII tab or newline").
func Unquoted(ref string) string {
	ref = strings.TrimSpace(ref)
	if strings.ContainsAny(ref, "\t\n\r") {
		ref = strings.Map(dropBreaks, ref)
	}
	for len(ref) >= 2 {
		a, b := ref[0], ref[len(ref)-1]
		if !(a == '<' && b == '>' || a == '"' && b == '"' || a == '\'' && b == '\'') {
			break
		}
		ref = strings.TrimSpace(ref[1 : len(ref)-1])
	}
	return ref
}

// absolute resolves an address; "" when it leads nowhere that can be fetched or
// written to.
func (w *writer) absolute(ref string) string {
	if isClean(ref) {
		switch {
		case strings.HasPrefix(ref, "https://") && len(ref) > len("https://"),
			strings.HasPrefix(ref, "http://") && len(ref) > len("http://"):
			return ref
		case w.o.Base != nil && len(ref) > 1 && ref[0] == '/' && ref[1] != '/' && w.o.Base.User == nil && w.o.Base.Host != "" && isWeb(w.o.Base.Scheme):
			return w.o.Base.Scheme + "://" + w.o.Base.Host + ref
		}
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	if w.o.Base != nil && u.Scheme != "mailto" {
		u = w.o.Base.ResolveReference(u)
	}
	if u.Scheme == "mailto" && u.Opaque != "" || isWeb(u.Scheme) && u.Host != "" {
		return u.String()
	}
	return ""
}

func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }

func dropBreaks(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' {
		return -1
	}
	return r
}

// isClean says whether an address is taken as it is: ASCII that needs no escape,
// and no dots to resolve.
func isClean(ref string) bool {
	for i := range len(ref) {
		switch c := ref[i]; {
		case c <= ' ' || c >= 0x7f:
			return false
		case c == '\\' || c == '^' || c == '`' || c == '{' || c == '}' || c == '|' || c == '"' || c == '<' || c == '>' || c == '(' || c == ')' || c == '[' || c == ']' || c == '%':
			return false
		case c == '/' && i+1 < len(ref) && ref[i+1] == '.':
			return false
		}
	}
	return true
}

// destination escapes what would end the destination of a link.
func destination(to string) string {
	if !strings.ContainsAny(to, "()<>\\|`\" ") {
		return to
	}
	depth, balanced := 0, true
	for i := range len(to) {
		switch to[i] {
		case '(':
			depth++
		case ')':
			depth--
			balanced = balanced && depth >= 0
		}
	}
	balanced = balanced && depth == 0
	var b strings.Builder
	for i := range len(to) {
		switch c := to[i]; {
		case (c == '(' || c == ')') && balanced:
			b.WriteByte(c)
		case strings.IndexByte("()<>\\|`\" ", c) >= 0:
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
