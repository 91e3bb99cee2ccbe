package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// isGutter tells what stands beside code and is no part of it: line numbers,
// and what is there to be clicked. The names are those of Pygments, Rouge,
// Chroma, Prism, highlight.js, SyntaxHighlighter, Crayon and of code hosts.
func isGutter(n *html.Node) bool {
	for token := range strings.FieldsSeq(attr(n, "class")) {
		switch token {
		case "gutter", "linenos", "lineno", "linenodiv", "lnt", "ln", "rouge-gutter", "gl", "crayon-nums", "crayon-num",
			"hljs-ln-numbers", "hljs-ln-n", "line-numbers-rows", "line-number", "line-numbers", "linenumber", "line_number", "blob-num", "js-line-number",
			"diff-line-num", "lineNumbers", "lnum", "react-syntax-highlighter-line-number", "CodeMirror-linenumber",
			"CodeMirror-gutter-wrapper", "cm-gutters", "code-block-header__btn", "copy-btn", "copybtn", "copy-button", "btn-copy", "toolbar", "toolbar-item", "headerlink", "viewcode-link":
			// Prism and others name the whole block line-numbers too.
			if token != "line-numbers" || n.DataAtom != atom.Pre && n.DataAtom != atom.Code {
				return true
			}
		}
	}
	return false
}

// codeTable says whether a table only arranges code beside line numbers.
func codeTable(n *html.Node) bool {
	if hasToken(attr(n, "class"), "highlighttable", "rouge-table", "lntable", "crayon-table", "hljs-ln", "js-file-line-container", "syntaxhighlighter-table", "blob-code-content") {
		return true
	}
	tr := first(n, func(k *html.Node) bool { return k.DataAtom == atom.Tr })
	if tr == nil {
		return false
	}
	var cells []*html.Node
	for c := tr.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 || len(cells) > 3 {
		return false
	}
	code := cells[len(cells)-1]
	beside := isGutter(cells[0]) || isNumbers(cells[0]) && (hasAttr(cells[0], "data-line-number") || holds(cells[0], isPre))
	return beside && (holds(code, isCode) || hasCodeClass(code))
}

func isPre(n *html.Node) bool { return n.DataAtom == atom.Pre }

func isCode(n *html.Node) bool {
	return n.DataAtom == atom.Pre || n.DataAtom == atom.Code || hasCodeClass(n)
}

func hasCodeClass(n *html.Node) bool {
	return hasToken(attr(n, "class"), "code", "blob-code", "js-file-line", "hljs-ln-code", "rouge-code", "crayon-code", "line", "container", "CodeMirror-line", "diff-line-code")
}

// isNumbers says whether the text of an element is digits and nothing else.
func isNumbers(n *html.Node) bool {
	digits := 0
	return onlyDigits(n, &digits) && digits > 0
}

func onlyDigits(n *html.Node, digits *int) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			for i := range len(c.Data) {
				switch b := c.Data[i]; {
				case b >= '0' && b <= '9':
					*digits++
				case b > ' ':
					return false
				}
			}
		} else if !onlyDigits(c, digits) {
			return false
		}
	}
	return true
}

// isEditor tells the block in which a code editor shows its lines.
func isEditor(n *html.Node) bool {
	class := attr(n, "class")
	return class != "" && hasToken(class, "cm-content", "CodeMirror-code", "view-lines", "crayon-pre", "ace_text-layer")
}

// maxName is the longest name of a language, in bytes.
const maxName = 40

// isLabel tells the line above a code block that only names its language, which
// the block does itself.
func isLabel(n *html.Node) bool {
	class := attr(n, "class")
	if !strings.Contains(class, "eader") {
		return strings.Contains(class, "gutters") && hasToken(class, "cm-gutters", "CodeMirror-gutters")
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && isBlock(c) {
			return false
		}
	}
	label := folded(labelText(n))
	return len(label) < maxName && known(strings.ToLower(label))
}

// labelText is the text of a label without its buttons.
func labelText(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		} else if c.DataAtom != atom.Button {
			b.WriteString(textOf(c))
		}
	}
	return b.String()
}

// tableCode writes the code of a table that only arranges it.
func (w *writer) tableCode(n *html.Node) {
	start := len(w.code)
	c := codeText{w: w, start: start}
	c.rows(n)
	w.writeCode(start, language(n))
}

// rows collects the cells that are no line numbers, a row a line.
func (c *codeText) rows(n *html.Node) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch k.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot:
			c.rows(k)
		case atom.Tr:
			c.breakLine()
			before := len(c.w.code)
			c.row(k)
			if len(c.w.code) == before {
				c.w.code = append(c.w.code, '\n')
			} else {
				c.broken = c.w.code[len(c.w.code)-1] != '\n'
			}
		}
	}
}

func (c *codeText) row(tr *html.Node) {
	for k := tr.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom != atom.Td && k.DataAtom != atom.Th || isGutter(k) || c.w.skips(k) {
			continue
		}
		if k.NextSibling != nil && isNumbers(k) && nextCell(k) != nil {
			continue
		}
		c.children(k)
	}
}

func nextCell(n *html.Node) *html.Node {
	for s := n.NextSibling; s != nil; s = s.NextSibling {
		if s.DataAtom == atom.Td || s.DataAtom == atom.Th {
			return s
		}
	}
	return nil
}
