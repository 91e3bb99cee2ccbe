package clean

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// attributes reads what the attributes of an element say into its row.
func (b *builder) attributes(at int32, n *html.Node) {
	row := &b.t.Rows[at]
	sig := uint32(n.DataAtom)
	for i := range n.Attr {
		a := &n.Attr[i]
		switch a.Key {
		case "class":
			row.Class = b.hints.find(a.Val)
			sig = signature(sig, a.Val)
		case "id":
			row.ID = b.hints.find(a.Val)
		case "role":
			row.Flags |= roleFlags(a.Val)
		case "itemprop":
			if strings.Contains(a.Val, "author") {
				row.Flags |= Author
			}
		case "rel":
			if a.Val == "author" {
				row.Flags |= Author
			}
		case "href":
			if len(a.Val) > 0 && a.Val[0] == '#' {
				row.Flags |= HashLink
			}
		case "hidden":
			if !strings.EqualFold(a.Val, "until-found") {
				row.Flags |= Hidden
			}
		case "aria-modal":
			if a.Val == "true" {
				row.Flags |= Overlay
			}
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") && n.DataAtom != atom.Body {
				row.Flags |= Hidden
			}
		case "style":
			if cleanse.HiddenByStyle(n, a.Val) {
				row.Flags |= Hidden
			}
		}
	}
	if row.Is(Overlay) && n.DataAtom != atom.Dialog && !row.Is(Unlikely) {
		row.Flags &^= Overlay // only a dialog is one
	}
	if n.DataAtom == atom.Main {
		row.Flags |= Main
	}
	row.Sig = sig
}

// signature tells elements of the same name and first class from others: the
// items of a list share it. FNV-1a.
func signature(h uint32, class string) uint32 {
	for i := range len(class) {
		if class[i] <= ' ' {
			if h != 0 && i > 0 {
				break
			}
			continue
		}
		if class[i] >= '0' && class[i] <= '9' {
			continue // counted classes: item-1, item-2
		}
		h = (h ^ uint32(class[i])) * 16777619
	}
	return h
}

func roleFlags(role string) Flag {
	switch strings.ToLower(strings.TrimSpace(role)) {
	case "menu", "menubar", "complementary", "navigation", "alert", "alertdialog", "dialog":
		return Unlikely | Frame
	case "contentinfo", "banner", "search":
		return Frame
	case "main":
		return Main
	}
	return 0
}

// IsUnread tells elements whose content is no text of the page.
func IsUnread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Head, atom.Title, atom.Iframe, atom.Object,
		atom.Embed, atom.Svg, atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Option, atom.Datalist,
		atom.Textarea, atom.Input, atom.Button, atom.Dialog, atom.Link, atom.Meta:
		return true
	}
	return n.Namespace == "svg"
}

// isFrame tells elements that hold the site rather than the page.
func isFrame(a atom.Atom) bool {
	switch a {
	case atom.Nav, atom.Footer, atom.Aside, atom.Menu:
		return true
	}
	return false
}

// IsBlock tells elements that begin and end a line.
func IsBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Dl, atom.Table,
		atom.Blockquote, atom.Pre, atom.Figure, atom.Article, atom.Section, atom.Main, atom.Hr, atom.Fieldset,
		atom.Details, atom.Header, atom.Footer, atom.Aside, atom.Nav, atom.Form, atom.Address, atom.Listing, atom.Xmp,
		atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Caption, atom.Summary, atom.Body,
		atom.Center, atom.Thead, atom.Tbody, atom.Tfoot, atom.Legend, atom.Hgroup, atom.Search, atom.Menu, atom.Td, atom.Th:
		return true
	}
	return false
}

// isWide tells elements that keep what holds them from being a paragraph.
func isWide(a atom.Atom) bool {
	switch a {
	case atom.Blockquote, atom.Dl, atom.Div, atom.Img, atom.Ol, atom.P, atom.Pre, atom.Table, atom.Ul:
		return true
	}
	return false
}

// IsPhrasing tells elements that stand within a line of text.
func IsPhrasing(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Abbr, atom.Audio, atom.B, atom.Bdo, atom.Br, atom.Button, atom.Cite, atom.Code, atom.Data, atom.Datalist,
		atom.Dfn, atom.Em, atom.Embed, atom.I, atom.Img, atom.Input, atom.Kbd, atom.Label, atom.Mark, atom.Math, atom.Meter,
		atom.Noscript, atom.Object, atom.Output, atom.Progress, atom.Q, atom.Ruby, atom.Samp, atom.Script, atom.Select,
		atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Textarea, atom.Time, atom.Var, atom.Wbr, atom.Font:
		return true
	case atom.A, atom.Del, atom.Ins:
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && !IsPhrasing(c) {
				return false
			}
		}
		return true
	}
	return false
}
