package parse

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// quiet writes a tree without what its programs say.
func quiet(t testing.TB, page []byte) string {
	t.Helper()
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Namespace == "" && (n.DataAtom == atom.Style || n.DataAtom == atom.Script && !isMathOrJSON(n)) {
			for n.FirstChild != nil {
				n.RemoveChild(n.FirstChild)
			}
		}
	}
	var b strings.Builder
	if err := html.Render(&b, root); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func isMathOrJSON(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "type" && (strings.Contains(a.Val, "json") || strings.HasPrefix(a.Val, "math/")) {
			return true
		}
	}
	return false
}

func TestProgramsAreLeftOut(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a script", "a<script>x<y</script>b", "a<script></script>b"},
		{"a style sheet", "<style media=print>p{}</style>b", "<style media=print></style>b"},
		{"names in capitals", "<SCRIPT>x</Script >b", "<SCRIPT></Script >b"},
		{"a module", `<script type="module">x</script>`, `<script type="module"></script>`},
		{"data", `<script type="application/ld+json">{"a":1}</script>`, `<script type="application/ld+json">{"a":1}</script>`},
		{"a formula", `<script type="math/tex">x^2</script>`, `<script type="math/tex">x^2</script>`},
		{"a template of a script", `<script type="text/x-template"><p>a</script>`, `<script type="text/x-template"><p>a</script>`},
		{"a program in an old comment", "<script><!--\nx\n//--></script>b", "<script></script>b"},
		{"scripts within comments of a script", "<script><!-- <script>x</script> --></script>b", "<script><!-- <script>x</script> --></script>b"},
		{"a longer name does not end it", "<script>x</scripts></script>b", "<script></script>b"},
		{"a script without an end", "a<script>x", "a<script>x"},
		{"the word in a comment", "<!-- <script> --><p>a</p><!--> <!---> <!-- a --!> </script>", "<!-- <script> --><p>a</p><!--> <!---> <!-- a --!> </script>"},
		{"a comment that ends with many dashes", "<!-- a ---><script>x</script>", "<!-- a ---><script></script>"},
		{"the word in an attribute", `<a title="<script>" b='<style>'>a</a></script>`, `<a title="<script>" b='<style>'>a</a></script>`},
		{"a sign in an attribute of a script", `<script a="1>2" b = '>'>x</script>`, `<script a="1>2" b = '>'></script>`},
		{"quotes that quote nothing", `<a x=1"2 y="a>b" "c">d<script>x</script>`, `<a x=1"2 y="a>b" "c">d<script></script>`},
		{"a sign of equality at the begin of a name", `<a ="x>y<script>z</script>`, `<a ="x>y<script></script>`},
		{"the word in a title", "<title>a <script> b</title><p>c</p>", "<title>a <script> b</title><p>c</p>"},
		{"the word in a field of text", "<textarea><style></textarea><p>c</p></style>", "<textarea><style></textarea><p>c</p></style>"},
		{"a style sheet of a drawing", "<svg><style>a<b>c</b></style></svg><style>x</style>", "<svg><style>a<b>c</b></style></svg><style></style>"},
		{"a drawing that ends at once", "<svg/><style>x</style>", "<svg/><style></style>"},
		{"plain text to the end", "<plaintext><script>x</script>", "<plaintext><script>x</script>"},
		{"plain text that seems to end", "<plaintext></plaintext><script>x</script>", "<plaintext></plaintext><script>x</script>"},
		{"signs that begin no tag", "a < b <3 <> </> <? a > <script>x</script>", "a < b <3 <> </> <? a > <script></script>"},
		{"a tag that the page ends in", `<script>x</script><a b="`, `<script></script><a b="`},
	} {
		if got := string(withoutPrograms([]byte(c.page))); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.page, got, c.want)
		}
		if a, b := quiet(t, []byte(c.page)), quiet(t, withoutPrograms([]byte(c.page))); a != b {
			t.Errorf("%s: %q is parsed otherwise:\n%s\n%s", c.name, c.page, a, b)
		}
	}
}

func TestRealPagesAreParsedAlikeWithoutPrograms(t *testing.T) {
	files, err := filepath.Glob("../../../../../shared/data/extract/scrapinghub/html/*.html.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the pages ../shared/data/extract/scrapinghub are not beside the repository")
	}
	before, after := 0, 0
	for i, file := range files {
		if i%4 != 0 { // enough of them in a second
			continue
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		short := withoutPrograms(page)
		before, after = before+len(page), after+len(short)
		if quiet(t, page) != quiet(t, short) {
			t.Errorf("%s is parsed otherwise", filepath.Base(file))
		}
	}
	if after > before*9/10 {
		t.Errorf("%d of %d bytes are left, want fewer than nine tenths", after, before)
	}
	t.Logf("%d of %d bytes are left", after, before)
}

func FuzzWithoutPrograms(f *testing.F) {
	for _, s := range []string{"<script>a</script>", "<svg><style>", "<!-- -- -->", `<a b="<script>`, "<title></title ", "<script><!--<script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, page string) {
		once := withoutPrograms([]byte(page))
		if len(once) > len(page) {
			t.Errorf("%q grows to %q", page, once)
		}
		if twice := withoutPrograms(once); !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q, and again %q", page, once, twice)
		}
	})
}
