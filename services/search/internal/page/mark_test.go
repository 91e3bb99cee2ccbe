package page

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
)

func TestAMarkForNoResultsSaysWhatPeopleRead(t *testing.T) {
	const none = "There are no results for tea."
	cases := []struct{ name, page, asked, want string }{
		{"words", `<p id="m">There are <b>no results</b> for tea.</p>`, "tea", none},
		{"words and a script", `<p id="m">There are no results for tea.<script>load()</script><style>p{}</style></p>`, "tea", none},
		{"words and a part that is hidden", `<p id="m">There are no results for tea.<span hidden> Error</span></p>`, "tea", none},
		{"nothing", `<p id="m"> </p>`, "tea", ""},
		{"nothing but a script", `<p id="m"><script>"no results"</script></p>`, "tea", ""},
		{"no mark", `<p>x</p>`, "tea", ""},
		{"a mark in a template", `<template><p id="m">No results</p></template>`, "tea", ""},
		{"a hidden mark", `<p id="m" hidden>No results</p>`, "tea", ""},
		{"a mark in a hidden box", `<div style="color: red; display : NONE"><p id="m">No results</p></div>`, "tea", ""},
		{"a mark hidden by its class", `<p id="m" class="msg is-hidden">No results</p>`, "tea", ""},
		{"another style", `<p id="m" style="display: block">No results</p>`, "tea", "No results"},
		{"an error", `<p id="m">Something went wrong. No results.</p>`, "tea", ""},
		{"an error in Chinese", `<p id="m">网络不给力，未找到相关结果，请稍后重试</p>`, "茶", ""},
		{"a block", `<p id="m">No results: please confirm that you are not a robot.</p>`, "tea", ""},
		{"results that are kept back", `<p id="m">SafeSearch filters out results that may return adult content.</p>`, "tea", ""},
		{"an error that was searched for", `<p id="m">No results for something went wrong.</p>`, "Something went wrong", "No results for something went wrong."},
		{"hints", `<p id="m">未找到相关结果，请检查拼写错误，尝试其他关键词</p>`, "茶", "未找到相关结果，请检查拼写错误，尝试其他关键词"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := SaysNone(parsed(t, c.page).Find("#m"), c.asked); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestRowsThatAreLabelledAsAdvertisements(t *testing.T) {
	words := cascadia.MustCompile(`h2, p, a`)
	cases := []struct {
		name, row string
		want      bool
	}{
		{"a label", `<h2>Tea</h2><span>Ad</span>`, true},
		{"in brackets", `<h2>Tea</h2><div><i class="x">[Sponsored]</i></div>`, true},
		{"before an address", `<h2>Tea</h2><div>Anzeige · <cite>tea.example</cite></div>`, true},
		{"in Chinese", `<h2>茶</h2><em>广告</em>`, true},
		{"in Arabic", `<h2>شاي</h2><span>إعلان</span>`, true},
		{"in parts", `<h2>茶</h2><span><i>广</i><i>告</i></span>`, true},
		{"with what nobody sees", `<h2>茶</h2><span>广&#8203;告</span>`, true},
		{"for screen readers", `<h2>Tea</h2><div aria-label="Ad"></div>`, true},
		{"the title is such a word", `<h2><span>Ad</span></h2>`, false},
		{"the text is", `<h2>Tea</h2><p>Ad</p>`, false},
		{"a link of the page is", `<h2>Tea</h2><a href="/ads">Реклама</a>`, false},
		{"a longer text", `<h2>Tea</h2><span>Ad hoc</span>`, false},
		{"a hidden label", `<h2>Tea</h2><span hidden>Ad</span>`, false},
		{"no label", `<h2>Tea</h2><span></span>`, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Labelled(parsed(t, "<li>"+c.row).Find("li"), words); got != c.want {
				t.Errorf("labelled %t", got)
			}
		})
	}
}

func parsed(t *testing.T, page string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
