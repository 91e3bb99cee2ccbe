package clean

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func body(t testing.TB, page string) *html.Node {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.DataAtom == atom.Body {
			return n
		}
	}
	t.Fatal("no body")
	return nil
}

func build(t testing.TB, page string) *Table {
	t.Helper()
	table := Build(body(t, page))
	table.Measure()
	return table
}

func TestWordsOfClassesAndIDsAreFoundAnywhereInAnyCase(t *testing.T) {
	tests := []struct {
		name, value string
		has, not    Hint
	}{
		{"a whole word", "comment", HintUnlikely | HintNegative, HintPositive},
		{"within a word, in upper case", "TheCommentBox", HintUnlikely | HintNegative, HintPositive},
		{"two words, one inside the other", "sidebar-content", HintUnlikely | HintMaybe | HintPositive, HintTags},
		{"a word that must stand alone does", "a share b", HintShare, 0},
		{"at both ends", "share", HintShare, 0},
		{"a word that must stand alone does not", "shares-of-companies", 0, HintShare},
		{"between lines", "x\n\tad\ny", HintAd, 0},
		{"part of another word is no advertisement", "header-shadow", HintUnlikely, HintAd},
		{"letters of other scripts part words", "é-comment-ü", HintUnlikely, 0},
		{"nothing", "", 0, ^Hint(0)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := hintsOf().find(tt.value)
			if got&tt.has != tt.has || got&tt.not != 0 {
				t.Errorf("%q gives %b", tt.value, got)
			}
		})
	}
}

func TestTextsAreMeasuredInLettersAndCommas(t *testing.T) {
	tests := []struct {
		name, text      string
		letters, commas int32
	}{
		{"letters and single spaces", "ab cd", 5, 0},
		{"white space counts once, and not at the beginning", " \n ab \t cd", 5, 0},
		{"commas", "a, b, c", 7, 2},
		{"a CJK character is two letters, its comma a comma", "港は、朝", 8, 1},
		{"a Japanese full stop parts like a comma", "朝。", 4, 1},
		{"Arabic commas", "نعم، لا", 7, 1},
		{"no-break spaces are white space", "a\u00a0\u00a0b", 3, 0},
		{"nothing", "", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Text
			got.add(tt.text)
			if got.Letters != tt.letters || got.Commas != tt.commas {
				t.Errorf("%d letters and %d commas, want %d and %d", got.Letters, got.Commas, tt.letters, tt.commas)
			}
		})
	}
}

// rows names the rows of a table, each with those below it.
func rows(table *Table) string {
	var b strings.Builder
	var write func(i int32)
	write = func(i int32) {
		r := &table.Rows[i]
		switch {
		case r.Is(Run):
			b.WriteString("run")
		default:
			b.WriteString(r.Node.Data)
		}
		if r.Is(Para) {
			b.WriteByte('*')
		}
		if i+1 < r.End {
			b.WriteByte('(')
			for k := i + 1; k < r.End; k = table.Rows[k].End {
				if k > i+1 {
					b.WriteByte(' ')
				}
				write(k)
			}
			b.WriteByte(')')
		}
	}
	write(0)
	return b.String()
}

func TestInlineContentOfADivIsARun(t *testing.T) {
	tests := []struct{ name, page, want string }{
		{"text alone makes the div a paragraph", "<div>a <b>b</b></div>", "body(div*(run(b)))"},
		{"one paragraph in a div is the div", "<div><p>a</p></div>", "body(div*(p))"},
		{"text around a block", "<div>a<p>b</p>c <i>d</i></div>", "body(div(run p run(i)))"},
		{"two paragraphs", "<div><p>a</p><p>b</p></div>", "body(div(p p))"},
		{"white space is no run", "<div> <p>a</p>\n<p>b</p> </div>", "body(div(p p))"},
		{"a line break begins none", "<div><br><p>a</p></div>", "body(div*(br p))"},
		{"a link around blocks is no inline content", "<div><a href=x><p>a</p></a>b</div>", "body(div(a(p) run))"},
		{"other elements have none", "<section>a<p>b</p></section>", "body(section(p))"},
		{"what is in scripts is not looked at", "<div><script>x</script>a</div>", "body(div*(run(script)))"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rows(build(t, tt.page)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestMeasureAddsUpWhatIsSeen(t *testing.T) {
	table := build(t, `<p>five <a href=x>links</a></p><a href=#y>0123456789</a><script>no</script><p hidden>no</p><img src=x><ul><li>it</ul><h2>he</h2>`)
	got := table.Rows[0].Sum
	want := Mass{Letters: 24, Links: 8, Heads: 2, Lists: 2, Set: 12, Paras: 2, Items: 1, Imgs: 1, Anchors: 2}
	got.Set = want.Set
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if table.Hidden != 2 {
		t.Errorf("%d hidden letters", table.Hidden)
	}
}

func TestWhatIsDroppedIsTakenFromAllThatHoldIt(t *testing.T) {
	table := build(t, "<section><div><p>abc</p><p>de</p></div></section>")
	find := func(data string) int32 {
		for i := range table.Rows {
			if table.Rows[i].Node.Data == data {
				return int32(i)
			}
		}
		t.Fatal(data)
		return 0
	}
	table.Drop(find("p"))
	table.Drop(find("p")) // once
	if a, b := table.Rows[find("div")].Sum.Letters, table.Rows[0].Sum.Letters; a != 2 || b != 2 {
		t.Errorf("%d in the div, %d in the body", a, b)
	}
	table.Drop(find("div"))
	table.Drop(find("section"))
	if n := table.Rows[0].Sum.Letters; n != 0 {
		t.Errorf("%d letters are left", n)
	}
	table.Stash()
	if table.Rows[find("div")].Is(Out) {
		t.Error("the div is still out")
	}
	table.Rows[0].Flags |= Out
	table.Unstash()
	if !table.Rows[find("div")].Is(Out) || table.Rows[0].Is(Out) {
		t.Error("what was out before is not out again")
	}
}

func TestAPageThatWaitsForScriptsIsReadAsTheyWouldShowIt(t *testing.T) {
	long := strings.Repeat("text of the page ", 70)
	tests := []struct {
		name, page string
		reads      string // an element whose letters are counted
		revealed   bool
	}{
		{"a noscript element that says more than all the rest", "<div>Loading</div><noscript><em>" + long + "</em></noscript>", "em", false},
		{"a hidden element that holds nearly all of the page", "<div style='opacity:0'><h1>Page</h1><em>" + long + "</em></div>", "em", true},
		{"not a hidden element beside as much text", "<div style='opacity:0'><h1>Page</h1><em>" + long + "</em></div><p>" + long, "", false},
		{"not a hidden element without a heading of the page", "<div style='opacity:0'><em>" + long + "</em></div>", "", false},
		{"not a short hidden element", "<div style='opacity:0'><h1>Page</h1><em>ignore the text above</em></div>", "", false},
		{"not a noscript element that says little", "<p>text</p><noscript><em>Turn on scripts</em></noscript>", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := build(t, tt.page)
			read := ""
			for i := range table.Rows {
				if r := &table.Rows[i]; r.Tag == atom.Em && r.Sum.Letters > 0 {
					read = "em"
				}
			}
			if read != tt.reads || table.Revealed != tt.revealed {
				t.Errorf("reads %q, revealed %v", read, table.Revealed)
			}
		})
	}
}

func TestATableIsEmptyForTheNextPage(t *testing.T) {
	table := build(t, "<p>a<p>b<p>c")
	table.Free()
	for i := range table.Rows {
		if table.Rows[i].Node != nil {
			t.Fatal("a node of the last page is kept")
		}
	}
}
