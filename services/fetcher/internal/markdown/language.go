package markdown

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// language is the name of the language that the markup of a code block says it
// is in: its own, that of the code in it, or that of the nearest wrappers.
func language(n *html.Node) string {
	if lang := languageOf(n); lang != "" {
		return lang
	}
	if code := first(n, func(k *html.Node) bool { return (k.DataAtom == atom.Code || isPre(k)) && languageOf(k) != "" }); code != nil {
		return languageOf(code)
	}
	child := n
	for p, up := n.Parent, 0; p != nil && up < 5; p, up = p.Parent, up+1 {
		switch p.DataAtom {
		case atom.Div, atom.Figure, atom.Td, atom.Tr, atom.Tbody, atom.Table, atom.Section, atom.Span, atom.Details:
		default:
			if !strings.Contains(p.Data, "-") { // a custom element may wrap code
				return ""
			}
		}
		if up > 0 && severalCodes(child) {
			return ""
		}
		if lang := languageOf(p); lang != "" {
			return lang
		}
		child = p
	}
	return ""
}

// beside is how many neighbours on each side are looked at.
const beside = 8

// severalCodes says whether neighbours of child hold code too: then what their
// parent says is not of this one.
func severalCodes(child *html.Node) bool {
	holdsCode := func(n *html.Node) bool {
		return n.Type == html.ElementNode && (isPre(n) || holds(n, isPre)) && !isGutter(n) && !isNumbers(n)
	}
	for s, seen := child.PrevSibling, 0; s != nil && seen < beside; s, seen = s.PrevSibling, seen+1 {
		if holdsCode(s) {
			return true
		}
	}
	for s, seen := child.NextSibling, 0; s != nil && seen < beside; s, seen = s.NextSibling, seen+1 {
		if holdsCode(s) {
			return true
		}
	}
	return false
}

// prefixes are what class words begin with before the name of a language.
var prefixes = [...]string{"language-", "lang-", "highlight-source-", "highlight-text-", "mw-highlight-lang-", "brush:", "syntax-", "code-", "highlight-", "hljs-", "src-", "source-", "lang:"}

// languageOf reads the language from the attributes of one element.
func languageOf(n *html.Node) string {
	for i := range n.Attr {
		a := &n.Attr[i]
		switch a.Key {
		case "data-lang", "data-language", "data-enlighter-language", "data-code-language", "data-syntax", "data-code-lang":
			if lang := named(a.Val); lang != "" {
				return lang
			}
		case "lang":
			if lang := named(a.Val); known(lang) && (n.DataAtom == atom.Pre || n.DataAtom == atom.Code) {
				return lang
			}
		case "data-syntaxhighlighter-params":
			if _, rest, ok := strings.Cut(a.Val, "brush:"); ok {
				return named(rest)
			}
		case "class":
			if lang := languageOfClass(n, a.Val); lang != "" {
				return lang
			}
		}
	}
	return ""
}

func languageOfClass(n *html.Node, class string) string {
	bare := ""
	brush := false
	for token := range strings.FieldsSeq(class) {
		if brush {
			return named(token)
		}
		if token == "brush:" || token == "lang:" { // "brush: js;"
			brush = true
			continue
		}
		for _, p := range prefixes {
			rest, ok := strings.CutPrefix(token, p)
			if !ok {
				continue
			}
			lang := named(rest)
			if lang == "" {
				break
			}
			// Weak prefixes are also those of classes that name no language.
			if p == "language-" || p == "lang-" || p == "brush:" || p == "lang:" || strings.HasPrefix(p, "highlight-source") || strings.HasPrefix(p, "mw-") || known(lang) {
				return lang
			}
			break
		}
		if bare == "" && known(strings.ToLower(token)) {
			bare = strings.ToLower(token)
		}
	}
	if isCodeElement(n) {
		return bare
	}
	return ""
}

// isCodeElement tells elements of which a bare class word may be a language.
func isCodeElement(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Pre, atom.Code, atom.Figure:
		return true
	case atom.Div, atom.Table:
		return hasToken(attr(n, "class"), "highlight", "code", "codehilite", "syntaxhighlighter", "sourceCode", "source", "crayon-syntax")
	}
	return false
}

// named is the name of a language as it stands at the beginning of s, in lower
// case; "" for the names that say that there is none.
func named(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	end := 0
	for end < len(s) && (s[end] >= 'a' && s[end] <= 'z' || s[end] >= '0' && s[end] <= '9' || strings.IndexByte("+#.-_", s[end]) >= 0) {
		end++
	}
	switch s = strings.Trim(s[:end], ".-_"); s {
	case "text", "plaintext", "plain", "txt", "none", "nohighlight", "no-highlight", "default", "auto", "unknown", "undefined", "null", "raw", "generic":
		return ""
	case "html-basic", "html-django":
		return "html"
	case "python3", "py3", "pycon3":
		return "python"
	case "xml-svg":
		return "xml"
	}
	if len(s) > maxName {
		return ""
	}
	return s
}

// known says whether a word is the name of a language, where it might be
// another word as well.
func known(s string) bool {
	_, ok := languages[s]
	return ok
}

var languages = names(`abap ada apache applescript arduino asm assembly awk bash basic batch c c# c++ clojure cmake cobol coffeescript
console cpp crystal cs csharp css csv cuda cython d dart diff docker dockerfile dos elixir elm erlang f# fish fortran fsharp gdscript git
glsl go golang gradle graphql groovy haml handlebars haskell hcl hlsl html http ini java javascript jinja jinja2 js json json5 jsonc jsx
julia kotlin kt latex less lisp llvm lua makefile markdown matlab md mermaid nasm nginx nim nix objc objective-c objectivec ocaml octave
pascal patch perl php plsql plpgsql powershell prolog properties proto protobuf ps1 pug puppet pycon py py3 python python2 python3 r rb
regex rest rst ruby rs rust sass scala scheme scss sh shell shell-session sol solidity sql stylus svelte swift systemverilog tcl terraform
tex toml ts tsx twig typescript vb vbnet verilog vhdl vim vue wasm wat wgsl xml xquery yaml yml zig zsh ipython ipython3 pytb`)

func names(s string) map[string]struct{} {
	m := map[string]struct{}{}
	for name := range strings.FieldsSeq(s) {
		m[name] = struct{}{}
	}
	return m
}
