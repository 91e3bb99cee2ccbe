package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

func TestCSV(t *testing.T) {
	tests := []struct {
		name, mediaType, text string
		want                  [][]string
		header                bool
		warning               string
	}{
		{"commas", contenttype.CSV, "name,age\nAnn,7\n", [][]string{{"name", "age"}, {"Ann", "7"}}, true, ""},
		{"semicolons, with commas in numbers", contenttype.CSV, "name;price\nAnn;1,5\nBob;2,5\n", [][]string{{"name", "price"}, {"Ann", "1,5"}, {"Bob", "2,5"}}, true, "delimiter"},
		{"tabs", contenttype.TSV, "a\tb\n1\t2", [][]string{{"a", "b"}, {"1", "2"}}, true, ""},
		{"tabs in a file that says CSV", contenttype.CSV, "a\tb, c\n1\t2\n", [][]string{{"a", "b, c"}, {"1", "2"}}, true, "delimiter"},
		{"bars", contenttype.CSV, "a|b\n1|2\n", [][]string{{"a", "b"}, {"1", "2"}}, true, "delimiter"},
		{"what Excel says of its delimiter", contenttype.CSV, "sep=;\na,b;c\n1;2\n", [][]string{{"a,b", "c"}, {"1", "2"}}, true, "delimiter"},
		{"quoted fields over lines", contenttype.CSV, "a,b\n\"x, \"\"y\"\"\nz\",2\n", [][]string{{"a", "b"}, {"x, \"y\"\nz", "2"}}, true, ""},
		{"stray quotes", contenttype.CSV, "a,b\n6\" pipe,2\n", [][]string{{"a", "b"}, {"6\" pipe", "2"}}, true, ""},
		{"rows of different lengths", contenttype.CSV, "a,b\n1\n1,2,3\n", [][]string{{"a", "b", ""}, {"1", "", ""}, {"1", "2", "3"}}, false, ""},
		{"one column", contenttype.CSV, "name\nAnn\n", [][]string{{"name"}, {"Ann"}}, true, ""},
		{"no header", contenttype.CSV, "1,2\n3,4\n", [][]string{{"1", "2"}, {"3", "4"}}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(t, request(tt.text, tt.mediaType))
			if len(d.Tables()) != 1 {
				t.Fatalf("%d tables", len(d.Tables()))
			}
			got := d.Tables()[0]
			if diff := cmp.Diff(tt.want, got.Rows); diff != "" || got.Header != tt.header {
				t.Errorf("header %t\n%s", got.Header, diff)
			}
			if d.Text() != tt.text {
				t.Errorf("text %q", d.Text())
			}
			if tt.warning != "" != (len(d.Warnings) > 0) || tt.warning != "" && !warned(d, tt.warning) {
				t.Errorf("warnings %q", d.Warnings)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	long := strings.Repeat("x", maxReadableLine)
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	tests := []struct{ name, text, want string }{
		{"one line", `{"a":[1,2.50,-3e400],"b":{},"c":[ ],"d":"` + long + `"}`,
			"{\n  \"a\": [\n    1,\n    2.50,\n    -3e400\n  ],\n  \"b\": {},\n  \"c\": [],\n  \"d\": \"" + long + "\"\n}"},
		{"texts with marks of JSON in them", `["a,b:{}[]\"\\",` + `"` + long + `"]`, "[\n  \"a,b:{}[]\\\"\\\\\",\n  \"" + long + "\"\n]"},
		{"lines that are short already", "{\n\"a\":1}", "{\n\"a\":1}"},
		{"what is not JSON", "{" + long + "}", "{" + long + "}"},
		{"what nests deeply, but is short", deep, deep},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(t, request(tt.text, contenttype.JSON))
			if d.Text() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", d.Text(), tt.want)
			}
			if want := "```json\n" + tt.want + "\n```"; d.Markdown() != want {
				t.Errorf("Markdown %q", d.Markdown())
			}
		})
	}
}

func TestJSONThatGrowsIsCut(t *testing.T) {
	in := request(strings.Repeat("[", 5000)+strings.Repeat("1,", 100_000)+"1"+strings.Repeat("]", 5000), contenttype.JSON)
	in.MaxText = 50_000
	d := read(t, in)
	if len(d.Text()) != in.MaxText || !d.Cut || !warned(d, "page_limit") {
		t.Errorf("%d bytes, cut %t, %q", len(d.Text()), d.Cut, d.Warnings)
	}
}

func TestFencesAreLongerThanThoseInside(t *testing.T) {
	if got := Fenced("a ``` b ````", "yaml"); got != "`````yaml\na ``` b ````\n`````" {
		t.Errorf("%q", got)
	}
}

func TestFeeds(t *testing.T) {
	item := FeedItem{
		Title: "Boats & ships", URL: "http://a.example/boats", ID: "7", Published: "2024-02-29T12:00:00Z",
		Author: "Ann", Summary: "They float.\n\nAll of them.", Categories: []string{"sea"},
	}
	rss := `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Harbour</title><link>/</link>
<description>News &lt;b&gt;daily&lt;/b&gt;</description><language>en</language><item><title>Boats &amp;amp; ships</title><link>/boats</link><guid>7</guid><dc:creator>Ann</dc:creator>
<pubDate>Thu, 29 Feb 2024 12:00:00 GMT</pubDate><category>sea</category><description>short</description>
<content:encoded><![CDATA[<p>They <em>float</em>.</p><script>evil()</script><p>All of them.</p>]]></content:encoded></item></channel></rss>`
	atom := `<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>Harbour</title><subtitle>News daily</subtitle><link href="http://a.example/"/><updated>2024-03-01T00:00:00Z</updated>
<entry><title type="html">Boats &amp;amp; ships</title><link href="http://a.example/boats"/><id>7</id><author><name>Ann</name></author><published>2024-02-29T12:00:00Z</published>
<category term="sea"/><content type="html">&lt;p&gt;They float.&lt;/p&gt;&lt;p&gt;All of them.&lt;/p&gt;</content></entry></feed>`
	jsonFeed := `{"version":"https://jsonfeed.org/version/1.1","title":"Harbour","description":"News daily","language":"en","home_page_url":"http://a.example/",
"items":[{"id":"7","url":"http://a.example/boats","title":"Boats & ships","content_html":"<p>They float.</p><p>All of them.</p>","date_published":"2024-02-29T12:00:00Z","authors":[{"name":"Ann"}],"tags":["sea"]}]}`
	tests := []struct{ name, mediaType, text string }{
		{"RSS", contenttype.RSS, rss},
		{"RSS whose declaration names another encoding", contenttype.RSS, `<?xml version="1.0" encoding="gb2312"?>` + rss},
		{"Atom", contenttype.Atom, atom},
		{"JSON", contenttype.JSONFeed, jsonFeed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := request(tt.text, tt.mediaType)
			in.URL = mustURL(t, "http://a.example/feed")
			d := read(t, in)
			if d.Feed == nil {
				t.Fatalf("no feed: %q", d.Warnings)
			}
			if diff := cmp.Diff([]FeedItem{item}, d.Feed.Items); diff != "" {
				t.Error(diff)
			}
			if f := d.Feed; f.Title != "Harbour" || f.Description != "News daily" || f.URL != "http://a.example/" || f.Language != "en" {
				t.Errorf("%+v", f)
			}
			want := "# Harbour\n\nNews daily\n\n## [Boats & ships](http://a.example/boats)\n\n2024-02-29T12:00:00Z, Ann\n\nThey float.\n\nAll of them."
			if got := d.Markdown(); got != want {
				t.Errorf("Markdown\n%s", got)
			}
		})
	}
}

func TestAFeedThatIsNoneIsShownAsItIs(t *testing.T) {
	for name, text := range map[string]string{
		"broken":      "<rss><channel><title>x</rss>",
		"deep":        "<rss><channel>" + strings.Repeat("<a>", 100_000),
		"entities":    `<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><rss><channel><title>&b;</title></channel>`,
		"without any": "<feed></feed",
	} {
		d := read(t, request(text, contenttype.RSS))
		if d.Feed == nil && (d.Text() != text || !warned(d, "feed")) {
			t.Errorf("%s: %.60q, %q", name, d.Text(), d.Warnings)
		}
		if d.Feed != nil && strings.Contains(d.Text(), "aaaa") {
			t.Errorf("%s: an entity was expanded", name)
		}
	}
}
