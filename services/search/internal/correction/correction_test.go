package correction

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

func TestTheQueryThatWasSearchedInstead(t *testing.T) {
	const asked, right = "tee ceremny", "tea ceremony"
	cases := []struct{ name, notice, asked, want string }{
		{"two links", `Showing results for <a href="/search?q=tea+ceremony">tea ceremony</a>. Search instead for <a href="/search?q=%2Btee+ceremny">tee ceremny</a>`, asked, right},
		{"two links and nobody knows what was asked", `Showing results for <a href="/search?q=tea+ceremony">tea ceremony</a>. Search instead for <a href="/search?q=%2Btee+ceremny">tee ceremny</a>`, "", right},
		{"the way back first", `Search instead for <a href="/search?q=%2Btee+ceremny">tee ceremny</a>? Showing results for <a href="/search?q=tea+ceremony">tea ceremony</a>`, "", right},
		{"bold, and a link back", `Showing results for <strong>tea ceremony</strong>. Search instead for <a href="/search?q=%2Btee+ceremny">tee ceremny</a>.`, asked, right},
		{"bold, and a link back, and nobody knows", `Showing results for <strong>tea ceremony</strong>. Search instead for <a href="/search?q=%2Btee+ceremny">tee ceremny</a>.`, "", right},
		{"two in bold", `Showing results for <b>tea ceremony</b>. Search instead for <b>tee ceremny</b>`, asked, right},
		{"plainly", `Showing results for tea ceremony. Search instead for <a href="/search?q=x">tee ceremny</a>`, asked, right},
		{"in quotes", `Showing results for “tea ceremony”. Only for “tee ceremny”?`, asked, right},
		{"the whole offer is the link", `Showing results for <a href="?q=tea+ceremony">tea ceremony</a>. <a href="?q=%22tee+ceremny%22">Search instead for tee ceremny</a>`, asked, right},
		{"the whole notice is bold", `<b>Showing results for <a href="?q=tea+ceremony">tea ceremony</a>. Search instead for <a href="?q=x">tee ceremny</a></b>`, asked, right},
		{"the words in bold, too", `<strong>Showing results for</strong> <a href="?q=tea+ceremony">tea ceremony</a>`, asked, right},
		{"the words within the bold", `<strong>Showing results for tea ceremony</strong>`, asked, right},
		{"a part of the link in bold", `Including results for <a href="?q=tea+ceremony"><b>tea</b> ceremony</a>. Search only for <a href="?q=x">"tee ceremny"</a>?`, asked, right},
		{"a link with its text cut", `Including results for <a href="?q=tea+ceremony">tea cere…</a>.`, asked, right},
		{"a link without text", `Including results for <a href="?q=tea+ceremony"><img></a>.`, asked, right},
		{"a hard blank", "Showing results\u00a0for <b>tea&nbsp;ceremony</b>", asked, right},
		{"capitals", `SHOWING RESULTS FOR <B>tea ceremony</B>`, asked, right},
		{"results for, with a way back", `Results for <b>tea ceremony</b>. Search only for <b>tee ceremny</b>?`, asked, right},
		{"results for, without one", `Results for <b>tea ceremony</b>`, asked, ""},
		{"a suggestion", `Did you mean <a href="?q=tea+ceremony">tea ceremony</a>?`, asked, ""},
		{"a suggestion in German", `Meinten Sie <a href="?q=tea+ceremony">tea ceremony</a>?`, asked, ""},
		{"the query asked itself", `Showing results for <a href="?q=x">Tee  Ceremny</a>`, asked, ""},
		{"the query asked itself, in quotes", `Showing results for <b>"tee ceremny"</b>`, asked, ""},
		{"a quotation searched without its quotes", `No results found for "tea ceremony". Showing results for <a href="?q=tea+ceremony">tea ceremony</a> (without quotes).`, `"tea ceremony"`, right},
		{"nothing found for the query as written", `No results found for <b>"tee ceremny"</b>. Showing results for <b>tee ceremny</b>`, `"tee ceremny"`, asked},
		{"German", `Einschließlich Ergebnisse für <a href="?q=x">tea ceremony</a>. Möchten Sie nur Ergebnisse für <a href="?q=y">tee ceremny</a>?`, "", right},
		{"German, searched instead", `Es werden Ergebnisse für <b>tea ceremony</b> angezeigt. Stattdessen nach <b>tee ceremny</b> suchen`, "", right},
		{"French", `Résultats inclus pour <a href="?q=x">tea ceremony</a>. Rechercher plutôt <a href="?q=y">tee ceremny</a>`, "", right},
		{"French, of the other kind", `Voulez-vous uniquement des résultats pour <a href="?q=y">tee ceremny</a> ? Affichage des résultats pour <a href="?q=x">tea ceremony</a>`, "", right},
		{"Spanish", `Se incluyen resultados de <a href="?q=x">tea ceremony</a>. ¿Quieres resultados solo de <a href="?q=y">tee ceremny</a>?`, "", right},
		{"Spanish, searched instead", `Mostrando resultados de <b>tea ceremony</b>. Buscar en su lugar <b>tee ceremny</b>`, "", right},
		{"Chinese", `包含以下内容的结果: <a href="?q=x">龙井茶</a>。是否只需要 <a href="?q=y">龙进茶</a> 的结果?`, "", "龙井茶"},
		{"Baidu, bold", `已显示“<strong>龙井茶</strong>”的搜索结果。仍然搜索：<a href="/s?wd=x"><strong class="l">龙进茶</strong></a>`, "龙进茶", "龙井茶"},
		{"Baidu, links", `以下为您显示“<a href="/s?wd=x">龙井茶</a>”的搜索结果，仍然搜索：<a href="/s?wd=y">龙进茶</a>`, "", "龙井茶"},
		{"Baidu, plainly", `以下为您显示“龙井茶”的搜索结果，仍然搜索：<a href="/s?wd=y">龙进茶</a>`, "龙进茶", "龙井茶"},
		{"Baidu, a suggestion", `您要找的是不是: <strong>龙井茶</strong>`, "龙进茶", ""},
		{"wide letters are the same", `Showing results for <b>tea</b>`, "ｔｅａ", ""},
		{"the operators of the filter are not the query", `Showing results for <b>tea ceremony</b>`, "tea ceremony (site:a.example OR site:b.example)", ""},
		{"a long answer that uses the words", strings.Repeat("word ", 200) + `showing results for <b>tea</b>`, asked, ""},
		{"another sentence", `Showing results for you. <b>Settings</b>`, "you", ""},
		{"nothing", ``, asked, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc, err := goquery.NewDocumentFromReader(strings.NewReader("<div>" + c.notice + "</div>"))
			if err != nil {
				t.Fatal(err)
			}
			if got := Of(doc.Find("div"), c.asked); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTheSameQuery(t *testing.T) {
	cases := []struct {
		asked, shown string
		want         bool
	}{
		{"tea", "tea", true}, {"Tea  Ceremony", "tea ceremony", true}, {"tea", `"tea"`, true}, {"tea", "“tea”", true},
		{`"tea ceremony"`, "tea ceremony", false}, {`"tea ceremony"`, "“tea ceremony”", true}, {"tea", "+tea", true}, {"c++", "c", false},
		{"tea site:example.com", "tea", true}, {"tea -site:example.com", "tea", true}, {"tea", "tee", false}, {"", "tea", false},
		{"ＣＡＦＥ", "cafe", true}, {"café", "cafe\u0301", true}, {"site:a.example", "site:b.example", false},
		{"שלום", "\u200fשלום\u200f", true}, {"می\u200cخواهم", "میخواهم", true}, {"tea", "\u202atea\u202c", true}, {"שלום", "\u200fשלומי", false},
	}
	for _, c := range cases {
		if got := Same(c.asked, c.shown); got != c.want {
			t.Errorf("%q and %q: %t", c.asked, c.shown, got)
		}
	}
}
