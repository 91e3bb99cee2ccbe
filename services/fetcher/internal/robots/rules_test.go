package robots

import (
	"strings"
	"testing"
	"time"
)

const simpleExample = `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`

const longestExample = `User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
`

// The file of each case is read for NanoClaw unless it is one of the RFC's, and
// every path is asked for.
func TestRobotsTxtSaysWhatMayBeAskedFor(t *testing.T) {
	tests := []struct {
		name           string
		product, file  string
		allowed, block []string
	}{
		// RFC 9309 section 5.1 and 5.2.
		{"RFC 5.1: everybody else", "NanoClaw", simpleExample, []string{"/", "/publications/a", "/x.gif?a", "/publications/x.gif"}, []string{"/example/page.html", "/a.gif", "/b/c.gif"}},
		{"RFC 5.1: foobot", "foobot", simpleExample, []string{"/example/page.html", "/example/allowed.gif"}, []string{"/", "/publications/", "/example/"}},
		{"RFC 5.1: barbot", "barbot", simpleExample, []string{"/", "/a.gif", "/example/"}, []string{"/example/page.html"}},
		{"RFC 5.1: bazbot shares barbot's group", "bazbot", simpleExample, []string{"/example/other.html"}, []string{"/example/page.html"}},
		{"RFC 5.1: quxbot's group is empty", "quxbot", simpleExample, []string{"/", "/example/page.html", "/a.gif"}, nil},
		{"RFC 5.2: the longest match decides", "foobot", longestExample, []string{"/example/page/", "/example/page/other.gif", "/"}, []string{"/example/page/disallowed.gif"}},

		// Section 2.2.1: groups.
		{"a group of ours", "", "User-agent: nanoclaw\nDisallow: /a\n\nUser-agent: *\nDisallow: /b", []string{"/b"}, []string{"/a"}},
		{"the name in another case", "", "USER-AGENT: NANOCLAW\nDISALLOW: /a", []string{"/"}, []string{"/a"}},
		{"the name with a version", "", "User-agent: NanoClaw/1.0\nDisallow: /a", []string{"/"}, []string{"/a"}},
		{"the name with words behind", "", "User-agent: NanoClaw crawler\nDisallow: /a", []string{"/"}, []string{"/a"}},
		{"a longer name is somebody else", "", "User-agent: NanoClaw-News\nDisallow: /a", []string{"/a"}, nil},
		{"a shorter name is somebody else", "", "User-agent: Nano\nDisallow: /a", []string{"/a"}, nil},
		{"a name that only contains ours", "", "User-agent: Mozilla (NanoClaw)\nDisallow: /a", []string{"/a"}, nil},
		{"two groups of ours are one", "", "User-agent: nanoclaw\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: NanoClaw\nDisallow: /b", []string{"/x"}, []string{"/a", "/b"}},
		{"two groups of everybody are one", "", "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: *\nDisallow: /b", []string{"/x"}, []string{"/a", "/b"}},
		{"ours after everybody's", "", "User-agent: *\nDisallow: /\nUser-agent: nanoclaw\nAllow: /", []string{"/", "/a"}, nil},
		{"ours before everybody's", "", "User-agent: nanoclaw\nDisallow: /a\nUser-agent: *\nDisallow: /", []string{"/b"}, []string{"/a"}},
		{"ours and everybody in one group", "", "User-agent: *\nUser-agent: nanoclaw\nDisallow: /a", []string{"/b"}, []string{"/a"}},
		{"an empty group of ours", "", "User-agent: *\nDisallow: /\n\nUser-agent: nanoclaw\n", []string{"/a"}, nil},
		{"no group for us", "", "User-agent: other\nDisallow: /", []string{"/"}, nil},
		{"a star with words behind", "", "User-agent: * everybody\nDisallow: /a", nil, []string{"/a"}},
		{"a star in a name is no star", "", "User-agent: *bot\nDisallow: /a", []string{"/a"}, nil},
		{"rules before any group", "", "Disallow: /a\nUser-agent: *\nDisallow: /b", []string{"/a"}, []string{"/b"}},
		{"empty lines do not end a group", "", "User-agent: *\n\n\nDisallow: /a\n\nDisallow: /b", nil, []string{"/a", "/b"}},

		// Section 2.2.2: matching.
		{"an empty file", "", "", []string{"/", "/a"}, nil},
		{"everything", "", "User-agent: *\nDisallow: /", nil, []string{"/", "/a", "/?q=1"}},
		{"an empty disallow", "", "User-agent: *\nDisallow:", []string{"/", "/a"}, nil},
		{"an empty disallow beside a full one", "", "User-agent: *\nDisallow: \nDisallow: /a", []string{"/b"}, []string{"/a"}},
		{"an empty allow does not allow", "", "User-agent: *\nDisallow: /\nAllow:", nil, []string{"/a"}},
		{"a beginning is enough", "", "User-agent: *\nDisallow: /fish", []string{"/Fish.asp", "/catfish", "/?id=fish"}, []string{"/fish", "/fish.html", "/fish/salmon", "/fishheads", "/fish?id=1"}},
		{"a folder", "", "User-agent: *\nDisallow: /fish/", []string{"/fish", "/fish.html"}, []string{"/fish/", "/fish/salmon", "/fish/?id=1"}},
		{"paths know case", "", "User-agent: *\nDisallow: /A", []string{"/a"}, []string{"/A"}},
		{"allow wins a tie", "", "User-agent: *\nDisallow: /page\nAllow: /page", []string{"/page"}, nil},
		{"allow wins a tie from above", "", "User-agent: *\nAllow: /page\nDisallow: /page", []string{"/page"}, nil},
		{"the order does not matter", "", "User-agent: *\nAllow: /\nDisallow: /p", []string{"/q"}, []string{"/p"}},
		{"longer allow", "", "User-agent: *\nAllow: /p\nDisallow: /", []string{"/page"}, []string{"/a"}},
		{"a star counts as an octet", "", "User-agent: *\nAllow: /page\nDisallow: /*.htm", []string{"/page"}, []string{"/page.htm"}},
		{"the end of the top page", "", "User-agent: *\nAllow: /$\nDisallow: /", []string{"/", ""}, []string{"/page.htm"}},
		{"robots.txt is always allowed", "", "User-agent: *\nDisallow: /", []string{"/robots.txt"}, []string{"/robots.txt.bak", "/a/robots.txt"}},
		{"the query is matched", "", "User-agent: *\nDisallow: /*?q=", []string{"/a", "/a?p=1"}, []string{"/a?q=1"}},
		{"a question mark alone", "", "User-agent: *\nDisallow: /a?", []string{"/a", "/ab"}, []string{"/a?", "/a?b"}},
		{"a pattern without a slash", "", "User-agent: *\nDisallow: a\nDisallow: $", []string{"/a", "/"}, nil},

		// Section 2.2.2: octets (the RFC's table first).
		{"RFC table: the same", "", "User-agent: *\nDisallow: /foo/bar?baz=quz", []string{"/foo/bar?baz=q"}, []string{"/foo/bar?baz=quz"}},
		{"RFC table: reserved ones in a query", "", "User-agent: *\nDisallow: /foo/bar?baz=http://foo.bar", nil, []string{"/foo/bar?baz=http%3A%2F%2Ffoo.bar", "/foo/bar?baz=http://foo.bar"}},
		{"RFC table: the same the other way round", "", "User-agent: *\nDisallow: /foo/bar?baz=http%3a%2f%2Ffoo.bar", nil, []string{"/foo/bar?baz=http%3A%2F%2Ffoo.bar", "/foo/bar?baz=http://foo.bar"}},
		{"RFC table: beyond ASCII", "", "User-agent: *\nDisallow: /foo/bar/ツ", nil, []string{"/foo/bar/%E3%83%84", "/foo/bar/ツ", "/foo/bar/%e3%83%84"}},
		{"RFC table: beyond ASCII, encoded", "", "User-agent: *\nDisallow: /foo/bar/%E3%83%84", nil, []string{"/foo/bar/%E3%83%84", "/foo/bar/ツ"}},
		{"RFC table: unreserved ones, encoded", "", "User-agent: *\nDisallow: /foo/bar/%62%61%7A", nil, []string{"/foo/bar/baz", "/foo/bar/%62az"}},
		{"an encoded slash is no slash", "", "User-agent: *\nDisallow: /a%2Fb", []string{"/a/b"}, []string{"/a%2fb"}},
		{"a space", "", "User-agent: *\nDisallow: /a b", []string{"/a"}, []string{"/a%20b"}},
		{"a tilde and its code", "", "User-agent: *\nDisallow: /%7Ejoe/", nil, []string{"/~joe/index.html", "/%7ejoe/"}},
		{"a bare per cent sign", "", "User-agent: *\nDisallow: /100%\nDisallow: /%zz", []string{"/100"}, []string{"/100%25"}},
		{"octets that are no UTF-8", "", "User-agent: *\nDisallow: /\xff", []string{"/a"}, []string{"/%FF"}},
		{"dots around a corner", "", "User-agent: *\nDisallow: /private", []string{"/private/../a", "/.private"}, []string{"/a/../private", "/./private", "/%2e/private", "/a/b/../../private/", "/../private"}},

		// Section 2.2.3: special characters.
		{"a star in the middle", "", "User-agent: *\nDisallow: /a*b", []string{"/a", "/ba"}, []string{"/ab", "/a/x/b", "/axbc"}},
		{"stars at the end mean nothing more", "", "User-agent: *\nDisallow: /fish***", []string{"/Fish"}, []string{"/fish", "/fish/1"}},
		{"a star at the beginning", "", "User-agent: *\nDisallow: *.php", []string{"/a.PHP"}, []string{"/a.php", "/a.php5?x"}},
		{"the end", "", "User-agent: *\nDisallow: /*.php$", []string{"/a.php?b", "/a.php/", "/php"}, []string{"/a.php", "/b/a.php"}},
		{"the end of one of many", "", "User-agent: *\nDisallow: /*a*a$", []string{"/a", "/ab"}, []string{"/aa", "/aab/a"}},
		{"a star before the end", "", "User-agent: *\nDisallow: /a*$", []string{"/b"}, []string{"/a", "/a/b"}},
		{"a dollar that is not at the end", "", "User-agent: *\nDisallow: /a$b", []string{"/a", "/ab"}, []string{"/a$b", "/a%24b"}},
		{"RFC 2.2.3: an encoded star", "", "User-agent: *\nDisallow: /path/file-with-a-%2A.html", []string{"/path/file-with-a-x.html"}, []string{"/path/file-with-a-*.html", "/path/file-with-a-%2a.html"}},
		{"RFC 2.2.3: an encoded dollar", "", "User-agent: *\nDisallow: /path/foo-%24", []string{"/path/foo-"}, []string{"/path/foo-$", "/path/foo-%24bar"}},

		// Lines.
		{"carriage returns", "", "User-agent: *\rDisallow: /a\rDisallow: /b", []string{"/c"}, []string{"/a", "/b"}},
		{"carriage returns and line feeds", "", "User-agent: *\r\nDisallow: /a\r\nDisallow: /b\r\n", []string{"/c"}, []string{"/a", "/b"}},
		{"a byte order mark", "", "\xef\xbb\xbfUser-agent: *\nDisallow: /a", []string{"/b"}, []string{"/a"}},
		{"comments", "", "# all\nUser-agent: * # us\nDisallow: /a # not /b\n#Disallow: /c", []string{"/b", "/c"}, []string{"/a"}},
		{"a comment without a space", "", "User-agent: *\nDisallow: /a#b", nil, []string{"/a", "/ab"}},
		{"white space everywhere", "", "  User-agent\t:\t*  \n\t Disallow  :  /a \t", []string{"/b"}, []string{"/a"}},
		{"junk", "", "hello\n:::\nUser-agent *\nUser-agent: *\nNoindex: /b\n\x00\x01: x\nDisallow /c\nDisallow: /a\n", []string{"/b", "/c"}, []string{"/a"}},
		{"a colon in the path", "", "User-agent: *\nDisallow: /a:b", []string{"/a"}, []string{"/a:b", "/a:bc"}},
		{"RFC 2.2.4: a sitemap does not end a group", "", "User-agent: *\nSitemap: https://example.com/s.xml\nDisallow: /a\nSitemap: x\nDisallow: /b", nil, []string{"/a", "/b"}},
		{"RFC 2.2.4: nor the list of its agents", "", "User-agent: nanoclaw\nSitemap: x\nUser-agent: b\nDisallow: /a", nil, []string{"/a"}},
		{"RFC 2.2.4: nor does a crawl-delay", "", "User-agent: nanoclaw\nCrawl-delay: 1\nUser-agent: b\nDisallow: /a", nil, []string{"/a"}},
		{"a page of HTML", "", "<!doctype html><title>Not here: a page</title>\n<p>Disallow: /</p>\n", []string{"/"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			product := tt.product
			if product == "" {
				product = "NanoClaw"
			}
			rules, _ := Parse([]byte(tt.file), product)
			for _, path := range tt.allowed {
				if !rules.Allows(address(t, path)) {
					t.Errorf("%q is disallowed", path)
				}
			}
			for _, path := range tt.block {
				if rules.Allows(address(t, path)) {
					t.Errorf("%q is allowed", path)
				}
			}
		})
	}
}

func TestCrawlDelayIsThatOfTheGroup(t *testing.T) {
	tests := []struct {
		name, file string
		want       time.Duration
	}{
		{"none", "User-agent: *\nDisallow: /a", 0},
		{"whole seconds", "User-agent: *\nCrawl-delay: 10", 10 * time.Second},
		{"a fraction", "User-agent: *\ncrawl-delay:0.25 # quick", 250 * time.Millisecond},
		{"ours, not everybody's", "User-agent: *\nCrawl-delay: 10\n\nUser-agent: nanoclaw\nCrawl-delay: 2\n", 2 * time.Second},
		{"ours has none", "User-agent: *\nCrawl-delay: 10\n\nUser-agent: nanoclaw\nDisallow: /a\n", 0},
		{"somebody else's", "User-agent: other\nCrawl-delay: 10\nDisallow: /", 0},
		{"the longest of merged groups", "User-agent: *\nCrawl-delay: 3\nDisallow: /a\nUser-agent: *\nCrawl-delay: 2", 3 * time.Second},
		{"for both agents of a group", "User-agent: nanoclaw\nUser-agent: b\nCrawl-delay: 4", 4 * time.Second},
		{"behind the rules", "User-agent: *\nDisallow: /a\nCrawl-delay: 4", 4 * time.Second},
		{"negative", "User-agent: *\nCrawl-delay: -1", 0},
		{"words", "User-agent: *\nCrawl-delay: soon", 0},
		{"an exponent", "User-agent: *\nCrawl-delay: 1e9", 0},
		{"two points", "User-agent: *\nCrawl-delay: 1.2.3", 0},
		{"a unit", "User-agent: *\nCrawl-delay: 5s", 0},
		{"absurd", "User-agent: *\nCrawl-delay: " + strings.Repeat("9", 400), maxDelay},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if rules, _ := Parse([]byte(tt.file), "NanoClaw"); rules.Delay != tt.want {
				t.Errorf("%s, want %s", rules.Delay, tt.want)
			}
		})
	}
}

func TestWhatIsOverTheLimitIsNotReadAndNoLineIsReadInPart(t *testing.T) {
	const head = "User-agent: *\nDisallow: /first\n"
	const last = "Disallow: /last-of-all\n"
	fill := func(total int) string { // a file whose last line ends at total bytes
		return head + "#" + strings.Repeat("x", total-len(head)-len(last)-2) + "\n" + last
	}
	tests := []struct {
		name  string
		file  string
		reads bool
	}{
		{"just within", fill(MaxBytes), true},
		{"the line feed is over", fill(MaxBytes + 1), true},
		{"the line is cut", fill(MaxBytes + 5), false},
		{"the line is cut where it would mean everything", fill(MaxBytes + len("last-of-all\n")), false},
		{"the line is far over", fill(2 * MaxBytes), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rules, found := Parse([]byte(tt.file), "NanoClaw")
			if !found || rules.Allows(address(t, "/first")) {
				t.Error("the first line is not read")
			}
			if rules.Allows(address(t, "/last-of-all")) == tt.reads || !rules.Allows(address(t, "/l")) {
				t.Errorf("rules %v", rules.List)
			}
		})
	}
	if rules, _ := Parse([]byte(strings.Repeat("Disallow: /", MaxBytes)), "NanoClaw"); len(rules.List) != 0 {
		t.Error("one line over the limit is read in part")
	}
}

func TestTheProductOfAUserAgent(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (compatible; NanoClaw/1.0; +https://example.com)": "NanoClaw",
		"Mozilla/5.0 (compatible; Acme-Bot/2)":                         "Acme-Bot",
		"AcmeBot/2.0 (+https://acme.example)":                          "AcmeBot",
		"acme_bot":                                                     "acme_bot",
		"Mozilla/5.0 (X11; Linux) Edge":                                "NanoClaw",
		"1.0":                                                          "NanoClaw",
	} {
		if got := Product(agent); got != want {
			t.Errorf("%s: %s, want %s", agent, got, want)
		}
	}
}
