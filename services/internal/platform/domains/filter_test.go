package domains

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const full = "http://" // keeps the table narrow

func TestFilterAllows(t *testing.T) {
	type lists = []string
	tests := []struct {
		name         string
		allow, block lists
		url          string
		want         bool
	}{
		// No list.
		{"no list lets a page through", nil, nil, full + "example.com/", true},
		{"no list lets anything through", nil, nil, "::::", true},
		{"empty lists are no lists", lists{}, lists{}, full + "example.com/", true},

		// A domain stands for itself and its subdomains.
		{"the domain itself", lists{"example.com"}, nil, full + "example.com/", true},
		{"a subdomain", lists{"example.com"}, nil, full + "www.example.com/", true},
		{"a deep subdomain", lists{"example.com"}, nil, full + "a.b.c.example.com/x", true},
		{"another domain", lists{"example.com"}, nil, full + "example.org/", false},
		{"a name that ends alike", lists{"example.com"}, nil, full + "evil-example.com/", false},
		{"a name that ends alike without hyphen", lists{"example.com"}, nil, full + "notexample.com/", false},
		{"a subdomain of a name that ends alike", lists{"example.com"}, nil, full + "www.evil-example.com/", false},
		{"the domain as a subdomain of another", lists{"example.com"}, nil, full + "example.com.evil.net/", false},
		{"the domain with another top level", lists{"example.com"}, nil, full + "example.com.br/", false},
		{"the parent of an allowed subdomain", lists{"docs.example.com"}, nil, full + "example.com/", false},
		{"a sibling of an allowed subdomain", lists{"docs.example.com"}, nil, full + "blog.example.com/", false},
		{"the second of two entries", lists{"example.org", "example.com"}, nil, full + "example.com/", true},
		{"an underscore below the domain", lists{"example.com"}, nil, full + "my_site.example.com/", true},
		{"a name without scheme", lists{"example.com"}, nil, "www.example.com", true},
		{"a name without scheme, with path", lists{"example.com"}, nil, "www.example.com/x?u=http://evil.net/", true},
		{"a name without scheme, with port", lists{"example.com"}, nil, "www.example.com:8080/x", true},
		{"a relative scheme", lists{"example.com"}, nil, "//www.example.com/x", true},
		{"the domain in the query", lists{"example.com"}, nil, full + "evil.net/?example.com", false},
		{"the domain in the fragment", lists{"example.com"}, nil, full + "evil.net/#example.com", false},
		{"the domain in the path", lists{"example.com"}, nil, full + "evil.net/example.com", false},
		{"a redirect target in the query", lists{"example.com"}, nil, full + "evil.net/r?u=http://example.com/", false},
		{"ftp is a matter of the fetcher", lists{"example.com"}, nil, "ftp://example.com/", true},

		// Wildcards.
		{"*. covers a subdomain", lists{"*.example.com"}, nil, full + "a.example.com/", true},
		{"*. covers a deep subdomain", lists{"*.example.com"}, nil, full + "a.b.example.com/", true},
		{"*. leaves the domain itself out", lists{"*.example.com"}, nil, full + "example.com/", false},
		{"*. leaves the domain with a dot out", lists{"*.example.com"}, nil, full + "example.com./", false},
		{"*. leaves a name that ends alike out", lists{"*.example.com"}, nil, full + "evil-example.com/", false},
		{"*. with scheme", lists{"https://*.example.com"}, nil, full + "a.example.com/", true},
		{"*. with scheme leaves itself out", lists{"https://*.example.com"}, nil, full + "example.com/", false},
		{"*. and the domain both listed", lists{"*.example.com", "example.com"}, nil, full + "example.com/", true},
		{"*. with path", lists{"*.example.com/docs"}, nil, full + "a.example.com/docs/x", true},
		{"*. with another path", lists{"*.example.com/docs"}, nil, full + "a.example.com/blog", false},

		// Spellings of the address.
		{"upper case in the address", lists{"example.com"}, nil, "HTTP://WWW.EXAMPLE.COM/", true},
		{"a trailing dot in the address", lists{"example.com"}, nil, full + "example.com./", true},
		{"two trailing dots in the address", lists{"example.com"}, nil, full + "example.com../", false},
		{"a port in the address", lists{"example.com"}, nil, full + "example.com:8443/", true},
		{"an empty port in the address", lists{"example.com"}, nil, full + "example.com:/", true},
		{"a port that is no number", lists{"example.com"}, nil, full + "example.com:80x/", false},
		{"user information in the address", lists{"example.com"}, nil, full + "user:pw@example.com/", true},
		{"the domain as user information", lists{"example.com"}, nil, full + "example.com@evil.net/", false},
		{"the domain as user and password", lists{"example.com"}, nil, full + "example.com:80@evil.net/", false},
		{"the domain as escaped user information", lists{"example.com"}, nil, full + "example.com%2f@evil.net/", false},
		{"two at signs", lists{"example.com"}, nil, full + "example.com@evil.net@evil.org/", false},
		{"a backslash before the at sign", lists{"example.com"}, nil, full + `evil.net\@example.com/`, false},
		{"a backslash in the host", lists{"example.com"}, nil, full + `evil.net\.example.com/`, false},
		{"backslashes for slashes", lists{"example.com"}, nil, `http:\\example.com\`, false},
		{"three slashes", lists{"example.com"}, nil, "http:///example.com/", false},
		{"one slash", lists{"example.com"}, nil, "http:/example.com/", false},
		{"no slash", lists{"example.com"}, nil, "http:example.com/", false},
		{"mailto", lists{"example.com"}, nil, "mailto:me@example.com", false},
		{"javascript", lists{"example.com"}, nil, "javascript:alert(1)//example.com", false},
		{"data", lists{"example.com"}, nil, "data:text/html,example.com", false},
		{"a nested scheme", lists{"example.com"}, nil, "view-source:http://example.com/", false},
		{"an empty address", lists{"example.com"}, nil, "", false},
		{"a scheme alone", lists{"example.com"}, nil, "http://", false},
		{"a path alone", lists{"example.com"}, nil, "/example.com", false},
		{"a space in the host", lists{"example.com"}, nil, full + "evil.net .example.com/", false},
		{"a space before the address", lists{"example.com"}, nil, " http://example.com/", false},
		{"a NUL in the host", lists{"example.com"}, nil, full + "evil.net\x00.example.com/", false},
		{"an escaped NUL in the host", lists{"example.com"}, nil, full + "evil.net%00.example.com/", false},
		{"a tab in the host", lists{"example.com"}, nil, full + "exam\tple.com/", false},
		{"a line feed in the host", lists{"example.com"}, nil, full + "example.com\n.evil.net/", false},
		{"an escaped slash in the host", lists{"example.com"}, nil, full + "evil.net%2f.example.com/", false},
		{"a leading dot in the host", lists{"example.com"}, nil, full + ".example.com/", false},
		{"an empty label in the host", lists{"example.com"}, nil, full + "a..example.com/", false},
		{"a label over 63 bytes", lists{"example.com"}, nil, full + strings.Repeat("a", 64) + ".example.com/", false},
		{"broken UTF-8", lists{"example.com"}, nil, full + "\xff.example.com/", false},

		// Internationalised names.
		{"Unicode entry, Unicode address", lists{"例え.jp"}, nil, full + "例え.jp/", true},
		{"Unicode entry, A-label address", lists{"例え.jp"}, nil, full + "xn--r8jz45g.jp/", true},
		{"A-label entry, Unicode address", lists{"xn--r8jz45g.jp"}, nil, full + "www.例え.jp/", true},
		{"A-label entry, escaped address", lists{"xn--r8jz45g.jp"}, nil, full + "%E4%BE%8B%E3%81%88.jp/", true},
		{"upper-case umlaut", lists{"bücher.de"}, nil, full + "BÜCHER.DE/", true},
		{"decomposed umlaut", lists{"bücher.de"}, nil, full + "bu\u0308cher.de/", true},
		{"ß is not ss", lists{"fass.de"}, nil, full + "faß.de/", false},
		{"a Cyrillic look-alike", lists{"example.com"}, nil, full + "ex\u0430mple.com/", false},
		{"full-width letters are the letters", lists{"example.com"}, nil, full + "ｅｘａｍｐｌｅ．ｃｏｍ/", true},
		{"the ideographic full stop is a dot", lists{"example.com"}, nil, full + "www。example。com/", true},
		{"the ideographic full stop before another name", lists{"example.com"}, nil, full + "example.com。evil.net/", false},
		{"a soft hyphen is nothing", lists{"example.com"}, nil, full + "exam\u00adple.com/", true},
		{"a full-width slash is refused", lists{"example.com"}, nil, full + "evil.net／.example.com/", false},
		{"a full-width at sign is refused", lists{"example.com"}, nil, full + "evil.net＠example.com/", false},
		{"broken Punycode is refused", lists{"example.com"}, nil, full + "xn--zzzzzz.example.com/", false},

		// Spellings of the entry.
		{"an entry in upper case", lists{"EXAMPLE.COM"}, nil, full + "example.com/", true},
		{"an entry with a trailing dot", lists{"example.com."}, nil, full + "example.com/", true},
		{"an entry as a URL", lists{"https://example.com"}, nil, full + "example.com/x", true},
		{"an entry as a URL with slash", lists{"https://example.com/"}, nil, full + "example.com/x", true},
		{"an entry with port", lists{"example.com:8080"}, nil, full + "example.com/", true},
		{"an entry with user information", lists{"https://user:pw@example.com"}, nil, full + "example.com/", true},
		{"an entry with a full-width dot", lists{"example。com"}, nil, full + "example.com/", true},
		{"an entry with a relative scheme", lists{"//example.com"}, nil, full + "example.com/", true},

		// IP addresses.
		{"IPv4 exactly", lists{"192.0.2.1"}, nil, full + "192.0.2.1/", true},
		{"IPv4 with port", lists{"192.0.2.1"}, nil, full + "192.0.2.1:8080/", true},
		{"another IPv4", lists{"192.0.2.1"}, nil, full + "192.0.2.10/", false},
		{"a name below an IPv4", lists{"192.0.2.1"}, nil, full + "a.192.0.2.1/", false},
		{"a name that begins with the IPv4", lists{"192.0.2.1"}, nil, full + "192.0.2.1.nip.io/", false},
		{"IPv4 mapped into IPv6 is that IPv4", lists{"192.0.2.1"}, nil, full + "[::ffff:c000:201]/", true},
		{"a decimal spelling is refused", lists{"192.0.2.1"}, nil, full + "3221225985/", false},
		{"an octal spelling is refused", lists{"192.0.2.1"}, nil, full + "0300.0.2.1/", false},
		{"IPv6 exactly", lists{"[2001:db8::1]"}, nil, full + "[2001:db8::1]/", true},
		{"IPv6 in another spelling", lists{"2001:db8::1"}, nil, full + "[2001:DB8:0:0::0001]:443/", true},
		{"another IPv6", lists{"2001:db8::1"}, nil, full + "[2001:db8::2]/", false},
		{"IPv6 with a zone is refused", lists{"fe80::1"}, nil, full + "[fe80::1%25eth0]/", false},
		{"an IPv6 entry with port", lists{"[2001:db8::1]:8443"}, nil, full + "[2001:db8::1]/", true},
		{"an address does not match a name", lists{"example.com"}, nil, full + "192.0.2.1/", false},

		// Path prefixes.
		{"the path itself", lists{"example.com/docs"}, nil, full + "example.com/docs", true},
		{"the path with slash", lists{"example.com/docs"}, nil, full + "example.com/docs/", true},
		{"below the path", lists{"example.com/docs"}, nil, full + "example.com/docs/a/b?q#f", true},
		{"below the path on a subdomain", lists{"example.com/docs"}, nil, full + "www.example.com/docs/a", true},
		{"a path that begins alike", lists{"example.com/docs"}, nil, full + "example.com/docs-old", false},
		{"another path", lists{"example.com/docs"}, nil, full + "example.com/blog", false},
		{"no path", lists{"example.com/docs"}, nil, full + "example.com", false},
		{"the path in the query", lists{"example.com/docs"}, nil, full + "example.com/?/docs", false},
		{"another case", lists{"example.com/docs"}, nil, full + "example.com/Docs", false},
		{"out by dot segments", lists{"example.com/docs"}, nil, full + "example.com/docs/../secret", false},
		{"out by escaped dot segments", lists{"example.com/docs"}, nil, full + "example.com/docs/%2e%2E/secret", false},
		{"out by escaped slashes", lists{"example.com/docs"}, nil, full + "example.com/docs%2f..%2fsecret", false},
		{"out by backslashes", lists{"example.com/docs"}, nil, full + `example.com/docs\..\secret`, false},
		{"in by dot segments", lists{"example.com/docs"}, nil, full + "example.com/a/../docs/x", true},
		{"an entry path with slash", lists{"example.com/docs/"}, nil, full + "example.com/docs/x", true},
		{"an entry path in escapes", lists{"example.com/caf%C3%A9"}, nil, full + "example.com/café/x", true},
		{"an entry path in Unicode", lists{"example.com/café"}, nil, full + "example.com/caf%c3%a9", true},
		{"two segments", lists{"example.com/a/b"}, nil, full + "example.com/a/b/c", true},
		{"half of two segments", lists{"example.com/a/b"}, nil, full + "example.com/a", false},

		// Public suffixes below an allowed name are nothing special.
		{"a site on a shared host", lists{"someone.github.io"}, nil, full + "someone.github.io/x", true},
		{"another site on a shared host", lists{"someone.github.io"}, nil, full + "other.github.io/x", false},

		// Block lists.
		{"blocked itself", nil, lists{"example.com"}, full + "example.com/", false},
		{"blocked subdomain", nil, lists{"example.com"}, full + "www.example.com/", false},
		{"not blocked", nil, lists{"example.com"}, full + "example.org/", true},
		{"a name that ends like the blocked one", nil, lists{"example.com"}, full + "my-example.com/", true},
		{"*. blocks subdomains", nil, lists{"*.example.com"}, full + "a.example.com/", false},
		{"*. does not block itself", nil, lists{"*.example.com"}, full + "example.com/", true},
		{"a blocked top level", nil, lists{"zip"}, full + "update.zip/", false},
		{"a blocked two-label suffix", nil, lists{"co.uk"}, full + "example.co.uk/", false},
		{"a blocked shared host", nil, lists{"github.io"}, full + "someone.github.io/", false},
		{"a blocked path", nil, lists{"example.com/ads"}, full + "example.com/ads/1", false},
		{"beside a blocked path", nil, lists{"example.com/ads"}, full + "example.com/news", true},
		{"into a blocked path by dot segments", nil, lists{"example.com/ads"}, full + "example.com/x/../ads/1", false},
		{"upper case does not escape", nil, lists{"example.com"}, "HTTPS://EXAMPLE.COM/", false},
		{"a trailing dot does not escape", nil, lists{"example.com"}, full + "example.com./", false},
		{"a port does not escape", nil, lists{"example.com"}, full + "example.com:444/", false},
		{"user information does not escape", nil, lists{"example.com"}, full + "a@example.com/", false},
		{"a full-width dot does not escape", nil, lists{"example.com"}, full + "example。com/", false},
		{"an A-label does not escape", nil, lists{"例え.jp"}, full + "xn--r8jz45g.jp/", false},
		{"a mapped address does not escape", nil, lists{"192.0.2.1"}, full + "[::ffff:192.0.2.1]/", false},
		{"a decimal address does not escape", nil, lists{"192.0.2.1"}, full + "3221225985/", false},
		{"an unreadable address does not escape", nil, lists{"example.com"}, full + "example.com%zz/", false},
		{"a missing slash does not escape", nil, lists{"example.com"}, "https:/example.com/", false},
		{"an empty label does not escape", nil, lists{"example.com"}, full + "a..example.com/", false},
	}
	if len(tests) < 120 {
		t.Fatalf("%d cases", len(tests))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := NewFilter(tt.allow, tt.block)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Allows(tt.url); got != tt.want {
				t.Fatalf("allow %q block %q: Allows(%q) = %v, want %v", tt.allow, tt.block, tt.url, got, tt.want)
			}
		})
	}
}

func TestNewFilterRefuses(t *testing.T) {
	many := slices.Repeat([]string{"example.com"}, MaxEntries+1)
	tests := []struct {
		name         string
		allow, block []string
		field, words string
	}{
		{"both lists", []string{"a.com"}, []string{"b.com"}, "blocked_domains", "cannot be used together"},
		{"an empty entry", []string{""}, nil, "allowed_domains[0]", "is empty"},
		{"an empty blocked entry", nil, []string{"a.com", ""}, "blocked_domains[1]", "is empty"},
		{"too many entries", many, nil, "allowed_domains", "at most 256"},
		{"an over-long entry", nil, []string{"a.com/" + strings.Repeat("x", 2048)}, "blocked_domains[0]", "longer than"},
		{"a star alone", []string{"*"}, nil, "allowed_domains[0]", "only *.example.com"},
		{"a star inside", []string{"a.com", "b.com", "www.*.com"}, nil, "allowed_domains[2]", "only *.example.com"},
		{"a star in a label", []string{"ex*.com"}, nil, "allowed_domains[0]", "only *.example.com"},
		{"two stars", []string{"*.*.com"}, nil, "allowed_domains[0]", "only *.example.com"},
		{"a star in the path", []string{"a.com/*/x"}, nil, "allowed_domains[0]", "only *.example.com"},
		{"a star before an address", []string{"*.192.0.2.1"}, nil, "allowed_domains[0]", "no subdomains"},
		{"a query", []string{"a.com?x=1"}, nil, "allowed_domains[0]", "query"},
		{"a fragment", []string{"a.com#x"}, nil, "allowed_domains[0]", "query or a fragment"},
		{"com", []string{"com"}, nil, "allowed_domains[0]", "public suffix"},
		{"com with dots around", []string{"com."}, nil, "allowed_domains[0]", "public suffix"},
		{"*.com", []string{"*.com"}, nil, "allowed_domains[0]", "public suffix"},
		{"co.uk", []string{"a.com", "CO.UK"}, nil, "allowed_domains[1]", "public suffix"},
		{"github.io", []string{"github.io/x"}, nil, "allowed_domains[0]", "public suffix"},
		{"an unknown top level", []string{"intranet"}, nil, "allowed_domains[0]", "public suffix"},
		{"a Unicode suffix", []string{"公司.cn"}, nil, "allowed_domains[0]", "public suffix"},
		{"a space", []string{"exa mple.com"}, nil, "allowed_domains[0]", "cannot be read"},
		{"spaces around", []string{" example.com"}, nil, "allowed_domains[0]", "cannot be read"},
		{"a NUL", []string{"example.com\x00"}, nil, "allowed_domains[0]", "cannot be read"},
		{"an empty label", []string{"a..com"}, nil, "allowed_domains[0]", "empty or over-long label"},
		{"a leading dot", []string{".example.com"}, nil, "allowed_domains[0]", "empty or over-long label"},
		{"a lone dot", []string{"."}, nil, "allowed_domains[0]", "is empty"},
		{"broken Punycode", nil, []string{"xn--zzzzzz.com"}, "blocked_domains[0]", "internationalised"},
		{"a short address", nil, []string{"127.1"}, "blocked_domains[0]", "looks like a number"},
		{"a zone id", nil, []string{"fe80::1%eth0"}, "blocked_domains[0]", "zone id"},
		{"a range", nil, []string{"10.0.0.0/8", "10.0.0.0:x"}, "blocked_domains[1]", "cannot be read"},
		{"a mail address", []string{"mailto:me@example.com"}, nil, "allowed_domains[0]", "scheme without //"},
		{"a URL with one slash", []string{"https:/example.com"}, nil, "allowed_domains[0]", "scheme without //"},
		{"a scheme alone", []string{"https://"}, nil, "allowed_domains[0]", "is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := NewFilter(tt.allow, tt.block)
			var bad *Error
			if !errors.As(err, &bad) {
				t.Fatalf("error %v (filter %v), want *Error", err, f)
			}
			if bad.Field != tt.field || !strings.Contains(bad.Reason, tt.words) {
				t.Fatalf("got %q %q, want field %q and a reason with %q", bad.Field, bad.Reason, tt.field, tt.words)
			}
			if !strings.HasPrefix(bad.Error(), tt.field+": ") {
				t.Fatalf("message %q does not begin with its field", bad.Error())
			}
		})
	}
}

func TestErrorNamesFieldValueAndFix(t *testing.T) {
	_, err := NewFilter([]string{"example.com", "co.uk"}, nil)
	const want = `allowed_domains[1]: "co.uk" is a public suffix, below which anybody registers names; name the domains you mean`
	if err == nil || err.Error() != want {
		t.Fatalf("got  %v\nwant %s", err, want)
	}
}

func TestErrorDoesNotRepeatALongValueWhole(t *testing.T) {
	_, err := NewFilter([]string{strings.Repeat("x", 5000)}, nil)
	if err == nil || len(err.Error()) > 200 {
		t.Fatalf("message of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestNilFilterLetsEverythingThrough(t *testing.T) {
	var f *Filter
	if !f.Allows("http://example.com/") || !f.Empty() || f.Allowed() != nil || f.Blocked() != nil || f.ServerHint() != nil {
		t.Fatal("a nil filter is not empty")
	}
}

func TestListsAreReadBackInNormalForm(t *testing.T) {
	entries := []string{"HTTPS://User@Example.COM:8443/Docs/", "*.例え.jp", "[2001:DB8::1]", "example.org."}
	want := []string{"example.com/Docs", "*.xn--r8jz45g.jp", "2001:db8::1", "example.org"}
	allow, err := NewFilter(entries, nil)
	if err != nil || !slices.Equal(allow.Allowed(), want) || len(allow.Blocked()) != 0 {
		t.Fatalf("Allowed() = %q, Blocked() = %q, %v", allow.Allowed(), allow.Blocked(), err)
	}
	block, err := NewFilter(nil, entries)
	if err != nil || !slices.Equal(block.Blocked(), want) || len(block.Allowed()) != 0 {
		t.Fatalf("Blocked() = %q, Allowed() = %q, %v", block.Blocked(), block.Allowed(), err)
	}
}

func TestServerHint(t *testing.T) {
	tests := []struct {
		name         string
		allow, block []string
		want         []string
	}{
		{"is nothing without lists", nil, nil, nil},
		{"is nothing for a block list", nil, []string{"example.com"}, nil},
		{"names hosts without wildcard and path", []string{"*.example.com", "example.org/docs"}, nil, []string{"example.com", "example.org"}},
		{"names each host once", []string{"*.a.com", "a.com", "a.com/x", "A.COM"}, nil, []string{"a.com"}},
		{"takes five", []string{"a.com", "b.com", "c.com", "d.com", "e.com"}, nil, []string{"a.com", "b.com", "c.com", "d.com", "e.com"}},
		{"is nothing for six", []string{"a.com", "b.com", "c.com", "d.com", "e.com", "f.com"}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := NewFilter(tt.allow, tt.block)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.ServerHint(); !slices.Equal(got, tt.want) {
				t.Fatalf("ServerHint() = %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzFilter looks for a way past an allow list, with an oracle that knows
// nothing of patterns: the host that net/url and IDNA see must be the allowed
// one or end in a dot and the allowed one.
func FuzzFilter(f *testing.F) {
	for _, u := range []string{
		"http://example.com/", "http://evil-example.com", "http://example.com@evil.net/", `http://evil.net\@example.com`,
		"http://www。example。com", "//example.com", "example.com:80/x", "mailto:a@example.com", "http://[::1]/", "HTTP://EXAMPLE.COM.:80/",
		"http://example.com%00.evil.net/", "https:/example.com",
	} {
		f.Add("example.com", u)
	}
	f.Add("*.例え.jp", "http://www.xn--r8jz45g.jp/")
	f.Add("example.com/docs", "http://example.com/docs/../x")
	f.Add("192.0.2.1", "http://[::ffff:192.0.2.1]/")
	f.Fuzz(func(t *testing.T, entry, rawURL string) {
		allow, err := NewFilter([]string{entry}, nil)
		if err != nil {
			return
		}
		block, err := NewFilter(nil, []string{entry})
		if err != nil {
			t.Fatalf("%q may be allowed but not blocked: %v", entry, err)
		}
		passes := allow.Allows(rawURL)
		if passes && block.Allows(rawURL) {
			t.Fatalf("%q is on the list %q when allowed and off it when blocked", rawURL, entry)
		}
		normal, err := NewFilter(allow.Allowed(), nil)
		if err == nil && normal.Allows(rawURL) != passes {
			t.Fatalf("%q and its normal form %q disagree on %q", entry, allow.Allowed(), rawURL)
		}
		if !passes {
			return
		}
		u, err := url.Parse(rawURL)
		if err != nil || u.Host == "" {
			if u, err = url.Parse("//" + rawURL); err != nil {
				t.Fatalf("%q passes and cannot be parsed: %v", rawURL, err)
			}
		}
		host, err := ParseHost(u.Hostname())
		if err != nil {
			t.Fatalf("%q passes with the host %q: %v", rawURL, u.Hostname(), err)
		}
		want := allow.ServerHint()[0]
		if got := host.String(); got != want && !strings.HasSuffix(got, "."+want) {
			t.Fatalf("%q passes the list %q with the host %q", rawURL, entry, got)
		}
	})
}
