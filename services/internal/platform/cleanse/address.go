package cleanse

import (
	"strings"
	"unicode/utf8"
)

// Address is Text for an address of the web: what Text would change is
// percent-encoded behind the host, so that it leads where it led. An address in
// which Text finds nothing stays as it is.
func Address(s string) (string, Report) {
	_, r := Text(s)
	if r == (Report{}) && utf8.ValidString(s) {
		return s, r
	}
	const hex = "0123456789ABCDEF"
	at := pathAt(s)
	var b strings.Builder
	b.WriteString(s[:at])
	for ; at < len(s); at++ {
		if c := s[at]; c <= ' ' || c >= 0x7f || strings.IndexByte(`<>[]|\"`, c) >= 0 {
			b.WriteString("%" + hex[c>>4:c>>4+1] + hex[c&15:c&15+1])
			continue
		}
		b.WriteByte(s[at])
	}
	out, _ := Text(b.String()) // the host has no such spelling
	return out, r
}

// pathAt is where the host of an address ends.
func pathAt(s string) int {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return 0
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return len(s)
	}
	return len(s) - len(rest) + end
}
