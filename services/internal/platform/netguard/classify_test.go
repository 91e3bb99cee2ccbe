package netguard

import (
	"bufio"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClassify(t *testing.T) {
	tests := []struct{ name, url, verdict, reason string }{
		// Public addresses, and the edges of what is not.
		{"a public IPv4", "http://9.9.9.9/", VerdictAllow, ReasonPublic},
		{"a public IPv6", "https://[2620:fe::fe]/", VerdictAllow, ReasonPublic},
		{"the lowest class A", "http://1.0.0.0/", VerdictAllow, ReasonPublic},
		{"the end of 0/8", "http://0.255.255.255/", VerdictDeny, ReasonThisNetwork},
		{"below 10/8", "http://9.255.255.255/", VerdictAllow, ReasonPublic},
		{"the end of 10/8", "http://10.255.255.255/", VerdictDeny, ReasonPrivate},
		{"above 10/8", "http://11.0.0.0/", VerdictAllow, ReasonPublic},
		{"the end of shared address space", "http://100.127.255.255/", VerdictDeny, ReasonCGNAT},
		{"above shared address space", "http://100.128.0.0/", VerdictAllow, ReasonPublic},
		{"below loopback", "http://126.255.255.255/", VerdictAllow, ReasonPublic},
		{"the end of loopback", "http://127.255.255.255/", VerdictDeny, ReasonLoopback},
		{"above loopback", "http://128.0.0.0/", VerdictAllow, ReasonPublic},
		{"above 172.16/12", "http://172.32.0.0/", VerdictAllow, ReasonPublic},
		{"192.168/16", "http://192.168.1.1/", VerdictDeny, ReasonPrivate},
		{"above 192.168/16", "http://192.169.0.0/", VerdictAllow, ReasonPublic},
		{"protocol assignments", "http://192.0.0.8/", VerdictDeny, ReasonReserved},
		{"above protocol assignments", "http://192.0.1.0/", VerdictAllow, ReasonPublic},
		{"link-local", "http://169.254.0.1/", VerdictDeny, ReasonLinkLocal},
		{"cloud metadata", "http://169.254.169.254/latest/meta-data/", VerdictDeny, ReasonMetadata},
		{"a neighbour of the Azure wire server", "http://168.63.129.17/", VerdictAllow, ReasonPublic},
		{"below multicast", "http://223.255.255.255/", VerdictAllow, ReasonPublic},
		{"the first multicast address", "http://224.0.0.1/", VerdictDeny, ReasonMulticast},
		{"broadcast", "http://255.255.255.255/", VerdictDeny, ReasonReserved},
		{"unspecified IPv6", "http://[::]/", VerdictDeny, ReasonUnspecified},
		{"the end of 2000::/3", "http://[3ffe::1]/", VerdictAllow, ReasonPublic},
		{"above 3fff::/20", "http://[3fff:1000::1]/", VerdictAllow, ReasonPublic},
		{"above 2000::/3", "http://[4000::1]/", VerdictDeny, ReasonReserved},
		{"above 2001::/23", "http://[2001:200::1]/", VerdictAllow, ReasonPublic},
		{"above the documentation prefix", "http://[2001:db9::1]/", VerdictAllow, ReasonPublic},
		{"the other half of unique local", "http://[fdff::1]/", VerdictDeny, ReasonPrivate},

		// IPv4 inside IPv6.
		{"mapped private", "http://[::ffff:192.168.0.1]/", VerdictDeny, ReasonPrivate},
		{"NAT64 of loopback", "http://[64:ff9b::7f00:1]/", VerdictDeny, ReasonLoopback},
		{"beside the well-known NAT64 prefix", "http://[64:ff9b:0:1::808:808]/", VerdictDeny, ReasonReserved},
		{"6to4 of a public address", "http://[2002:808:808::1]/", VerdictAllow, ReasonPublic},
		{"6to4 of a private address", "http://[2002:a00:1::1]/", VerdictDeny, ReasonPrivate},
		{"ISATAP of a public address", "http://[2606:4700::5efe:8.8.8.8]/", VerdictAllow, ReasonPublic},
		{"ISATAP with the universal bit", "http://[2606:4700::200:5efe:7f00:1]/", VerdictDeny, ReasonLoopback},
		{"ISATAP of a private address below 6to4", "http://[2002:808:808::5efe:10.0.0.1]/", VerdictDeny, ReasonPrivate},

		// Spellings of an address.
		{"hexadecimal", "http://0x7f000001/", VerdictDeny, "numeric_host"},
		{"hexadecimal octets", "http://0x7f.0x0.0x0.0x1/", VerdictDeny, "numeric_host"},
		{"two parts", "http://10.1/", VerdictDeny, "numeric_host"},
		{"three parts of a public address", "http://8.8.8/", VerdictDeny, "numeric_host"},
		{"a leading zero", "http://08.8.8.8/", VerdictDeny, "numeric_host"},
		{"over 32 bits", "http://4294967297/", VerdictDeny, "numeric_host"},
		{"full-width digits", "http://１２７.０.０.１/", VerdictDeny, ReasonLoopback},
		{"ideographic full stops", "http://127。0。0。1/", VerdictDeny, ReasonLoopback},
		{"a trailing ideographic full stop", "http://127.0.0.1。/", VerdictDeny, ReasonLoopback},
		{"a public address with trailing dot", "http://8.8.8.8./", VerdictAllow, ReasonPublic},
		{"escaped digits", "http://%31%32%37.0.0.1/", VerdictDeny, ReasonParse},
		{"IPv4 in brackets", "http://[127.0.0.1]/", VerdictDeny, ReasonParse},
		{"text after brackets", "http://[::1].example.com/", VerdictDeny, ReasonParse},
		{"a zone on a public address", "http://[2620:fe::fe%25lo]/", VerdictDeny, ReasonZone},

		// Names.
		{"a public name", "https://www.example.com/a?b#c", VerdictDNS, ReasonResolve},
		{"a name in upper case", "HTTPS://WWW.EXAMPLE.COM/", VerdictDNS, ReasonResolve},
		{"a name with underscore", "http://my_site.example.com/", VerdictDNS, ReasonResolve},
		{"a name with digits in front", "http://127.0.0.1.example.com/", VerdictDNS, ReasonResolve},
		{"a name that contains a special one", "http://localhost.example.com/", VerdictDNS, ReasonResolve},
		{"a name that ends like a special one", "http://notlocalhost.mylocal.com/", VerdictDNS, ReasonResolve},
		{"a label that ends like a special one", "http://www.thelocal/", VerdictDNS, ReasonResolve},
		{"localhost with trailing dot", "http://localhost./", VerdictDeny, ReasonSpecialName},
		{"localhost in upper case", "http://LOCALHOST/", VerdictDeny, ReasonSpecialName},
		{"localhost in full-width letters", "http://ｌｏｃａｌｈｏｓｔ/", VerdictDeny, ReasonSpecialName},
		{"localhost with a soft hyphen", "http://local\u00adhost/", VerdictDeny, ReasonSpecialName},
		{"a home network", "http://router.home.arpa/", VerdictDeny, ReasonSpecialName},
		{"an onion service", "http://abc.onion/", VerdictDeny, ReasonSpecialName},
		{"a single label", "http://com/", VerdictDeny, ReasonSpecialName},
		{"an empty label", "http://a..example.com/", VerdictDeny, "bad_host"},
		{"a hidden slash", "http://evil.c℀.example.com/", VerdictDeny, "bad_host"},
		{"broken Punycode", "http://xn--zzzzzz.com/", VerdictDeny, "idna"},
		{"a lone dot", "http://./", VerdictDeny, "no_host"},

		// Ports.
		{"port 8080", "http://example.com:8080/", VerdictDNS, ReasonResolve},
		{"port 8443", "https://example.com:8443/", VerdictDNS, ReasonResolve},
		{"the other scheme's port", "http://example.com:443/", VerdictDNS, ReasonResolve},
		{"an empty port", "http://example.com:/", VerdictDNS, ReasonResolve},
		{"zeros before a port", "http://example.com:0080/", VerdictDNS, ReasonResolve},
		{"port 0", "http://example.com:0/", VerdictDeny, ReasonPort},
		{"Redis", "http://8.8.8.8:6379/", VerdictDeny, ReasonPort},
		{"a port over 16 bits that wraps to 80", "http://example.com:65616/", VerdictDeny, ReasonPort},
		{"a port that is no number", "http://example.com:http/", VerdictDeny, ReasonParse},

		// Schemes and shapes.
		{"file", "file:///etc/passwd", VerdictDeny, ReasonScheme},
		{"file with host", "file://example.com/x", VerdictDeny, ReasonScheme},
		{"ftp", "ftp://example.com/", VerdictDeny, ReasonScheme},
		{"web socket", "ws://example.com/", VerdictDeny, ReasonScheme},
		{"dict", "dict://127.0.0.1:11211/stat", VerdictDeny, ReasonScheme},
		{"jar", "jar:http://example.com!/", VerdictDeny, ReasonScheme},
		{"view-source", "view-source:http://example.com/", VerdictDeny, ReasonScheme},
		{"a bare name", "example.com", VerdictDeny, ReasonScheme},
		{"a bare name with port", "localhost:80", VerdictDeny, ReasonScheme},
		{"nothing", "", VerdictDeny, ReasonScheme},
		{"no slashes", "http:example.com", VerdictDeny, "no_host"},
		{"one slash", "http:/example.com", VerdictDeny, "no_host"},
		{"a scheme alone", "http://", VerdictDeny, "no_host"},
		{"a query instead of a host", "http://?x", VerdictDeny, "no_host"},
		{"backslashes for slashes", `http:\\127.0.0.1\`, VerdictDeny, "no_host"},
		{"an empty user", "http://@example.com/", VerdictDeny, ReasonUserinfo},
		{"a space in front", " http://example.com/", VerdictDeny, ReasonParse},
		{"a line feed in the path", "http://example.com/\nx", VerdictDeny, ReasonParse},
		{"a NUL in the host", "http://example.com\x00/", VerdictDeny, ReasonParse},
		{"broken escapes", "http://example.com/%zz", VerdictDeny, ReasonParse},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := Classify(tt.url)
			if d.Verdict != tt.verdict || d.Reason != tt.reason {
				t.Fatalf("Classify(%q) = %s %s, want %s %s", tt.url, d.Verdict, d.Reason, tt.verdict, tt.reason)
			}
			if (d.URL == nil) != (tt.verdict == VerdictDeny) {
				t.Fatalf("Classify(%q) has the URL %v", tt.url, d.URL)
			}
		})
	}
}

func TestClassifyGivesTheURLInNormalForm(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"host", "HTTPS://例え.JP./A?b#c", "https://xn--r8jz45g.jp/A?b#c"},
		{"default port of http", "http://example.com:80/", "http://example.com/"},
		{"default port of https", "https://example.com:0443/", "https://example.com/"},
		{"empty port", "http://example.com:/", "http://example.com/"},
		{"other port", "http://example.com:08080/", "http://example.com:8080/"},
		{"IPv6", "http://[2620:FE:0::FE]:8080/", "http://[2620:fe::fe]:8080/"},
		{"mapped IPv4", "http://[::ffff:8.8.8.8]:80/x", "http://8.8.8.8/x"},
		{"an escaped path stays", "http://example.com/a%2Fb%20c", "http://example.com/a%2Fb%20c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := Classify(tt.in); d.URL == nil || d.URL.String() != tt.want {
				t.Fatalf("Classify(%q).URL = %v, want %s", tt.in, d.URL, tt.want)
			}
		})
	}
}

// TestCorpus reads cases that others collected: url, verdict, reason.
func TestCorpus(t *testing.T) {
	path := sharedFile(t, "fetch/ssrf.tsv")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cases := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(line, "\t")
		cases++
		if d := Classify(cols[0]); d.Verdict != cols[1] {
			t.Errorf("Classify(%q) = %s %s, want %s (%s)", cols[0], d.Verdict, d.Reason, cols[1], cols[2])
		}
	}
	if cases < 79 {
		t.Fatalf("only %d cases read from %s", cases, path)
	}
}

// sharedFile finds a file of the test data that lies beside the repository.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "..", "shared", "data", filepath.FromSlash(name))
		if _, err := os.Stat(path); err == nil {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skipf("no ../shared/data/%s beside the repository", name)
		}
		dir = parent
	}
}

func TestAllowListIsExact(t *testing.T) {
	g := mustNew(t, Config{Allow: []string{"127.0.0.1:8099", "[::1]:8099", "10.0.0.5:80", "8.8.8.8:22"}})
	tests := []struct{ name, url, verdict, reason string }{
		{"the listed pair", "http://127.0.0.1:8099/", VerdictAllow, ReasonAllowListed},
		{"the listed pair, mapped", "http://[::ffff:127.0.0.1]:8099/", VerdictAllow, ReasonAllowListed},
		{"the listed IPv6 pair", "http://[0:0::1]:8099/", VerdictAllow, ReasonAllowListed},
		{"a listed default port", "http://10.0.0.5/", VerdictAllow, ReasonAllowListed},
		{"a listed port of a public address", "http://8.8.8.8:22/", VerdictAllow, ReasonAllowListed},
		{"another port", "http://127.0.0.1:8098/", VerdictDeny, ReasonLoopback},
		{"the default port", "http://127.0.0.1/", VerdictDeny, ReasonLoopback},
		{"another loopback address", "http://127.0.0.2:8099/", VerdictDeny, ReasonLoopback},
		{"another scheme's default port", "https://10.0.0.5/", VerdictDeny, ReasonPrivate},
		{"the unspecified address", "http://0.0.0.0:8099/", VerdictDeny, ReasonUnspecified},
		{"a name for it", "http://localhost:8099/", VerdictDeny, ReasonSpecialName},
		{"the decimal spelling", "http://2130706433:8099/", VerdictDeny, "numeric_host"},
		{"the translated address", "http://[64:ff9b::7f00:1]:8099/", VerdictDeny, ReasonLoopback},
		{"credentials", "http://me@127.0.0.1:8099/", VerdictDeny, ReasonUserinfo},
		{"another scheme", "gopher://127.0.0.1:8099/", VerdictDeny, ReasonScheme},
		{"a public name on a listed port", "http://example.com:8099/", VerdictDeny, ReasonPort},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := g.Classify(tt.url); d.Verdict != tt.verdict || d.Reason != tt.reason {
				t.Fatalf("Classify(%q) = %s %s, want %s %s", tt.url, d.Verdict, d.Reason, tt.verdict, tt.reason)
			}
		})
	}
}

func TestCheckURLSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	g := mustNew(t, Config{})
	tests := []struct{ name, url, reason, target, message string }{
		{
			"a loopback address", "http://127.0.0.1:8099/x?token=hunter2", ReasonLoopback, "127.0.0.1:8099",
			`address "127.0.0.1:8099" refused: it is a loopback address, and only public ones are reached; add 127.0.0.1:8099 to netguard.allow if this address is yours`,
		},
		{
			"a metadata address is not offered for the list", "http://169.254.169.254/", ReasonMetadata, "169.254.169.254:80",
			`address "169.254.169.254:80" refused: it is the address of a cloud metadata service`,
		},
		{
			"a port", "http://example.com:22/", ReasonPort, "example.com:22",
			`address "example.com:22" refused: the port is not one that may be dialled; use one of 80, 443, 8080, 8443, or add the port to netguard.ports`,
		},
		{
			"a scheme", "file:///etc/passwd", ReasonScheme, "file",
			`scheme "file" refused: only http:// and https:// are fetched`,
		},
		{
			"credentials are not repeated", "http://user:hunter2@example.com/", ReasonUserinfo, "example.com",
			`address "example.com" refused: credentials in a URL are not accepted; remove everything up to the @`,
		},
		{
			"unreadable text is not repeated", "http://user:hunter2@exa mple.com/", ReasonParse, "",
			`address refused: it cannot be read as a URL; give an absolute http or https URL`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := g.CheckURL(tt.url)
			var refused *Error
			if u != nil || !errors.As(err, &refused) {
				t.Fatalf("CheckURL = %v, %v; want an *Error", u, err)
			}
			if refused.Reason != tt.reason || refused.Target != tt.target || refused.Error() != tt.message {
				t.Fatalf("got  %s %q: %s\nwant %s %q: %s", refused.Reason, refused.Target, refused, tt.reason, tt.target, tt.message)
			}
		})
	}
}

func TestCheckURLReturnsTheURLToRequest(t *testing.T) {
	u, err := mustNew(t, Config{}).CheckURL("HTTP://Example.COM.:80/a")
	if err != nil || u.String() != "http://example.com/a" {
		t.Fatalf("CheckURL = %v, %v", u, err)
	}
}

func FuzzClassify(f *testing.F) {
	for _, seed := range []string{
		"http://example.com/", "http://127.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://①②⑦.⓪.⓪.①/", "http://[64:ff9b::8.8.8.8]:8080/",
		"http://user@host@1.1.1.1/", `http://a\@1.1.1.1/`, "https://例え.jp:443/%2e", "javascript:alert(1)", "http://0x7f.1/", "//1.1.1.1",
		"http://[2002:808:808::5efe:10.0.0.1]/", "http://[fe80::1%25eth0]/", "http://1.1.1.1:65616/", "http://8.8.8.8.:80",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		d := Classify(raw)
		if d.Verdict == VerdictDeny {
			if d.URL != nil || d.Reason == "" {
				t.Fatalf("Classify(%q) = %+v", raw, d)
			}
			return
		}
		host := d.URL.Hostname()
		addr, err := netip.ParseAddr(host)
		switch d.Verdict {
		case VerdictAllow:
			if err != nil || addr.Zone() != "" || !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is4In6() {
				t.Fatalf("Classify(%q) allows %q", raw, host)
			}
		case VerdictDNS:
			if err == nil || !strings.Contains(host, ".") || strings.ContainsAny(host, ":%/\\@ ") {
				t.Fatalf("Classify(%q) would look up %q", raw, host)
			}
		default:
			t.Fatalf("Classify(%q) = %+v", raw, d)
		}
		if d.URL.User != nil || d.URL.Scheme != "http" && d.URL.Scheme != "https" {
			t.Fatalf("Classify(%q) gives %v", raw, d.URL)
		}
		if !slices.Contains([]string{"", "80", "443", "8080", "8443"}, d.URL.Port()) {
			t.Fatalf("Classify(%q) gives port %q", raw, d.URL.Port())
		}
		// What is requested must be what was judged.
		again := Classify(d.URL.String())
		if again.Verdict != d.Verdict || again.URL.Host != d.URL.Host {
			t.Fatalf("Classify(%q) gives %v, which is %+v", raw, d.URL, again)
		}
		if req, err := http.NewRequest(http.MethodGet, d.URL.String(), nil); err != nil || req.URL.Host != d.URL.Host {
			t.Fatalf("Classify(%q) gives %v, which cannot be requested: %v", raw, d.URL, err)
		}
	})
}
