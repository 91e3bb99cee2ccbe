package markdown

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var reader = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Footnote))

// words are the letters, digits and signs of a text in order, without white
// space.
func words(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || unicode.IsSpace(r) || r == '\u00ad' || r == '\u200b' || r == '\u2060' || r == '\ufeff' || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}

// read is the text that a reader of Markdown sees.
func read(md string) string {
	source := []byte(md)
	var b strings.Builder
	_ = ast.Walk(reader.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(unescape(n.Value(source), n.IsRaw()))
		case *ast.String:
			b.Write(n.Value)
		case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		case *east.FootnoteBacklink, *east.FootnoteLink:
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unescape takes the backslashes and character references out of text.
func unescape(s []byte, raw bool) []byte {
	if raw {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isASCIIPunct(s[i+1]) {
			i++
			out = append(out, s[i])
			continue
		}
		if s[i] == '&' {
			if end := bytes.IndexByte(s[i:], ';'); end > 0 {
				if r := html.UnescapeString(string(s[i : i+end+1])); !strings.HasPrefix(r, "&") || len(r) == 1 {
					out = append(out, r...)
					i += end
					continue
				}
			}
		}
		out = append(out, s[i])
	}
	return out
}

// shown is the text of a tree, as far as the writer writes text as it is.
func shown(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch n.Type {
		case html.TextNode:
			b.WriteString(n.Data)
			return
		case html.ElementNode:
			switch n.DataAtom {
			case atom.Script, atom.Style, atom.Template, atom.Head, atom.Noscript:
				return
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(n)
	return b.String()
}

// grammar makes pages of the elements that keep their text, from any bytes:
// each byte takes a step.
func grammar(steps []byte) string {
	tags := []string{"p", "b", "i", "em", "strong", "del", "code", "ul", "ol", "li", "blockquote", "h2", "div", "span", "a href=/x", "pre", "sub", "dl", "dt", "dd", "h4", "section", "figure"}
	texts := []string{"a", "word ", " two words ", "*", "**", "_", "__", "`", "``", "[", "]", "(", ")", "](", "!", "!!", "<", "&", "&amp;amp;", "&amp;amp", "amp", ";", "&lt;b&gt;", "\\", "#", "# x", "- ", "-", "+ ", "1", ".", "1. ",
		"1)", ">", "> ", "~", "~~", "~~~", "=", "===", "---", "|", "| a |", ":", ":--", "\t", " ", "\n", "&nbsp;", "é", "字", "“", "”", ":", "http://a.b/c_d_", "[^1]", "[x]", "[ ]", "]:", "_a_", "*a*", "🙂", "y", "\u00ad", "www.a.b", "<br>", "<hr>", "&#32;"}
	var b strings.Builder
	var open []string
	for _, s := range steps {
		switch {
		case s < 96:
			b.WriteString(texts[int(s)%len(texts)])
		case s < 180 && len(open) < 12:
			tag := tags[int(s)%len(tags)]
			b.WriteString("<" + tag + ">")
			name, _, _ := strings.Cut(tag, " ")
			open = append(open, name)
		case len(open) > 0:
			b.WriteString("</" + open[len(open)-1] + ">")
			open = open[:len(open)-1]
		}
	}
	return b.String()
}

func FuzzTextIsNeverStructure(f *testing.F) {
	for _, seed := range []string{"", "\x60\x01\x02", "abcdefgh", "\x61\x04\x80\x04\xb4\xb4", "\x67\x69\x05\xb4\x69\x06", "hello world, this is a long seed of many steps", "\x6e\x0a\x0d\xb4\x0b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 200 {
			return
		}
		page := grammar(steps)
		root, o := parse(t, page)
		if text := shown(root); strings.Contains(text, `\(`) || strings.Contains(text, `\[`) {
			return // may be a formula
		}
		var b strings.Builder
		Write(&b, root, o)
		md := b.String()
		if got, want := words(read(md)), words(shown(root)); got != want {
			t.Errorf("the words are not the same\npage: %q\nmarkdown:\n%s\n got: %q\nwant: %q", page, md, got, want)
		}
	})
}

func FuzzWrite(f *testing.F) {
	for _, seed := range []string{
		"<table><tr><td colspan=9 rowspan=9>x<table><tr><th>y</table></table>", "<ul><ul><li>a<ol start=3><li>b", "<pre><code class=language-go>```\n<b>x</b>",
		"<p>\\(a_b\\) $$x$$ <span class=katex><math><annotation encoding=application/x-tex>x", "<sup><a href=#fn1>1</a></sup><ol><li id=fn1>n",
		"<a href=/x><h2>t</h2><p>u</a>", "<img srcset='a 1x, b 2x' data-src=c>", "<dl><dd>a<dt>b<dd>c", "<ruby>a<rt>b</ruby><q>c</q>", "<table><caption>c</caption><tr><th>a<td>b<tr></table>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, page string) {
		if len(page) > 4_000 {
			return
		}
		doc, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
		if err != nil {
			return
		}
		_, o := parse(t, "")
		var b strings.Builder
		Write(&b, doc, o)
		if md := b.String(); utf8.ValidString(page) && !utf8.ValidString(md) {
			t.Errorf("not UTF-8: %q", md)
		}
		for _, table := range Tables(doc, o) {
			for _, row := range table.Rows {
				if len(row) != len(table.Rows[0]) {
					t.Errorf("a row has %d cells, the first %d", len(row), len(table.Rows[0]))
				}
			}
		}
	})
}
