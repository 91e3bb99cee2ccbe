package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// notes are the footnotes that the text refers to, by the id of where they
// stand.
type notes struct {
	labels map[string]string
	taken  map[string]bool
}

// footnoteMark writes the mark of a footnote and says whether n is one: a link
// into the page in a sup element, or one that says what it is.
func (w *writer) footnoteMark(n *html.Node) bool {
	a := n
	switch {
	case n.DataAtom == atom.Sup:
		if a = soleAnchor(n); a == nil {
			return false
		}
	case n.DataAtom != atom.A || !saysNote(n):
		return false
	}
	id, ok := strings.CutPrefix(attr(a, "href"), "#")
	if !ok || id == "" || w.mode == plain || w.mode == heading || w.inLink {
		return false
	}
	if n.DataAtom == atom.Sup && !saysNote(a) && !isNoteID(id) && !hasToken(attr(n, "class"), "reference", "footnote-ref", "footnote") {
		return false
	}
	label := w.notes.label(id, textOf(a))
	if label == "" {
		return false
	}
	w.space = false
	w.begin('[')
	w.guardBang()
	w.out = append(w.out, "[^"...)
	w.out = append(w.out, label...)
	w.out = append(w.out, ']')
	return true
}

// soleAnchor is the link that is all there is in a sup element.
func soleAnchor(n *html.Node) *html.Node {
	var a *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.Trim(c.Data, " \t\n\r[]") == "":
		case c.DataAtom == atom.A && a == nil:
			a = c
		case c.DataAtom == atom.Span && a == nil && c.FirstChild != nil:
			if a = soleAnchor(c); a == nil {
				return nil
			}
		default:
			return nil
		}
	}
	return a
}

func saysNote(n *html.Node) bool {
	return hasAttr(n, "data-footnote-ref") || attr(n, "role") == "doc-noteref" || attr(n, "epub:type") == "noteref" ||
		hasToken(attr(n, "class"), "footnote-ref", "footnote-reference", "footnote", "footnoteref", "noteref", "fn-ref")
}

// isNoteID tells the ids that footnotes have.
func isNoteID(id string) bool {
	id = strings.TrimPrefix(strings.ToLower(id), "user-content-")
	for _, p := range [...]string{"fn", "footnote", "cite_note", "cite-note", "note", "ftn", "_ftn", "endnote", "ref-", "bib", "citation", "easy-footnote", "sdfootnote"} {
		if strings.HasPrefix(id, p) {
			return true
		}
	}
	return false
}

// maxNotes bounds how many footnotes are kept apart.
const maxNotes = 10_000

// label is the label of the footnote with the id: what its mark shows, where
// that is not another's.
func (t *notes) label(id, shown string) string {
	if label := t.labels[id]; label != "" {
		return label
	}
	if len(t.labels) >= maxNotes {
		return ""
	}
	label := labelOf(shown)
	if label == "" {
		label = labelOf(id)
	}
	if label == "" {
		return ""
	}
	if t.labels == nil {
		t.labels, t.taken = map[string]string{}, map[string]bool{}
	}
	for base, n := label, 2; t.taken[label]; n++ {
		label = base + "-" + strconv.Itoa(n)
	}
	t.labels[id], t.taken[label] = label, true
	return label
}

// labelOf makes a label of a text: its letters and digits. It is "" for a text
// that is too long to be one.
func labelOf(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return ""
	}
	var b strings.Builder
	dash := false
	for _, r := range s {
		if isSpace(r) || isPunct(r) {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// footnote writes a list item that a mark in the text refers to as the text of
// the footnote, and says whether it is one.
func (w *writer) footnote(n *html.Node) bool {
	if len(w.notes.labels) == 0 || n.Type != html.ElementNode || w.mode != blocks {
		return false
	}
	label := w.notes.labels[attr(n, "id")]
	if label == "" {
		return false
	}
	w.want(blankLine)
	w.closeSpans()
	boxed := w.open("[^"+label+"]: ", "    ")
	w.children(n)
	w.closeSpans()
	if boxed {
		w.close()
	}
	w.want(blankLine)
	return true
}

// isBacklink tells the sign that leads from a footnote back to its mark.
func isBacklink(n *html.Node) bool {
	if hasAttr(n, "data-footnote-backref") || attr(n, "role") == "doc-backlink" ||
		hasToken(attr(n, "class"), "footnote-back", "footnote-backref", "reversefootnote", "fn-backref", "mw-cite-backlink") {
		return true
	}
	href := attr(n, "href")
	if href == "" || href[0] != '#' {
		return false
	}
	switch strings.TrimSpace(strings.Trim(textOf(n), "\ufe0e\ufe0f")) {
	case "↩", "↑", "^", "↵", "⏎", "↩︎":
		return true
	}
	return false
}
