package parse

import (
	"io"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// flatDepth is how many elements flat nests. Deeper ones that only group
// others are left out; those that mean something have leafRoom levels more.
const (
	flatDepth = 128
	leafRoom  = 64
)

// popLimit is how far up an end tag looks for its element. It keeps a page of
// nothing but unmatched tags linear.
const popLimit = 128

// open is an element that has begun. Its node is nil where the tree is too deep
// to hold it: what it holds goes to the nearest one that has a node.
type open struct {
	name string
	node *html.Node
}

// flat builds a tree of bounded depth from the tokens alone, with few of the
// rules of HTML on where an element may stand. It cannot fail.
func flat(page io.Reader) *html.Node {
	root := &html.Node{Type: html.DocumentNode}
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	root.AppendChild(body)
	at := []*html.Node{body} // elements with a node, innermost last
	var stack []open
	z := html.NewTokenizer(page)
	for {
		kind := z.Next()
		top := at[len(at)-1]
		switch kind {
		case html.ErrorToken:
			return root
		case html.TextToken:
			top.AppendChild(&html.Node{Type: html.TextNode, Data: string(z.Text())})
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.DataAtom == atom.Html || t.DataAtom == atom.Body || t.DataAtom == atom.Head {
				continue
			}
			if n := len(stack); n > 0 && stack[n-1].node != nil && ends(t.DataAtom, stack[n-1].node.DataAtom) {
				at, stack = at[:len(at)-1], stack[:n-1]
			}
			top = at[len(at)-1]
			n := &html.Node{Type: html.ElementNode, Data: t.Data, DataAtom: t.DataAtom, Attr: t.Attr}
			if kind == html.SelfClosingTagToken || isVoid(t.DataAtom) {
				top.AppendChild(n)
				continue
			}
			if len(at) >= flatDepth && (!isLeafy(t.DataAtom) || len(at) >= flatDepth+leafRoom) {
				stack = append(stack, open{name: t.Data})
				continue
			}
			top.AppendChild(n)
			at = append(at, n)
			stack = append(stack, open{name: t.Data, node: n})
		case html.EndTagToken:
			name, _ := z.TagName()
			for i := len(stack) - 1; i >= max(0, len(stack)-popLimit); i-- {
				if stack[i].name != string(name) {
					continue
				}
				for _, o := range stack[i:] {
					if o.node != nil {
						at = at[:len(at)-1]
					}
				}
				stack = stack[:i]
				break
			}
		}
	}
}

// ends says whether an element that begins ends the one that it would stand
// in.
func ends(begins, in atom.Atom) bool {
	switch in {
	case atom.A, atom.Li, atom.Option:
		return begins == in
	case atom.P:
		return isBlock(begins)
	case atom.Td, atom.Th:
		return begins == atom.Td || begins == atom.Th || begins == atom.Tr
	case atom.Tr:
		return begins == atom.Tr
	case atom.Dt, atom.Dd:
		return begins == atom.Dt || begins == atom.Dd
	}
	return false
}

// isBlock tells elements before which a paragraph ends.
func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Ul, atom.Ol, atom.Dl, atom.Table, atom.Section, atom.Article, atom.Aside, atom.Nav, atom.Main,
		atom.Header, atom.Footer, atom.Blockquote, atom.Pre, atom.Form, atom.Figure, atom.Hr,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// isLeafy tells elements that views ask for or that hold no text of the page.
func isLeafy(a atom.Atom) bool {
	switch a {
	case atom.A, atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Pre, atom.Li, atom.Tr, atom.Td, atom.Th,
		atom.Title, atom.Script, atom.Style, atom.Noscript, atom.Textarea, atom.Select, atom.Template:
		return true
	}
	return false
}

func isVoid(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}
