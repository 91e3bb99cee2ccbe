package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// special writes elements that stand for something else than what is in them,
// and says whether n is one. It is asked before Skip is for what is in n: the
// source of a formula is hidden on most pages.
func (w *writer) special(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Span, atom.Div, atom.P, atom.Code:
	case atom.Li:
		return isClone(attr(n, "class"))
	case 0:
		return n.Data == "mjx-container" && w.barren == nil && (w.skips(n) || w.mathJax(n))
	default:
		return false
	}
	class := attr(n, "class")
	if len(class) < len("math") {
		return false
	}
	if n.DataAtom == atom.Div && isClone(class) {
		return true
	}
	if strings.Contains(class, "ath") || strings.Contains(class, "katex") {
		if w.barren != nil {
			return false
		}
		return w.skips(n) || w.formula(n, class)
	}
	return false
}

// skips says whether a node is to be left out.
func (w *writer) skips(n *html.Node) bool { return w.o.Skip != nil && w.o.Skip(n) }

// isClone tells the copies that a carousel makes of its slides (firecrawl#2514).
func isClone(class string) bool {
	return strings.Contains(class, "clone") && hasToken(class, "slick-cloned", "cloned", "splide__slide--clone", "glide__slide--clone") ||
		strings.Contains(class, "duplicate") && hasToken(class, "swiper-slide-duplicate")
}

// formula writes an element that shows a formula, by the source it has: KaTeX,
// MathJax, MediaWiki, and the spans of pandoc, Sphinx, MkDocs and Stack
// Exchange that a script fills.
func (w *writer) formula(n *html.Node, class string) bool {
	for token := range strings.FieldsSeq(class) {
		switch token {
		case "katex-html", "MathJax_Preview":
			return true
		case "MathJax", "MathJax_Display", "MathJax_SVG", "MathJax_SVG_Display", "MathJax_CHTML", "MJXc-display", "MathJax_LinebreakLayout":
			return w.mathJax(n)
		case "katex", "katex-display", "mwe-math-element", "katex-mathml":
			tex, block := source(n)
			if tex == "" {
				w.barren = n
				return false
			}
			w.math(tex, block || token == "katex-display" || isDisplayed(n))
			return true
		case "math", "math-container", "arithmatex", "mathjax", "MathJye", "mathjax-tex":
			if tex, block := delimited(shortText(n)); tex != "" {
				w.math(tex, block || n.DataAtom == atom.Div)
				return true
			}
			if hasToken(class, "inline", "display") && n.FirstChild != nil && n.FirstChild == n.LastChild && n.FirstChild.Type == html.TextNode {
				w.math(n.FirstChild.Data, hasToken(class, "display")) // pandoc without a script
				return true
			}
		}
	}
	return false
}

// shortText is the text of an element that can be a formula, "" of one that has
// too much in it.
func shortText(n *html.Node) string {
	var b strings.Builder
	nodes := 0
	for d := range n.Descendants() {
		if nodes++; nodes > maxBareMath || b.Len() > maxBareMath {
			return ""
		}
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// isDisplayed says whether a wrapper shows the formula on lines of its own.
func isDisplayed(n *html.Node) bool {
	return n.Parent != nil && strings.Contains(attr(n.Parent, "class"), "katex-display")
}

// mathJax writes what MathJax has rendered. Its source is in the script behind
// it, which is written then, or in the MathML for those who cannot see.
func (w *writer) mathJax(n *html.Node) bool {
	for s, seen := n.NextSibling, 0; s != nil && seen < 3; s, seen = s.NextSibling, seen+1 {
		if isMathScript(s) {
			return true
		}
	}
	if p := n.Parent; p != nil && strings.Contains(attr(p, "class"), "MathJax_Display") {
		return w.mathJax(p)
	}
	tex, block := source(n)
	if tex == "" {
		w.barren = n
		return false
	}
	w.math(tex, block || attr(n, "display") == "true")
	return true
}

func isMathScript(n *html.Node) bool {
	return n.DataAtom == atom.Script && strings.HasPrefix(attr(n, "type"), "math/")
}

// script writes the source of a formula; other scripts are no text.
func (w *writer) script(n *html.Node) {
	if strings.HasPrefix(attr(n, "type"), "math/tex") {
		w.math(textOf(n), strings.Contains(attr(n, "type"), "mode=display"))
	}
}

// mathML writes MathML: by the TeX it was made from, else by its symbols.
func (w *writer) mathML(n *html.Node) {
	if tex, block := source(n); tex != "" {
		w.math(tex, block)
		return
	}
	w.children(n)
}

// source is the TeX below n: an annotation, the text for those who cannot see
// the formula, or that of its image.
func source(n *html.Node) (tex string, display bool) {
	m := n
	if n.DataAtom != atom.Math {
		m = first(n, func(k *html.Node) bool { return k.DataAtom == atom.Math })
	}
	if m != nil {
		display = attr(m, "display") == "block"
		a := first(m, func(k *html.Node) bool {
			return strings.HasPrefix(k.Data, "annotation") && strings.Contains(attr(k, "encoding"), "tex")
		})
		if a != nil {
			if tex = strings.TrimSpace(textOf(a)); tex != "" {
				return tex, display
			}
		}
		if tex = strings.TrimSpace(attr(m, "alttext")); tex != "" {
			return tex, display
		}
	}
	if n.DataAtom != atom.Math {
		if img := first(n, isImg); img != nil {
			return imageMath(img), false
		}
	}
	return "", display
}

// imageMath is the TeX of an image that shows a formula, "" for other images.
func imageMath(n *html.Node) string {
	class := attr(n, "class")
	if class == "" || !strings.Contains(class, "math") && !strings.Contains(class, "tex") {
		return ""
	}
	if hasToken(class, "latex", "tex", "math") || strings.Contains(class, "mwe-math") {
		return strings.TrimSpace(attr(n, "alt"))
	}
	return ""
}

// math writes the source of a formula between dollar signs.
func (w *writer) math(tex string, display bool) {
	tex = strings.TrimSpace(tex)
	if inner, _ := delimited(tex); inner != "" {
		tex = inner
	}
	for _, style := range [...]string{`{\displaystyle`, `{\textstyle`} {
		if inner, ok := strings.CutPrefix(tex, style); ok && strings.HasSuffix(inner, "}") {
			tex = strings.TrimSpace(inner[:len(inner)-1])
		}
	}
	if tex == "" {
		return
	}
	display = display && w.mode == blocks && !w.inLink
	if !display {
		tex = folded(tex)
		w.begin('$')
		w.raw("$")
		w.raw(tex)
		w.raw("$")
		return
	}
	w.want(blankLine)
	w.beginBlock()
	w.raw("$$")
	lines := strings.Split(tex, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			continue // an empty line would end the formula
		}
		if i > 0 || len(lines) > 1 {
			w.raw("\n")
			w.prefix()
		}
		w.raw(line)
	}
	if len(lines) > 1 {
		w.raw("\n")
		w.prefix()
	}
	w.raw("$$")
	w.want(blankLine)
}

// raw writes what needs no escape but that of a cell.
func (w *writer) raw(s string) {
	if w.mode != cell || strings.IndexByte(s, '|') < 0 {
		w.out = append(w.out, s...)
		return
	}
	for i := range len(s) {
		if s[i] == '|' {
			w.out = append(w.out, '\\')
		}
		w.out = append(w.out, s[i])
	}
}

var delimiters = [...]struct {
	open, shut string
	display    bool
}{{`\(`, `\)`, false}, {`\[`, `\]`, true}, {`$$`, `$$`, true}, {`$`, `$`, false}}

// delimited is the formula between the delimiters that s begins and ends with.
func delimited(s string) (tex string, display bool) {
	s = strings.TrimSpace(s)
	for _, d := range delimiters {
		if len(s) > len(d.open)+len(d.shut) && strings.HasPrefix(s, d.open) && strings.HasSuffix(s, d.shut) {
			return strings.TrimSpace(s[len(d.open) : len(s)-len(d.shut)]), d.display
		}
	}
	return "", false
}

// maxBareMath is how long a formula in running text may be, in bytes.
const maxBareMath = 2_000

// bareMath is the formula that running text begins with, for a script to find,
// and how long it is with its delimiters.
func bareMath(s string, m mode) (tex string, display bool, n int) {
	if s[0] != '\\' && s[0] != '$' || m == plain || len(s) < 5 {
		return "", false, 0
	}
	for _, d := range delimiters[:3] {
		if !strings.HasPrefix(s, d.open) {
			continue
		}
		end := strings.Index(s[2:min(len(s), maxBareMath)], d.shut)
		if end <= 0 {
			break
		}
		tex = s[2 : 2+end]
		if strings.TrimSpace(tex) == "" || strings.Contains(tex, "\n\n") || strings.ContainsAny(tex, "`$") {
			break
		}
		return tex, d.display, end + 4
	}
	return "", false, 0
}
