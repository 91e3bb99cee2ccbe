package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isUnread tells elements whose content is no text of the page.
func isUnread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Title, atom.Iframe, atom.Object,
		atom.Embed, atom.Svg, atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Option, atom.Datalist,
		atom.Textarea, atom.Input, atom.Button, atom.Dialog, atom.Link, atom.Meta:
		return true
	}
	return n.Namespace == "svg"
}

// isFrame tells elements that hold the site rather than the page.
func isFrame(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Aside, atom.Menu:
		return true
	}
	switch attr(n, "role") {
	case "navigation", "contentinfo", "complementary", "banner", "search", "menu", "menubar", "dialog", "alertdialog":
		return true
	}
	return false
}

// isHidden tells elements that a reader of the page does not see.
func isHidden(n *html.Node) bool {
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "hidden":
			return !strings.EqualFold(a.Val, "until-found")
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") {
				return true
			}
		case "style":
			if hidesByStyle(a.Val) {
				return true
			}
		}
	}
	return false
}

func hidesByStyle(style string) bool {
	if !strings.Contains(style, ":") {
		return false
	}
	for decl := range strings.SplitSeq(strings.ToLower(style), ";") {
		key, val, _ := strings.Cut(decl, ":")
		val = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(val), "!important"))
		switch strings.TrimSpace(key) {
		case "display":
			if val == "none" {
				return true
			}
		case "visibility":
			if val == "hidden" || val == "collapse" {
				return true
			}
		case "font-size":
			if val == "0" || val == "0px" || val == "0pt" || val == "0em" {
				return true
			}
		}
	}
	return false
}

// breaks is how many line breaks stand around an element: 0 inline, 1 a line of
// its own, 2 a paragraph of its own.
func breaks(a atom.Atom) int {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Blockquote, atom.Pre, atom.Figure, atom.Article, atom.Section, atom.Main, atom.Hr, atom.Fieldset,
		atom.Details, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Form, atom.Address, atom.Listing, atom.Xmp:
		return 2
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Caption, atom.Summary, atom.Body,
		atom.Center, atom.Thead, atom.Tbody, atom.Tfoot, atom.Legend, atom.Hgroup, atom.Search, atom.Option, atom.Menu, atom.Td, atom.Th:
		return 1
	}
	return 0
}
