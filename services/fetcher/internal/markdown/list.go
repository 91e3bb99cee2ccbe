package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// list is a list being written.
type list struct {
	ordered bool
	// bullet is '-' or '*'; for ordered lists what follows the number, '.' or
	// ')'. Two lists that touch have different ones, else they would be one.
	bullet byte
	number int
	step   int
	any    bool // it has an item
}

// lists remembers the list that ended last.
type lists struct {
	end, depth int
	bullet     byte
}

func (w *writer) list(n *html.Node) {
	if w.mode != blocks {
		w.flatList(n)
		return
	}
	l := list{ordered: n.DataAtom == atom.Ol, bullet: '-', number: 1, step: 1}
	if l.ordered {
		l.bullet = '.'
		l.number, l.step = startOf(n)
	}
	l.bullet = w.unlikeLast(l.bullet)
	if w.inItem() && (!l.ordered || l.number == 1) {
		w.gap, w.space = newLine, false
	} else {
		w.want(blankLine)
	}
	w.items(n, &l)
	if l.any {
		w.listEnds(l.bullet)
	}
	w.want(blankLine)
}

// unlikeLast is the bullet, or another one where a list with the same touches.
func (w *writer) unlikeLast(bullet byte) byte {
	if last := w.lists; last.end > 0 && last.end == len(w.out) && last.depth == len(w.boxes) && last.bullet == bullet {
		return other(bullet)
	}
	return bullet
}

// listEnds remembers that a list has just been written.
func (w *writer) listEnds(bullet byte) {
	w.closeSpans()
	w.lists = lists{end: len(w.out), depth: len(w.boxes), bullet: bullet}
}

func other(bullet byte) byte {
	switch bullet {
	case '-':
		return '*'
	case '*':
		return '-'
	case '.':
		return ')'
	default:
		return '.'
	}
}

// inItem says whether the innermost box is a list item that has its first line.
func (w *writer) inItem() bool {
	k := len(w.boxes)
	return k > 0 && w.boxes[k-1].used && strings.TrimLeft(w.boxes[k-1].rest, " ") == ""
}

// items writes what is in a list. Lists and text right in a list, which HTML
// does not allow and browsers show, become part of the item before or items of
// their own.
func (w *writer) items(n *html.Node, l *list) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			if strings.TrimSpace(c.Data) != "" {
				w.item(c, l)
			}
		case c.Type != html.ElementNode:
		case c.DataAtom == atom.Li:
			if !w.skips(c) {
				w.item(c, l)
			}
		case c.DataAtom == atom.Ul || c.DataAtom == atom.Ol:
			w.sublist(c, l)
		case c.DataAtom == atom.Script || c.DataAtom == atom.Style || c.DataAtom == atom.Template:
		case wrapsItems(c):
			if !w.skips(c) {
				w.items(c, l)
			}
		default:
			w.item(c, l)
		}
	}
}

// wrapsItems says whether an element between a list and its items groups them.
func wrapsItems(n *html.Node) bool {
	for n != nil {
		var only *html.Node
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.DataAtom == atom.Li:
				return true
			case c.Type != html.ElementNode:
			case only != nil:
				return false
			default:
				only = c
			}
		}
		n = only
	}
	return false
}

// sublist writes a list that stands right in a list: below the item before it.
func (w *writer) sublist(n *html.Node, l *list) {
	if w.skips(n) {
		return
	}
	if !l.any {
		w.items(n, l)
		return
	}
	l.number -= l.step
	indent := spaces(len(l.marker()))
	l.number += l.step
	w.gap, w.space = newLine, false
	w.boxes = append(w.boxes, box{rest: indent, used: true})
	w.list(n)
	w.close()
}

// item writes one item. n is a li, or what stands in the place of one.
func (w *writer) item(n *html.Node, l *list) {
	if w.footnote(n) {
		return
	}
	if w.mode != blocks {
		w.want(newLine)
		w.childrenOrSelf(n)
		w.want(newLine)
		return
	}
	if value := attr(n, "value"); l.ordered && value != "" {
		if v, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && v >= 0 && v <= maxNumber {
			l.number = v
		}
	}
	g := newLine
	if !l.any {
		g = max(w.gap, newLine)
	}
	w.gap, w.space = g, false
	w.closeSpans()
	marker := l.marker()
	boxed := w.open(marker, spaces(len(marker)))
	if boxed && hasToken(attr(n, "class"), "checked", "task-list-item-checked") && !holds(n, isCheckbox) {
		w.begin('[')
		w.out = append(w.out, "[x]"...)
		w.space = true
	}
	before := len(w.out)
	w.childrenOrSelf(n)
	w.closeSpans()
	if boxed {
		w.close()
	}
	if len(w.out) > before {
		l.any = true
		w.gap, w.space = newLine, false
	}
	if l.any { // empty items before the first do not count
		l.number += l.step
	}
}

func (w *writer) childrenOrSelf(n *html.Node) {
	if n.DataAtom == atom.Li {
		w.children(n)
		return
	}
	w.node(n)
}

// maxNumber is the largest number that an item may have in CommonMark.
const maxNumber = 999_999_999

// marker is what begins the next item.
func (l *list) marker() string {
	if !l.ordered {
		if l.bullet == '*' {
			return "* "
		}
		return "- "
	}
	return strconv.Itoa(min(max(l.number, 0), maxNumber)) + string(rune(l.bullet)) + " "
}

const blanks = "                "

func spaces(n int) string { return blanks[:min(n, len(blanks))] }

// startOf is the number of the first item of an ordered list and the step to
// the next.
func startOf(n *html.Node) (number, step int) {
	number, step = 1, 1
	reversed := hasAttr(n, "reversed")
	if reversed {
		number, step = 0, -1
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Li {
				number++
			}
		}
	}
	if start := attr(n, "start"); start != "" {
		if v, err := strconv.Atoi(strings.TrimSpace(start)); err == nil && v >= 0 && v <= maxNumber {
			number = v
		}
	}
	return number, step
}

func isCheckbox(n *html.Node) bool {
	return n.DataAtom == atom.Input && strings.EqualFold(attr(n, "type"), "checkbox")
}

// checkbox writes the box of a task, where it begins an item of a list.
func (w *writer) checkbox(n *html.Node) {
	k := len(w.boxes)
	if w.mode != blocks || k == 0 || w.boxes[k-1].used || !isCheckbox(n) {
		return
	}
	w.begin('[')
	if hasAttr(n, "checked") {
		w.out = append(w.out, "[x]"...)
	} else {
		w.out = append(w.out, "[ ]"...)
	}
	w.space = true
}

// flatList writes a list in a table cell: an item a line.
func (w *writer) flatList(n *html.Node) {
	number, step := startOf(n)
	w.want(newLine)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode {
			w.node(c)
			continue
		}
		if w.skips(c) {
			continue
		}
		w.want(newLine)
		switch {
		case c.DataAtom != atom.Li || !hasText(c):
		case w.mode == heading:
			w.space = true
		case n.DataAtom == atom.Ol:
			w.begin('1')
			w.out = strconv.AppendInt(w.out, int64(number), 10)
			w.out = append(w.out, '.')
			w.space = true
			number += step
		default:
			w.begin('-')
			w.out = append(w.out, '-')
			w.space = true
		}
		w.childrenOrSelf(c)
		w.want(newLine)
	}
}
