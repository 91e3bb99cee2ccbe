package domains

import (
	"errors"
	"strings"
	"testing"
)

func TestParseHostGivesOneNormalForm(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"lower-cases", "EXAMPLE.Com", "example.com"},
		{"takes one trailing dot off", "example.com.", "example.com"},
		{"maps Unicode to an A-label", "例え.jp", "xn--r8jz45g.jp"},
		{"keeps an A-label", "xn--r8jz45g.jp", "xn--r8jz45g.jp"},
		{"lower-cases an A-label", "XN--R8JZ45G.JP", "xn--r8jz45g.jp"},
		{"maps without the IDNA2003 transition", "faß.de", "xn--fa-hia.de"},
		{"maps full-width letters", "ｅｘａｍｐｌｅ.com", "example.com"},
		{"maps the ideographic full stop", "example。com", "example.com"},
		{"maps the full-width full stop", "example．com", "example.com"},
		{"maps the half-width full stop", "example｡com", "example.com"},
		{"drops a soft hyphen", "exam\u00adple.com", "example.com"},
		{"composes a decomposed letter", "bu\u0308cher.de", "xn--bcher-kva.de"},
		{"accepts an underscore", "_dmarc.my_site.example.com", "_dmarc.my_site.example.com"},
		{"accepts hyphens in places 3 and 4", "r3---sn-x.googlevideo.com", "r3---sn-x.googlevideo.com"},
		{"accepts a symbol that UTS 46 knows", "i❤.ws", "xn--i-7iq.ws"},
		{"reads a dotted quad", "192.0.2.1", "192.0.2.1"},
		{"reads a dotted quad with a trailing dot", "192.0.2.1.", "192.0.2.1"},
		{"finds the address under enclosed digits", "①②⑦.⓪.⓪.①", "127.0.0.1"},
		{"finds the address under full-width digits and dots", "１２７。０。０。１", "127.0.0.1"},
		{"compresses IPv6", "2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"unwraps IPv4-mapped IPv6", "::ffff:192.0.2.1", "192.0.2.1"},
		{"keeps digits that are not the last label", "1.2.3.4.example.com", "1.2.3.4.example.com"},
		{"keeps a last label that only begins with digits", "127.0.0.1a", "127.0.0.1a"},
		{"accepts a label of 63 bytes", strings.Repeat("a", 63) + ".com", strings.Repeat("a", 63) + ".com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := ParseHost(tt.in)
			if err != nil || h.String() != tt.want {
				t.Fatalf("ParseHost(%q) = %q, %v; want %q", tt.in, h, err, tt.want)
			}
		})
	}
}

func TestParseHostRefuses(t *testing.T) {
	tests := []struct{ name, in, reason string }{
		{"nothing", "", HostEmpty},
		{"a lone dot", ".", HostEmpty},
		{"two trailing dots", "example.com..", HostMalformed},
		{"an empty label", "a..com", HostMalformed},
		{"a leading dot", ".example.com", HostMalformed},
		{"an empty label made by a full-width dot", "a.。com", HostMalformed},
		{"a space", "exa mple.com", HostMalformed},
		{"a NUL", "example.com\x00.evil.net", HostMalformed},
		{"a line feed", "example.com\n", HostMalformed},
		{"a slash", "a/b.com", HostMalformed},
		{"a slash hidden in U+2100", "evil.c℀.example.com", HostMalformed},
		{"a full-width at sign", "user＠example.com", HostMalformed},
		{"a full-width percent sign", "example％2ecom", HostMalformed},
		{"a colon after mapping", "example.com：80", HostMalformed},
		{"a star", "*.example.com", HostMalformed},
		{"broken UTF-8", "ex\xffample.com", HostMalformed},
		{"a label of 64 bytes", strings.Repeat("a", 64) + ".com", HostMalformed},
		{"a name of 254 bytes", strings.Repeat("a.", 126) + "aa", HostMalformed},
		{"text with a colon", "example.com:80", HostMalformed},
		{"brackets", "[::1]", HostMalformed},
		{"broken Punycode", "xn--zzzzzz.com", HostIDNA},
		{"Punycode of plain ASCII", "xn--localhost-.com", HostIDNA},
		{"a zero-width joiner without context", "a\u200db.com", HostIDNA},
		{"mixed directions in a label", "aא.com", HostIDNA},
		{"a short address", "127.1", HostNumeric},
		{"a decimal address", "2130706433", HostNumeric},
		{"a hexadecimal address", "0x7f000001", HostNumeric},
		{"an octal octet", "0177.0.0.1", HostNumeric},
		{"a hexadecimal octet", "127.0.0.0x1", HostNumeric},
		{"a bare 0x", "127.0.0.0x", HostNumeric},
		{"an upper-case hexadecimal octet", "127.0.0.0X1", HostNumeric},
		{"an octet over 255", "127.0.0.256", HostNumeric},
		{"five octets", "1.2.3.4.5", HostNumeric},
		{"a name with a numeric end", "example.123", HostNumeric},
		{"a zone id", "fe80::1%eth0", HostZone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := ParseHost(tt.in)
			var bad *HostError
			if !errors.As(err, &bad) || bad.Reason != tt.reason {
				t.Fatalf("ParseHost(%q) = %q, %v; want a HostError with reason %s", tt.in, h, err, tt.reason)
			}
			if h != (Host{}) {
				t.Fatalf("ParseHost(%q) returned %q beside its error", tt.in, h)
			}
		})
	}
}

func TestRegistrable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"takes subdomains off", "a.b.example.com", "example.com"},
		{"keeps the domain itself", "example.com", "example.com"},
		{"knows two-label suffixes", "www.example.co.uk", "example.co.uk"},
		{"knows private suffixes", "docs.someone.github.io", "someone.github.io"},
		{"knows wildcard suffixes", "a.b.c.ck", "b.c.ck"},
		{"knows exceptions of wildcard suffixes", "a.www.ck", "www.ck"},
		{"normalises", "WWW.例え.JP.", "xn--r8jz45g.jp"},
		{"returns a public suffix as it is", "co.uk", "co.uk"},
		{"returns a single label as it is", "intranet", "intranet"},
		{"returns an IPv4 address as it is", "192.0.2.1", "192.0.2.1"},
		{"returns an IPv6 address as it is", "2001:db8:0::1", "2001:db8::1"},
		{"gives nothing for a bad host", "a..com", ""},
		{"gives nothing for a number", "127.1", ""},
		{"gives nothing for nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Registrable(tt.in); got != tt.want {
				t.Fatalf("Registrable(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{"example.com.", "例え.jp", "①②⑦.1", "::ffff:1.2.3.4", "xn--a", "a\x00b", "0x", "ﬀ.com", "1.2.3.4."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		h, err := ParseHost(raw)
		if err != nil {
			if h != (Host{}) {
				t.Fatalf("ParseHost(%q) returned %q beside %v", raw, h, err)
			}
			return
		}
		again, err := ParseHost(h.String())
		if err != nil || again != h {
			t.Fatalf("ParseHost(%q) = %q, which reads as %q, %v", raw, h, again, err)
		}
		if strings.Trim(h.String(), "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" {
			t.Fatalf("ParseHost(%q) = %q: characters left", raw, h)
		}
	})
}
