package extract

import (
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/parse"
)

// hostilePages have each made an extractor quadratic, or are built to.
func hostilePages(size int) map[string]string {
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	pages := map[string]string{
		"open divs":                 fill("<div>"),
		"open and text":             fill("<b>x<i>y"),
		"unmatched ends":            fill("</p>"),
		"misnested tables":          fill("<table><td><table>"),
		"anchors":                   fill("<a href=x>"),
		"anchors and blocks":        fill("<a href=x><div>"),
		"nested pre":                strings.Repeat("<pre>", 300) + fill("x\n"),
		"many pre":                  fill("<pre>x</pre>"),
		"attributes":                "<p " + fill("a=1 ") + ">x",
		"one long class":            `<p class="` + fill("comment ") + `">x`,
		"one text":                  "<p>" + fill("word "),
		"text without white space":  "<p>" + fill("w"),
		"formatting":                fill("<font><p>"),
		"formatting and attributes": fill("<font color=a><b class=x><i id=y><p>"),
		"select":                    fill("<select><option>"),
		"comments":                  fill("<!-- x -->"),
		"open comment":              "<p>x<!--" + fill("- "),
		"articles":                  fill("<article><p>text that is long enough to be prose here</p></article>"),
		"sections in each other":    strings.Repeat(deep("<section>", "<p>text that is long enough to be prose, and has a comma</p>", "</section>", 400), size/30000),
		"lists of links":            fill("<ul><li><a href=x>y</a></ul>"),
		"nested lists":              strings.Repeat(deep("<ul><li>", "x", "</ul>", 200), size/3000),
		"tables in tables":          strings.Repeat(deep("<table><tr><td>", "x, y", "</table>", 120), size/3000),
		"a long base":               "<base href=/" + strings.Repeat("b", 3900) + "/>" + fill("<a href=q><img src=q>x</a>"),
		"a base too long":           "<base href=/" + strings.Repeat("b", 60_000) + "/>" + fill("<a href=q>x</a>"),
		"templates":                 fill("<template><p>x"),
		"shadow roots":              fill("<div><template shadowrootmode=open><p>x</template></div>"),
		"noscripts":                 fill("<noscript><p>some text that is hidden</noscript>"),
		"hidden":                    fill("<div hidden><p>some text that is hidden"),
		"headings in each other":    "<title>One, two: three four five six</title>" + strings.Repeat("<h1><div>", 250) + fill("word "),
		"bylines in each other":     strings.Repeat(strings.Repeat("<div class=byline>", 400)+strings.Repeat("</div>", 400), size/10000),
		"captions":                  fill("<figure><img src=x><figcaption>a caption</figcaption></figure>"),
		"headings":                  "<title>" + strings.Repeat("word ", 1000) + "</title>" + fill("<h1>word word</h1>"),
		"bylines":                   fill("<p class=byline>by somebody</p>"),
		"a broken tag":              "<" + fill("a"),
		"a broken attribute":        `<p a="` + fill("x"),
		"doctype":                   "<!doctype " + fill("x "),
		"entities":                  "<p>" + fill("&amp;&notanentity;&#x1F600;"),
		"svg and math":              fill("<svg><math><mi>x</svg>"),
		"frameset":                  fill("<frameset><frame>"),
		"json":                      `<script type="application/ld+json">` + fill(`{"@graph":[`) + "</script><p>x",
		"json types":                `<script type="application/ld+json">` + fill(`"@type" `) + "</script><p>x",
		"metas":                     fill(`<meta name=a content=b>`),
		"different metas":           different(size),
		"rows of one cell":          "<table>" + fill("<tr><td>x"),
		"scripts":                   fill("<script>x</script>"),
		"zero bytes":                "<p>" + fill("\x00"),
		"no UTF-8":                  "<p>" + fill("\xff\xc3"),
	}
	return pages
}

func different(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString("<meta name=n")
		b.WriteString(strings.Repeat("x", i%50))
		b.WriteString(string(rune('a' + i%26)))
		b.WriteString(" content=v>")
	}
	return b.String()
}

// everything asks for every view of a page.
func everything(t testing.TB, page string) *Document {
	d := read(t, page)
	_, _ = d.Text()
	d.FullText()
	d.Links()
	d.Images()
	d.Structured()
	d.Metadata()
	return d
}

// The test is that it ends; BenchmarkHostile has the times.
func TestHostilePagesEnd(t *testing.T) {
	for name, page := range hostilePages(64 << 10) {
		t.Run(name, func(t *testing.T) { everything(t, page) })
	}
}

// BenchmarkHostile reads every hostile page at the greatest length that is
// read, and tells of the slowest.
func BenchmarkHostile(b *testing.B) {
	pages := hostilePages(parse.MaxBytes)
	var slowest time.Duration
	for b.Loop() {
		for name, page := range pages {
			begin := time.Now()
			everything(b, page)
			if took := time.Since(begin); took > slowest {
				slowest = took
				b.Logf("%s: %v", name, took)
			}
		}
	}
	b.ReportMetric(float64(slowest.Milliseconds()), "ms-slowest")
}
