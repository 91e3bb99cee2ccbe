package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Every page here is a failure that somebody reported of an extractor, made
// again in our own words; the names give project and number.

func TestReportedTextIsNotLost(t *testing.T) {
	list := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item, i, i)
		}
		return b.String()
	}
	tests := []struct {
		name, page string
		want, not  []string
	}{
		{"adbar/trafilatura#76: a table with links is dropped",
			"<article>" + article(4) + `<table><tr><th>Port<th>Ship</tr><tr><td><a href=/a>North quay</a><td>Anna, 300 t</tr><tr><td><a href=/b>South quay</a><td>Berta, 200 t</tr></table></article>`,
			[]string{"North quay\tAnna, 300 t", "South quay\tBerta"}, nil},
		{"adbar/trafilatura#531: a list in a cell is lost",
			"<article>" + article(4) + `<table><tr><th>Day<th>Menu</tr><tr><td>Monday<td><ul><li>Soup</li><li>Bread</li></ul></tr></table></article>`,
			[]string{"Soup\nBread"}, nil},
		{"adbar/trafilatura#10: an ordered list is lost",
			"<article>" + article(4) + "<ol><li>Open the valve, then wait.</li><li>Close the valve.</li></ol>" + prose(9) + "</article>",
			[]string{"Open the valve, then wait.\nClose the valve."}, nil},
		{"adbar/trafilatura#431: the spans of list items are lost",
			"<article>" + article(4) + "<ul><li><span>Red</span></li><li><span>Green</span></li></ul>" + prose(9) + "</article>",
			[]string{"Red\nGreen"}, nil},
		{"adbar/trafilatura#553: the indentation of code is lost",
			"<article>" + article(4) + "<pre><code>if x:\n    y()\n\n    z()</code></pre>" + prose(9) + "</article>",
			[]string{"if x:\n    y()\n\n    z()"}, nil},
		{"adbar/trafilatura#113: the space around links is lost",
			"<article>" + article(4) + "<p>Ask <a href=x>the harbour</a> <a href=y>master</a>, or <a href=z>write</a> to us, whenever the tide is out.</p></article>",
			[]string{"Ask the harbour master, or write to us"}, nil},
		{"docling-project/docling#2620: a heading inside a paragraph empties the page",
			"<p><h1>Harbour dues</h1>" + article(4) + "</p>",
			[]string{"Paragraph 0", "Paragraph 3"}, nil},
		{"matthewwithanm/python-markdownify#220: a table in a table",
			"<table><tr><td>" + article(4) + "<table><tr><td>inner one</td><td>inner two</td></tr></table></td></tr></table>",
			[]string{"Paragraph 3", "inner one\tinner two"}, nil},
		{"mozilla/readability#744: a declared shadow tree is not read",
			"<body><x-story><template shadowrootmode=open><div><h1>Tide</h1>" + article(5) + "</div></template></x-story>",
			[]string{"Paragraph 0", "Paragraph 4"}, nil},
		{"mozilla/readability#926: a shadow tree within a shadow tree",
			"<body><x-app><template shadowrootmode=open><x-story><template shadowrootmode=open>" + article(5) + "</template></x-story></template></x-app>",
			[]string{"Paragraph 0", "Paragraph 4"}, nil},
		{"mozilla/readability#381: five hundred letters of Japanese are an article",
			"<body><nav><a href=/>ホーム</a></nav><div class=c>" + strings.Repeat("<p>港の朝は早い。漁師たちは夜明け前に船を出し、昼には戻ってくる。</p>", 5) + "</div><div class=c2><ul>" + list(9, "<li><a href=/%d>記事%d</a>") + "</ul></div>",
			[]string{"港の朝は早い"}, []string{"記事3"}},
		{"mozilla/readability#429: Japanese commas count",
			"<body><div class=a>" + strings.Repeat("<p>春は、夏は、秋は、冬は、どれも、美しい。</p>", 12) + "</div><div class=b><p>Contact us at the desk in the hall of the station for more information about it.</p></div>",
			[]string{"春は、夏は"}, nil},
		{"adbar/trafilatura#811: the teasers of a list run into each other",
			"<main><h1>News</h1>" + list(8, `<article><h2><a href=/%d>Story number %d</a></h2><p>What happened, in one line.</p></article>`) + "</main>",
			[]string{"Story number 0\n\nWhat happened, in one line.\n\nStory number 1", "Story number 7"}, nil},
		{"adbar/trafilatura#568: the contact in a footer of the content",
			"<main><h1>Visit us</h1>" + list(3, "<section><h2>Office %d</h2><p>Street %d, on weekdays from nine to five.</p></section>") + "<footer><p>The site's own footer</p></footer></main>",
			[]string{"Office 0", "Street 2"}, nil},
		{"adbar/trafilatura#588: the main element is ignored",
			"<body><div class=menu>" + list(20, "<a href=/%d>Section %d</a> ") + "</div><main>" + list(6, "<h2>Hall %d</h2><p>Seats %d, on two floors.</p>") + "</main>",
			[]string{"Hall 0", "Seats 5, on two floors."}, []string{"Section 3"}},
		{"us/crw#25: a page that says it loads, and says all in a noscript element",
			"<body><div id=root>Loading...</div><noscript><h1>Tide tables</h1>" + article(6) + "</noscript>",
			[]string{"Paragraph 0", "Paragraph 5"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, _ := read(t, tt.page).Text()
			for _, s := range tt.want {
				if !strings.Contains(text, s) {
					t.Errorf("%q is missing from %q", s, text)
				}
			}
			for _, s := range tt.not {
				if strings.Contains(text, s) {
					t.Errorf("%q is in %q", s, text)
				}
			}
		})
	}
}

func TestReportedTextIsThereOnce(t *testing.T) {
	tests := []struct{ name, page, once string }{
		{"adbar/trafilatura#849: code within a line comes twice",
			"<article>" + article(4) + "<p>Call <code>moor(ship)</code> before the tide turns, or the ship will drift away.</p></article>", "moor(ship)"},
		{"adbar/trafilatura#660: words run together, and a text comes twice",
			"<article>" + article(4) + "<div>The <b>old</b> <i>pier</i><div>and the new one, which is longer than the old.</div></div></article>", "old pier\nand the new one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, _ := read(t, tt.page).Text()
			if n := strings.Count(text, tt.once); n != 1 {
				t.Errorf("%q is there %d times in %q", tt.once, n, text)
			}
		})
	}
}

func TestReportedAddressesAreResolved(t *testing.T) {
	tests := []struct{ name, page, want string }{
		{"unclecode/crawl4ai#1680: the base element is ignored", `<base href=/docs/v2/><a href=page>x</a>`, "https://site.example/docs/v2/page"},
		{"unclecode/crawl4ai#1147: a base element that is relative itself", `<base href=sub/><a href=page>x</a>`, "https://site.example/dir/sub/page"},
		{"unclecode/crawl4ai#570: angle brackets around an address", `<a href="<https://other.example/p>">x</a>`, "https://other.example/p"},
		{"unclecode/crawl4ai#721: angle brackets around a relative address", `<a href="</p>">x</a>`, "https://site.example/p"},
		{"unclecode/crawl4ai#1127: a relative address loses the folder of the page", `<a href="next">x</a>`, "https://site.example/dir/next"},
		{"unclecode/crawl4ai#1480: dots at the beginning", `<a href="./../a/../b">x</a>`, "https://site.example/b"},
		{"spider-rs/spider#172: quotes around an address", `<a href='"https://other.example/q"'>x</a>`, "https://other.example/q"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			links := read(t, tt.page).Links()
			if len(links) != 1 || links[0].URL != tt.want {
				t.Errorf("got %v, want %s", links, tt.want)
			}
		})
	}
}

func TestReportedImagesAreFound(t *testing.T) {
	tests := []struct {
		name, page string
		want       []string
	}{
		{"cloudflare/workers-sdk#13406: an image with an address from the root", `<img src=/i/a.png>`, []string{"https://site.example/i/a.png"}},
		{"mozilla/readability#544: a lazy image with a placeholder", `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" data-src=a.jpg>`, []string{"https://site.example/dir/a.jpg"}},
		{"mozilla/readability#670: a lazy image in a noscript element", `<img class=lazy src="data:image/gif;base64,R0"><noscript><img src=b.jpg></noscript>`, []string{"https://site.example/dir/b.jpg"}},
		{"mozilla/readability#748: a lazy set of images", `<img data-srcset="s.jpg 400w, l.jpg 1200w" src="data:,">`, []string{"https://site.example/dir/l.jpg"}},
		{"firecrawl/firecrawl#2971: a linked image is doubled", `<a href=a.jpg><img src=a.jpg></a>`, []string{"https://site.example/dir/a.jpg"}},
		{"firecrawl/firecrawl#2514: the clones of a carousel", `<ul><li><img src=1.jpg><li><img src=2.jpg><li class=clone><img src=1.jpg></ul>`, []string{"https://site.example/dir/1.jpg", "https://site.example/dir/2.jpg"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, i := range read(t, tt.page).Images() {
				got = append(got, i.Src)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// The test is that they end.
func TestReportedHangsEnd(t *testing.T) {
	pages := map[string]string{
		"mozilla/readability#580: a filing of thousands of tables": strings.Repeat("<div><table><tr><td><font>1,000</font><td>$<td>2,000</table></div><p>Item, as amended</p>", 1500),
		"docling-project/docling#2806: tables in tables":           strings.Repeat("<table><tr><td>", 400) + "x" + strings.Repeat("<td>y</table>", 400),
		"golang/go#27842: a tree that the parser goes round in":    "<svg><template><desc><t><svg></template>",
		"golang/go#79573: open formatting elements":                strings.Repeat("<a><b><i><nobr><table>", 400) + strings.Repeat("</a></b></i></nobr>", 400),
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) { everything(t, page) })
	}
}
