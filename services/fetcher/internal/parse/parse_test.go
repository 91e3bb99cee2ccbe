package parse

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// text is all text of a tree, elements in brackets where show names them.
func text(n *html.Node, show string) string {
	var b strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		shown := n.Type == html.ElementNode && strings.Contains(" "+show+" ", " "+n.Data+" ")
		if shown {
			b.WriteString("(")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if shown {
			b.WriteString(")")
		}
	}
	walk(n)
	return b.String()
}

// still is a clock that stands.
func still() time.Duration { return 0 }

func TestPagesAreParsedAsBrowsersDo(t *testing.T) {
	tests := []struct{ name, page, show, want string }{
		{"paragraphs end by themselves", "<p>a<p>b", "p", "(a)(b)"},
		{"a noscript element has elements (scripts are off)", "<body><noscript><p>a</p></noscript>", "noscript p", "((a))"},
		{"a shadow tree that the page declares is in its host", "<div><template shadowrootmode=open><p>in</p></template>slotted</div>", "div p", "((in)slotted)"},
		{"a shadow tree within a shadow tree", "<div><template shadowrootmode=open><b><template shadowrootmode=closed>x</template></b></template></div>", "div b", "((x))"},
		{"another template keeps what it has", "<div><template><p>in</p></template>out</div>", "template p", "((in))out"},
		{"nothing", "", "p", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, warnings := parse([]byte(tt.page), still)
			if got := text(root, tt.show); got != tt.want || len(warnings) > 0 {
				t.Errorf("got %q %q, want %q", got, warnings, tt.want)
			}
		})
	}
}

func TestWhatCannotBeReadWholeIsToldInAWarning(t *testing.T) {
	deep := strings.Repeat("<div>", 600)
	tests := []struct{ name, page, warning, has string }{
		{"more than 512 elements in each other (html.Parse gives no tree)", deep + "<p>x", WarnDeep, "x"},
		{"more than 5 MiB", strings.Repeat("<p>x", MaxBytes/4+1), WarnCut, "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, warnings := parse([]byte(tt.page), still)
			if len(warnings) != 1 || warnings[0] != tt.warning {
				t.Errorf("warnings %q", warnings)
			}
			if !strings.Contains(text(root, ""), tt.has) {
				t.Errorf("%q is missing", tt.has)
			}
		})
	}
}

func TestALongPageIsCutAtACharacter(t *testing.T) {
	root, _ := parse([]byte("<p>"+strings.Repeat("漢", MaxBytes/3+10)), still)
	if s := text(root, ""); !utf8.ValidString(s) || strings.Contains(s, "\ufffd") {
		t.Error("the last character is broken")
	}
}

func TestAPageThatTakesTooLongIsReadUpToThere(t *testing.T) {
	var clock time.Duration
	tick := func() time.Duration {
		clock += MaxTime / 4
		return clock
	}
	page := strings.Repeat("<p>x</p>", 100<<10)
	root, warnings := parse([]byte(page), tick)
	if len(warnings) != 1 || warnings[0] != WarnSlow {
		t.Errorf("warnings %q", warnings)
	}
	if n := len(text(root, "")); n == 0 || n > len(page)/8/4 {
		t.Errorf("%d paragraphs were read", n)
	}
}

func TestTheFlatTreeFollowsTheRulesThatMatter(t *testing.T) {
	tests := []struct{ name, page, show, want string }{
		{"a paragraph ends before a block", "<p>a<div>b</div>", "p div", "(a)(b)"},
		{"a link ends before a link", "<a href=x>a<a href=y>b", "a", "(a)(b)"},
		{"cells and rows end", "<table><tr><td>a<td>b<tr><td>c", "tr td", "((a)(b)((c)))"},
		{"items end before items", "<ul><li>a<li>b</ul>c", "ul li", "((a)(b))c"},
		{"an end tag without a beginning means nothing", "a</b>b", "b", "ab"},
		{"an end tag ends what is in its element", "<div><b>a</div>b", "div b", "((a))b"},
		{"elements without content do not nest", "<p>a<br>b<img>c", "p br img", "(a()b()c)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := text(flat(strings.NewReader(tt.page)), tt.show); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTheFlatTreeIsNotDeepAndLosesNoText(t *testing.T) {
	root := flat(strings.NewReader(strings.Repeat("<div><table><tr><td>", 5000) + "<p>x"))
	if got := text(root, ""); got != "x" {
		t.Errorf("text %q", got)
	}
	deepest := 0
	for n := range root.Descendants() {
		depth := 0
		for p := n; p != nil; p = p.Parent {
			depth++
		}
		deepest = max(deepest, depth)
	}
	if deepest > flatDepth+leafRoom+2 {
		t.Errorf("a node is %d deep", deepest)
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{"<p>x", "<table><a><tr>", strings.Repeat("<b>", 600), "<template shadowrootmode=open><template>", "<noscript><p>", "<frameset>", "\x00<\xff>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		for _, root := range []*html.Node{first(parse(page, still)), flat(strings.NewReader(string(page)))} {
			for n := range root.Descendants() {
				if n.Parent == nil || (n.NextSibling != nil && n.NextSibling.PrevSibling != n) {
					t.Fatal("the tree is broken")
				}
			}
		}
	})
}

func first(n *html.Node, _ []string) *html.Node { return n }
