package robots

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// FuzzParse reads any file and asks about any path: nothing panics, the verdict
// is that of a plain reading of the patterns, and a normal form is its own.
func FuzzParse(f *testing.F) {
	for _, file := range []string{simpleExample, longestExample, "User-agent: *\nDisallow: /a*b$\nAllow: /*%2A?x=%3a", "\xef\xbb\xbfuser-agent:*\rdisallow:/%"} {
		for _, path := range []string{"/", "/example/page.html", "/a/%2e%2e/b?x=http%3A//y", "/%ff*$"} {
			f.Add([]byte(file), path)
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, path string) {
		u, err := url.Parse("http://example.com/" + path)
		if err != nil {
			t.Skip()
		}
		rules, _ := Parse(file, "foobot")
		want, longest := true, -1
		to := targetOf(u)
		for _, r := range rules.List {
			if again := normal(r.Pattern, true); again != r.Pattern {
				t.Fatalf("%q becomes %q", r.Pattern, again)
			}
			if len(r.Pattern) >= longest && matchesPlainly(r, to) {
				want = r.Allow || len(r.Pattern) == longest && want
				longest = len(r.Pattern)
			}
		}
		if got := rules.Allows(u); got != (want || to.free) {
			t.Fatalf("%q: %v, want %v; rules %v", u, got, want, rules.List)
		}
	})
}

// matchesPlainly is matching by regular expressions.
func matchesPlainly(r Rule, t target) bool {
	one := func(pattern, path string) bool {
		pattern, toEnd := strings.CutSuffix(pattern, "$")
		expr := "^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")
		if toEnd {
			expr += "$"
		}
		ok, err := regexp.MatchString("(?s)"+expr, path)
		return err == nil && ok
	}
	either := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return one(r.Pattern, t.path) || one(either(queryForm(r.Pattern), r.Pattern), either(t.query, t.path))
}

// BenchmarkAllows asks a file of many rules about one address.
func BenchmarkAllows(b *testing.B) {
	var file strings.Builder
	file.WriteString("User-agent: *\n")
	for i := range 200 {
		file.WriteString("Disallow: /private/" + strings.Repeat("x", i%20) + "*/end$\n")
	}
	rules, _ := Parse([]byte(file.String()), "NanoClaw")
	u := address(b, "/some/page/of/the/site.html?with=a+query")
	b.ReportAllocs()
	for b.Loop() {
		if !rules.Allows(u) {
			b.Fatal("not allowed")
		}
	}
}
