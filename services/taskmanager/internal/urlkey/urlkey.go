// Package urlkey tells which addresses are the same page, apart from the address
// that is asked for, which stays as it was written.
//
// Two addresses share a key only where RFC 3986 and what is sent over HTTP make
// them equal: the fragment, the scheme's own port, the case of the host, an empty
// path and the case of percent-encodings do not matter. The order of a query, a
// slash at the end, index.html or utm_ parameters do: a server may answer them
// differently, and an address that nobody wrote may be a 404.
package urlkey

import (
	"crypto/sha256"
	"net/url"
	"strconv"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/domains"
)

// Size is the length of a Key in bytes.
const Size = 16

// Key names a page within a task. It is the beginning of a SHA-256, which a
// hostile site cannot make collide.
type Key [Size]byte

// Address is an address that can be fetched.
type Address struct {
	// URL is what was written, without white space around it and fragment.
	URL string
	// Origin is scheme://host:port, with the port always there.
	Origin string
	// Host is host:port.
	Host string
	Key  Key
}

// Error says why a text is no address to fetch, in words for a person.
type Error struct{ Words string }

func (e *Error) Error() string { return "urlkey: " + e.Words }

// Parse reads an absolute http or https address. Its error is an *Error. It does
// not say whether the address may be fetched: that is netguard's.
func Parse(raw string) (Address, error) {
	text, _, _ := strings.Cut(strings.TrimSpace(raw), "#")
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, &Error{"this is not an address: write it as https://host/path"}
	}
	scheme := strings.ToLower(u.Scheme)
	port, ok := map[string]int{"http": 80, "https": 443}[scheme]
	switch {
	case !ok && u.Scheme == "":
		return Address{}, &Error{"the address has no scheme: write https:// in front of it"}
	case !ok:
		return Address{}, &Error{"only http and https addresses can be fetched"}
	case u.User != nil:
		return Address{}, &Error{"the address has a user or password in it: leave them out"}
	}
	host, err := domains.ParseHost(u.Hostname())
	if err != nil {
		return Address{}, &Error{"the address has no host that can be asked"}
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return Address{}, &Error{"the port of the address is none"}
		}
		port = int(n)
	}
	name := host.String()
	if addr, isIP := host.Addr(); isIP && addr.Is6() {
		name = "[" + name + "]"
	}
	a := Address{URL: text, Host: name + ":" + strconv.Itoa(port)}
	a.Origin = scheme + "://" + a.Host
	a.Key = key(a.Origin + canonical(u))
	return a, nil
}

// Raw is the key of a text that is no address, so that it too is named once in a
// task.
func Raw(text string) Key { return key("\x00" + strings.TrimSpace(text)) }

func key(text string) (k Key) {
	sum := sha256.Sum256([]byte(text))
	copy(k[:], sum[:])
	return k
}

// canonical is path and query in the spelling that all equal ones share.
func canonical(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.ForceQuery || u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return upperEscapes(path)
}

// upperEscapes writes the hexadecimal digits of percent-encodings in upper case
// (RFC 3986 section 6.2.2.1).
func upperEscapes(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	b := []byte(s)
	for i := at; i+2 < len(b); i++ {
		if b[i] == '%' && isHex(b[i+1]) && isHex(b[i+2]) {
			b[i+1], b[i+2] = upper(b[i+1]), upper(b[i+2])
			i += 2
		}
	}
	return string(b)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func upper(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 'A'
	}
	return c
}
