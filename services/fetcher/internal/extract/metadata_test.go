package extract

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestTheTitleIsWithoutTheNameOfTheSite(t *testing.T) {
	tests := []struct{ name, page, want string }{
		{"a name behind a bar", "<title>The ferry is late today | Harbour News</title>", "The ferry is late today"},
		{"a name behind a dash", "<title>The ferry is late today – Harbour News</title>", "The ferry is late today"},
		{"a name before the title, which has under three words", "<title>Ferry | The Daily Harbour News of the Coast</title>", "The Daily Harbour News of the Coast"},
		{"a dash within a word parts nothing", "<title>The well-known ferry is late today</title>", "The well-known ferry is late today"},
		{"levels of a hierarchy", "<title>Home » News » The ferry was late again</title>", "Home » News » The ferry was late again"},
		{"what remains is too short, so all remains", "<title>Ferries today | Harbour News</title>", "Ferries today | Harbour News"},
		{"behind a colon", "<title>Harbour News: the old ferry is late again today</title>", "the old ferry is late again today"},
		{"a colon that belongs to a heading", "<title>Ferry: why it is late again</title><h1>Ferry: why it is late again</h1>", "Ferry: why it is late again"},
		{"six words before a colon are no name", "<title>What we know of the ferry: it was late again today</title>", "What we know of the ferry: it was late again today"},
		{"a short title gives way to the one heading", "<title>News</title><h1>The ferry was late again this morning</h1>", "The ferry was late again this morning"},
		{"but not to one of several", "<title>News</title><h1>The ferry was late again</h1><h1>Tides</h1>", "News"},
		{"no title but a heading", "<h1>The ferry was late</h1>", "The ferry was late"},
		{"the title of a drawing is none", "<svg><title>icon</title></svg><h1>The ferry was late</h1>", "The ferry was late"},
		{"OpenGraph before the title element", `<title>News | Site</title><meta property=og:title content="The ferry is late">`, "The ferry is late"},
		{"JSON-LD before OpenGraph", `<meta property=og:title content="OG"><script type="application/ld+json">{"@type":"NewsArticle","headline":"The ferry is late"}</script>`, "The ferry is late"},
		{"of name and headline the one that is like the title", `<title>The ferry is late again</title><script type="application/ld+json">{"@type":"Article","name":"Harbour","headline":"The ferry is late again"}</script>`, "The ferry is late again"},
		{"Dublin Core", `<title>x</title><meta name=DC.title content="A study of tides">`, "A study of tides"},
		{"entities that are escaped twice", `<meta property=og:title content="Fish &amp;amp; chips">`, "Fish & chips"},
		{"nothing", "<p>x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(t, tt.page).Title(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMetadataIsReadWhereverAPageSaysIt(t *testing.T) {
	ld := func(s string) string { return `<script type="application/ld+json">` + s + "</script>" }
	tests := []struct {
		name, page string
		want       Metadata
	}{
		{"plain HTML and OpenGraph", `<html lang="de-CH"><head><title>T</title><link rel=canonical href=/canon><meta name=author content="Ana Li">
			<meta property=article:published_time content=2026-01-02><meta property=article:modified_time content=2026-01-03>
			<meta property=og:site_name content=Site><meta property=og:description content=D><meta property=og:image content=i.png></head>`,
			Metadata{Title: "T", Description: "D", SiteName: "Site", Byline: "Ana Li", Published: "2026-01-02", Modified: "2026-01-03", Language: "de-CH",
				Canonical: "https://site.example/canon", Image: "https://site.example/dir/i.png"}},
		{"JSON-LD of an article in a graph", ld(`{"@context":"https://schema.org","@graph":[{"@type":"WebSite","name":"Site"},{"@type":["Article","NewsArticle"],
			"headline":"Late","author":[{"@type":"Person","name":"Ana Li"},{"@type":"Person","name":"Bo Ek"}],"datePublished":"2026-01-02T03:04:05Z",
			"dateModified":"2026-01-03","inLanguage":"en","image":[{"@type":"ImageObject","url":"/i.png"}],"publisher":{"name":"Pub"}}]}`),
			Metadata{Title: "Late", SiteName: "Pub", Byline: "Ana Li, Bo Ek", Published: "2026-01-02T03:04:05Z", Modified: "2026-01-03", Language: "en", Image: "https://site.example/i.png"}},
		{"JSON-LD with comments, line breaks in strings and commas too many", ld("<!-- {\n // an article\n\"@type\":\"Article\", /* by */ \"author\":\"Ana\nLi\", \"headline\":\"http://not a comment\",\n} -->"),
			Metadata{Title: "http://not a comment", Byline: "Ana Li"}},
		{"JSON-LD in a CDATA section", ld(`//<![CDATA[
			[{"@type":"BlogPosting","headline":"Late",}]
			//]]>`), Metadata{Title: "Late"}},
		{"JSON-LD that cannot be read", ld(`{"@type":"Article","headline":`) + "<title>The title of it</title>", Metadata{Title: "The title of it"}},
		{"an article before what else is described", ld(`[{"@type":"Product","name":"Rope"},{"@type":"Article","headline":"Late"}]`), Metadata{Title: "Late"}},
		{"microdata", `<div itemscope itemtype="https://schema.org/Article"><span itemprop=author><span itemprop=name>Ana Li</span>, sailor</span>
			<time itemprop=datePublished datetime=2026-01-02>x</time><time itemprop=dateModified datetime=2026-01-03>y</time></div>`,
			Metadata{Byline: "Ana Li", Published: "2026-01-02", Modified: "2026-01-03"}},
		{"Dublin Core", `<meta name=DC.creator content="Li, Ana"><meta name=DC.date.issued content=2026><meta name=DC.language content=fr>`,
			Metadata{Byline: "Li, Ana", Published: "2026", Language: "fr"}},
		{"Twitter cards", `<meta name=twitter:title content=T><meta name=twitter:description content=D><meta name=twitter:image content=/i.png>`,
			Metadata{Title: "T", Description: "D", Image: "https://site.example/i.png"}},
		{"a class that names the author", `<p class=post-byline>By Ana Li</p>`, Metadata{Byline: "By Ana Li"}},
		{"a long text with that class is none", `<p class=post-byline>` + strings.Repeat("Ana Li ", 20) + "</p>", Metadata{}},
		{"the address of a profile is no author", `<meta property=article:author content="https://social.example/ana">`, Metadata{}},
		{"several names of one property", `<meta property="og:title dc:title" content=T>`, Metadata{Title: "T"}},
		{"the locale of OpenGraph", `<meta property=og:locale content=pt_BR>`, Metadata{Language: "pt-BR"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(t, tt.page).Metadata(); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestJSONIsMended(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"what is right already", `{"a":[1,"b"]}`, `{"a":[1,"b"]}`},
		{"commas before ends", `{"a":[1,2,],}`, `{"a":[1,2]}`},
		{"comments", "{/* x */\"a\":1 // y\n}", `{"a":1}`},
		{"marks of comments in a string are its text", `{"a":"/* // <!--"}`, `{"a":"/* // <!--"}`},
		{"control characters in a string", "{\"a\":\"b\n\tc\"}", `{"a":"b  c"}`},
		{"quotes in a string", `{"a":"\"}"}`, `{"a":"\"}"}`},
		{"a semicolon at the end", `{"a":1};`, `{"a":1}`},
		{"a comment without an end", `{"a":1}/*`, `{"a":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(mendJSON(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzJSONLD(f *testing.F) {
	for _, s := range []string{`{"@graph":[{"@type":"Article","author":{"name":"a"}}]}`, `<!--{"a":1,}-->`, `[[[[`, `"\`, `//`, `{"@type":["a",{"name":"b"}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if json.Valid([]byte(s)) {
			var want, got any
			mended := mendJSON(s)
			if json.Unmarshal([]byte(s), &want) != nil || json.Unmarshal(mended, &got) != nil || !reflect.DeepEqual(want, got) {
				t.Errorf("%q was mended to %q", s, mended)
			}
		}
		about, site := mainThings(ldThings([]string{s}))
		_, _, _ = ldTitle(about, "x"), site.text("name"), imageOf(about)
	})
}

func TestAnArticleThatOnlyTheDataHaveIsRead(t *testing.T) {
	sentence := "The ferry from the island came in two hours late this morning. "
	body := strings.Repeat(sentence, 30)
	tests := []struct {
		name, page, want string
		warned           bool
	}{
		{"lines of the data are paragraphs", `<div id=app>Loading</div><script type="application/ld+json">{"@type":"Article","articleBody":"One &amp; all.\n\n` + body + `"}</script>`,
			"One & all.\n\n" + strings.TrimSpace(body), true},
		{"the tags of the data are read", `<script type="application/ld+json">{"@type":"Article","articleBody":"<p>One<\/p><p>` + body + `<\/p>"}</script>`,
			"One\n\n" + strings.TrimSpace(body), true},
		{"a page that has its text is read itself", "<article><p>" + body + `</p></article><script type="application/ld+json">{"@type":"Article","articleBody":"` + body + `"}</script>`,
			strings.TrimSpace(body), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, warnings := read(t, tt.page).Text()
			warned := len(warnings) == 1 && strings.HasPrefix(warnings[0], "from_data: ")
			if text != tt.want || warned != tt.warned {
				t.Errorf("got %.120q %q, want %.120q", text, warnings, tt.want)
			}
		})
	}
}
