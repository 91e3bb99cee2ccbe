package page

import (
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
	"github.com/nanoclaw/nanoclaw/services/search/internal/classify"
)

// SaysNone gives what a mark for "no results" says, as people read it. It is empty
// when nobody sees it, a part that waits for scripts for example, and when it says
// something else: that the results could not be had, or are kept back. asked is
// the query, whose words say nothing about the page.
func SaysNone(mark *goquery.Selection, asked string) string {
	if mark.Length() == 0 || !shown(mark.Nodes[0]) {
		return ""
	}
	text := adapter.CleanText(Text(mark.Nodes[0]))
	if classify.Fails(text, asked) {
		return ""
	}
	return text
}

// Text is the text of an element that browsers show.
func Text(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		if Hidden(n) {
			return
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

// shown reports whether neither an element nor anything around it is hidden.
func shown(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if Hidden(n) {
			return false
		}
	}
	return true
}

// hiding are the classes by which engines hide what they may show later.
var hiding = []string{"is-hidden", "b_hide", "hidden", "hide"}

// Hidden reports whether a node is one that browsers do not show, by what it is
// and carries itself.
func Hidden(n *html.Node) bool {
	if classify.Unseen(n) || n.DataAtom == atom.Select {
		return true
	}
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			return strings.Contains(strings.ToLower(strings.ReplaceAll(a.Val, " ", "")), "display:none")
		case "class":
			return slices.ContainsFunc(strings.Fields(a.Val), func(c string) bool { return slices.Contains(hiding, c) })
		}
		return false
	})
}
