package markdown

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

func TestSkippedElementsAreLeftOutWithAllThatIsInThem(t *testing.T) {
	root, o := parse(t, `<h1>T</h1><p class=x>no <b>no</b></p><ul><li class=x>no</li><li>yes</li></ul><table><tr><th>a</th><th class=x>no</th><th>b</th></tr><tr class=x><td>no</td></tr><tr><td>1</td><td class=x>no</td><td>2</td></tr></table><ol class=x><li>no</li></ol><dl><dt class=x>no</dt><dd>def</dd></dl>`)
	o.Skip = func(n *html.Node) bool { return attr(n, "class") == "x" }
	var b strings.Builder
	Write(&b, root, o)
	want := "# T\n\n- yes\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- def"
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestAnElementIsAskedForOnce(t *testing.T) {
	root, o := parse(t, `<div><p>a <b>b</b></p><ul><li>c</li><ul><li>d</li></ul></ul><dl><dt>e</dt><dd>f</dd></dl><table><tr><th>g</th><th>h</th></tr><tr><td>i</td><td><table><tr><td>j</td></tr></table></td></tr></table><a href=/x><h2>k</h2></a></div>`)
	asked := map[*html.Node]int{}
	o.Skip = func(n *html.Node) bool { asked[n]++; return false }
	var b strings.Builder
	Write(&b, root, o)
	for n, times := range asked {
		if times > 1 {
			t.Errorf("%s with %q was asked for %d times", n.Data, textOf(n), times)
		}
	}
}

func TestTextsAndPartsOfCodeAreSkippedToo(t *testing.T) {
	root, o := parse(t, `<p>yes <b>no</b></p><pre>a<span class=x>no</span>b</pre>`)
	o.Skip = func(n *html.Node) bool { return n.Data == "no" || attr(n, "class") == "x" }
	var b strings.Builder
	if Write(&b, root, o); b.String() != "yes\n\n```\nab\n```" {
		t.Errorf("%q", b.String())
	}
}

func TestHiddenFormulasAreNoFormulas(t *testing.T) {
	root, o := parse(t, `<p>a <span class="math" style="display:none">\(obey\)</span> b</p>`)
	o.Skip = func(n *html.Node) bool { return attr(n, "style") != "" }
	var b strings.Builder
	if Write(&b, root, o); b.String() != "a b" {
		t.Errorf("%q", b.String())
	}
}

func TestWithoutABaseOnlyAbsoluteAddressesStay(t *testing.T) {
	root, _ := parse(t, `<p><a href="/a">a</a> <a href="https://example.com/b">b</a> <img src="c.png" alt="c"></p>`)
	var b strings.Builder
	if Write(&b, root, Options{}); b.String() != "a [b](https://example.com/b)" {
		t.Errorf("%q", b.String())
	}
}

func TestTablesAreRowsOfPlainText(t *testing.T) {
	tests := []struct {
		name, page string
		want       []Table
	}{
		{"heads and links", `<table><caption>Sums <b>here</b></caption><tr><th>A *</th><th>B|C</th></tr><tr><td><a href=/x>x_</a></td><td>1<br>2</td></tr></table>`,
			[]Table{{Caption: "Sums here", Header: true, Rows: [][]string{{"A *", "B|C"}, {"x_", "1\n2"}}}}},
		{"no heads", `<table><tr><td>k</td><td>v</td></tr><tr><td>l</td><td>w</td></tr></table>`,
			[]Table{{Rows: [][]string{{"k", "v"}, {"l", "w"}}}}},
		{"spans", `<table><tr><th>a</th><th colspan=2>b</th></tr><tr><td rowspan=2>1</td><td>2</td><td>3</td></tr><tr><td>4</td></tr></table>`,
			[]Table{{Header: true, Rows: [][]string{{"a", "b", "b"}, {"1", "2", "3"}, {"1", "4", ""}}}}},
		{"a bold first row", `<table><tr><td><b>a</b></td><td><b>b</b></td></tr><tr><td>1</td><td>2</td></tr></table>`,
			[]Table{{Header: true, Rows: [][]string{{"a", "b"}, {"1", "2"}}}}},
		{"a title over all columns", `<table><tr><th colspan=2>T</th></tr><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>`,
			[]Table{{Caption: "T", Header: true, Rows: [][]string{{"a", "b"}, {"1", "2"}}}}},
		{"one in a layout", `<table><tr><td><h2>x</h2><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></td><td>side</td></tr></table>`,
			[]Table{{Header: true, Rows: [][]string{{"a", "b"}, {"1", "2"}}}}},
		{"lists and code in cells", "<table><tr><th>a</th><th>b</th></tr><tr><td><ul><li>x</li><li>y</li></ul></td><td><pre>c\n d</pre></td></tr></table>",
			[]Table{{Header: true, Rows: [][]string{{"a", "b"}, {"- x\n- y", "c\n d"}}}}},
		{"layouts and code", `<table role=presentation><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table><table class=highlighttable><tr><td class=linenos>1</td><td class=code><pre>x</pre></td></tr></table>`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, o := parse(t, tt.page)
			got := Tables(root, o)
			if !slices.EqualFunc(got, tt.want, func(a, b Table) bool {
				return a.Caption == b.Caption && a.Header == b.Header && slices.EqualFunc(a.Rows, b.Rows, slices.Equal)
			}) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestAddressesTogetherAreBounded(t *testing.T) {
	long := "/" + strings.Repeat("a", 4_000)
	root, o := parse(t, `<base href="`+long+`/">`+strings.Repeat("<a href=x>t</a> ", 3_000)+`<a href="/`+strings.Repeat("b", 5_000)+`">u</a>`)
	var b strings.Builder
	r := Write(&b, root, o)
	if b.Len() > 9<<20 {
		t.Errorf("%d bytes from a page of 50 kB", b.Len())
	}
	if r.Addresses < 900 || r.Addresses > 1_100 {
		t.Errorf("%d addresses were left out", r.Addresses)
	}
	if n := strings.Count(b.String(), "t"); n < 3_000 {
		t.Errorf("%d of 3000 texts", n)
	}
}

// The time is that of a walk over the page: each of these took minutes, or
// gigabytes, of some extractor.
func TestHostilePagesAreWrittenInTimeAndSpace(t *testing.T) {
	tests := []struct{ name, page string }{
		{"nested tables (docling#2806)", strings.Repeat("<table><tr><td>a<td>b", 120)},
		{"nested tables of data", strings.Repeat("<table><tr><th>a<th>b<tr><td>", 100) + "x"},
		{"nested lists", strings.Repeat("<ul><li>a", 200)},
		{"lists without items", strings.Repeat("<ul>", 240) + "<li>a"},
		{"nested quotes with many lines", strings.Repeat("<blockquote>", 250) + strings.Repeat("<p>x", 50_000)},
		{"cells that claim many columns and rows", "<table>" + strings.Repeat("<tr>"+strings.Repeat("<td colspan=100 rowspan=100>x", 20), 200) + "</table>"},
		{"many rows that span", "<table><tr>" + strings.Repeat("<td rowspan=65000>"+strings.Repeat("y", 150), 50) + strings.Repeat("<tr><td>z", 10_000) + "</table>"},
		{"emphasis without end", strings.Repeat("<b>", 200) + strings.Repeat("<p>x.", 50_000)},
		{"emphasis that cannot close", strings.Repeat("<b>x.</b>y", 50_000)},
		{"links in links", strings.Repeat("<a href=/x><h2>y</h2>", 20_000)},
		{"one word", "<p>" + strings.Repeat("a", 1<<20)},
		{"stars", "<p>" + strings.Repeat("*_`[", 1<<19)},
		{"backticks in code", "<code>" + strings.Repeat("`", 1<<19)},
		{"dollars", "<p>" + strings.Repeat("$$ ", 1<<19)},
		{"formulas without an end", "<p>" + strings.Repeat(`\( `, 1<<19)},
		{"images without an address", strings.Repeat("<img><noscript></noscript>", 100_000)},
		{"footnotes", strings.Repeat("<sup><a href=#fn1>1</a></sup>", 50_000) + strings.Repeat("<li id=fn1>x", 50_000)},
		{"footnotes of one name", strings.Repeat("<p>", 3) + manyNotes(20_000)},
		{"spans without end", strings.Repeat("<span class=katex>", 250) + strings.Repeat("<span class=math>x</span>", 50_000)},
		{"formulas in formulas", strings.Repeat("<span class='math inline'>a", 250) + strings.Repeat("<i>x</i>", 50_000)},
		{"code behind much that is none", "<div class=highlight><div>" + strings.Repeat("<div>x</div>", 20_000) + strings.Repeat("<div><pre>x</pre></div>", 20_000)},
		{"definitions", strings.Repeat("<dl><dt>a<dd>", 150) + strings.Repeat("<p>x", 20_000)},
		{"summaries in summaries", strings.Repeat("<details><summary>a", 240) + strings.Repeat("<details><summary>a</summary></details>", 50_000)},
		{"code wrapped many times", strings.Repeat("<div class=highlight>", 250) + strings.Repeat("<pre>x</pre>", 20_000)},
		{"sets of sources", `<img srcset="` + strings.Repeat("a 1x,", 1<<19) + `">`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := html.ParseWithOptions(strings.NewReader(tt.page), html.ParseOptionEnableScripting(false))
			if err != nil {
				t.Fatal(err)
			}
			_, o := parse(t, "")
			begin := time.Now()
			var b strings.Builder
			Write(&b, doc, o)
			Tables(doc, o)
			t.Logf("%d bytes, %d came out in %s", len(tt.page), b.Len(), time.Since(begin).Round(time.Millisecond))
			if b.Len() > 16<<20 {
				t.Errorf("%d bytes became %d", len(tt.page), b.Len())
			}
		})
	}
}

func manyNotes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("<sup><a href=#fn")
		b.WriteString(strings.Repeat("x", i%50))
		b.WriteString(string(rune('a' + i%26)))
		b.WriteString(">1</a></sup>")
	}
	return b.String()
}
