// Package correction reads which query a result page says that it searched, when
// that is not the one asked: "Showing results for tea. Search instead for tee".
//
// Such a notice names two queries, and engines set either of them, or both, as a
// link, in bold, in quotes or plainly, in either order. What tells them apart are
// the words before each, and that one of them is the query asked.
package correction

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// maxNoticeRunes tells a notice from an answer that happens to use its words,
// beside the queries that both name.
const maxNoticeRunes = 600

// Of gives the query that the results are for, as the first of some notices says
// that says so, or "" when none does. asked is the query that was asked, as far as
// it is known.
func Of(notices *goquery.Selection, asked string) string {
	for _, n := range notices.Nodes {
		if q := of(n, asked); q != "" {
			return q
		}
	}
	return ""
}

func of(notice *html.Node, asked string) string {
	t := read(notice)
	if utf8.RuneCountInString(t.text) > maxNoticeRunes+2*utf8.RuneCountInString(asked) {
		return ""
	}
	marks := find(t.lower)
	for _, s := range t.shown {
		if m := before(marks, s.start); m.role == searched && !ends(t.text[m.end:s.start]) {
			if q := other(asked, t.query(s)); q != "" {
				return q
			}
		}
	}
	return plain(t, marks, asked)
}

// First gives the first query that a notice shows and that is not the one asked,
// for notices whose place on the page says what they are.
func First(notice *goquery.Selection, asked string) string {
	if notice.Length() == 0 {
		return ""
	}
	t := read(notice.Nodes[0])
	marks := find(t.lower)
	for _, s := range t.shown {
		if before(marks, s.start).role == refused {
			continue
		}
		if q := other(asked, t.query(s)); q != "" {
			return q
		}
	}
	return ""
}

var searchBox = cascadia.MustCompile(`input[name="q"], input[name="wd"], input[name="word"]`)

// Asked is the query that was asked: the one known, else the one in the page's
// own search box.
func Asked(doc *goquery.Document, known string) string {
	return cmp.Or(known, doc.FindMatcher(searchBox).First().AttrOr("value", ""))
}

// shown is a part of a notice that stands out, from and to a byte of its text.
type shown struct {
	start, end int
	// link is the query of the link, where it is one.
	link string
}

// text is a notice as text, with what stands out in it. lower has the same
// length.
type text struct {
	text, lower string
	shown       []shown
}

// read takes links to searches, and what is bold outside of them.
func read(notice *html.Node) text {
	var t text
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			fold(&b, n.Data)
			return
		case n.Type == html.ElementNode && (n.DataAtom == atom.Script || n.DataAtom == atom.Style):
			return
		}
		start, known := b.Len(), len(t.shown)
		for c := range n.ChildNodes() {
			walk(c)
		}
		query, isLink := searchLink(n)
		switch {
		case isLink:
			t.shown = append(t.shown[:known], shown{start, b.Len(), query})
		case isBold(n) && len(t.shown) == known:
			t.shown = append(t.shown, shown{start, b.Len(), ""})
		}
	}
	walk(notice)
	fold(&b, " ")
	t.text = b.String()
	t.lower = strings.Map(lower, t.text)
	return t
}

// fold writes a text with each run of blanks as one.
func fold(b *strings.Builder, s string) {
	for _, r := range s {
		if !unicode.IsSpace(r) && !unicode.IsControl(r) {
			b.WriteRune(r)
		} else if n := b.Len(); n > 0 && b.String()[n-1] != ' ' {
			b.WriteByte(' ')
		}
	}
}

// lower keeps the length.
func lower(r rune) rune {
	if l := unicode.ToLower(r); utf8.RuneLen(l) == utf8.RuneLen(r) {
		return l
	}
	return r
}

func isBold(n *html.Node) bool {
	switch n.DataAtom {
	case atom.B, atom.Strong, atom.Em, atom.I, atom.Mark:
		return n.Type == html.ElementNode
	}
	return false
}

// searchLink gives the query that a link leads to.
func searchLink(n *html.Node) (string, bool) {
	if n.Type != html.ElementNode || n.DataAtom != atom.A {
		return "", false
	}
	for _, a := range n.Attr {
		if a.Key != "href" {
			continue
		}
		u, err := url.Parse(strings.TrimSpace(a.Val))
		if err != nil {
			return "", false
		}
		params := u.Query()
		for _, name := range []string{"q", "wd", "word"} {
			if params.Has(name) {
				return adapter.CleanText(params.Get(name)), true
			}
		}
	}
	return "", false
}

// query is the query of what stands out: its text, or that of the link when the
// text is cut or missing. It is "" for the words around it and for a whole offer
// to search for something else.
func (t text) query(s shown) string {
	from := s.start
	for _, m := range find(t.lower[s.start:s.end]) {
		if m.role == refused && m.start == 0 {
			return ""
		}
		if m.role == searched {
			from = s.start + m.end
		}
	}
	q := adapter.CleanText(t.text[from:s.end])
	if s.link != "" && (q == "" || strings.HasSuffix(q, "…") || strings.HasSuffix(q, "...")) {
		q = s.link
	}
	return q
}

// mark is where words of a role stand in a notice.
type mark struct {
	start, end int
	role       role
}

// find gives the marks of a text in lower case in the order of their ends.
func find(lower string) []mark {
	var all []mark
	for r, phrases := range words {
		for _, p := range phrases {
			for at := 0; ; {
				i := strings.Index(lower[at:], p)
				if i < 0 {
					break
				}
				all = append(all, mark{at + i, at + i + len(p), r})
				at += i + len(p)
			}
		}
	}
	slices.SortFunc(all, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.role, b.role), cmp.Compare(a.start, b.start))
	})
	for i, m := range all {
		if m.role != perhaps {
			continue
		}
		all[i].role = unsaid
		if last := all[len(all)-1]; last.role == refused && last.start >= m.end {
			all[i].role = searched
		}
	}
	return slices.DeleteFunc(all, func(m mark) bool { return m.role == unsaid })
}

// before is the last mark that ends before a place.
func before(marks []mark, at int) mark {
	var last mark
	for _, m := range marks {
		if m.end <= at {
			last = m
		}
	}
	return last
}

// ends reports whether a sentence ends between the words and a query.
func ends(between string) bool {
	return strings.ContainsAny(between, "。？?！!") || strings.Contains(between, ". ")
}
