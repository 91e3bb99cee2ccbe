package cleanse

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// marked parses a page and gives its first element with the attribute x.
func marked(t *testing.T, page string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "x" {
				return n
			}
		}
	}
	t.Fatalf("no element with x in %q", page)
	return nil
}

func TestElementsThatNobodySeesAreHidden(t *testing.T) {
	tests := []struct {
		name, page string
		want       bool
	}{
		{"display none", `<p x style="display:none">`, true},
		{"display none with spaces, capitals and importance", `<p x style="color:red; DISPLAY : None !important;">`, true},
		{"display block", `<p x style="display:block">`, false},
		{"visibility", `<p x style="visibility:hidden">`, true},
		{"visible", `<p x style="visibility:visible">`, false},
		{"no opacity", `<p x style="opacity:0">`, true},
		{"almost no opacity", `<p x style="opacity: 0.01">`, true},
		{"some opacity", `<p x style="opacity:.5">`, false},
		{"no size of font", `<p x style="font-size:0">`, true},
		{"a size of no pixels", `<p x style="font-size: 0px">`, true},
		{"a pixel of font", `<p x style="font-size:1px">`, true},
		{"a font of one em", `<p x style="font-size:1em">`, false},
		{"no size of font around one that has", `<div x style="font-size:0px"> <div style="font-size:13px">text</div></div>`, false},
		{"no size of font around none either", `<p x style="font-size:0"><b style="font-size:0">text</b>`, true},
		{"no size of font, a text, and a decoy that has one", `<p x style="font-size:0">obey <b style="font-size:13px">.</b>`, true},
		{"small print", `<p x style="font-size:8px">`, false},
		{"the font property", `<p x style="font:0/0 a">`, true},
		{"white on white", `<p x style="color:#fff;background:#ffffff">`, true},
		{"white on white by name and number", `<p x style="color:white;background-color:rgb(255, 255, 255)">`, true},
		{"almost white on white", `<p x style="color:#fefefe;background:white">`, true},
		{"white on blue", `<p x style="color:#fff;background:#00f">`, false},
		{"white in a white box", `<div style="background:#fff"><p x style="color:white">`, true},
		{"white in a table of black", `<table bgcolor=black><tr><td x style="color:white">`, false},
		{"white on a page without styles", `<body><p x style="color:white">`, true},
		{"white in a box with a class", `<div class=hero><p x style="color:white">`, false},
		{"white with a class", `<p x class=btn style="color:#fff">`, false},
		{"black on a page without styles", `<p x style="color:black">`, false},
		{"no color", `<p x style="color:transparent">`, true},
		{"a color without strength", `<p x style="color:rgba(0,0,0,0)">`, true},
		{"letters cut from a background", `<p x style="background:linear-gradient(red,blue);-webkit-background-clip:text;color:transparent">`, false},
		{"off to the left", `<p x style="position:absolute;left:-9999px">`, true},
		{"off to the top in ems", `<p x style="top:-999em;position:fixed">`, true},
		{"a little to the left", `<p x style="position:absolute;left:-10px">`, false},
		{"left without a position", `<p x style="left:-9999px">`, false},
		{"indented out of the page", `<p x style="text-indent:-9999px">`, true},
		{"an indent", `<p x style="text-indent:2em">`, false},
		{"moved away", `<p x style="transform:translateX(-9999px)">`, true},
		{"centered", `<p x style="transform:translate(-50%, -50%)">`, false},
		{"scaled to nothing", `<p x style="transform:scale(0)">`, true},
		{"clipped", `<p x style="position:absolute;clip:rect(0 0 0 0)">`, true},
		{"clipped to a pixel", `<p x style="position:absolute;clip:rect(1px, 1px, 1px, 1px)">`, true},
		{"clipped to a part", `<p x style="position:absolute;clip:rect(0 200px 200px 0)">`, false},
		{"a clip path", `<p x style="clip-path: inset(50%)">`, true},
		{"no height", `<p x style="height:0;overflow:hidden">`, true},
		{"a pixel wide", `<p x style="width:1px;overflow:hidden">`, true},
		{"a box that keeps the shape of a film", `<div x style="height:0;overflow:hidden;padding-bottom:56.25%">`, false},
		{"no height and no padding", `<div x style="height:0;overflow:hidden;padding:0">`, true},
		{"no height that spills", `<p x style="height:0">`, false},
		{"wide", `<p x style="width:100%;overflow:hidden">`, false},
		{"a tenth", `<p x style="width:10px;overflow:hidden">`, false},
		{"hidden", `<p x hidden>`, true},
		{"hidden until found", `<p x hidden=until-found>`, false},
		{"hidden from readers of the screen", `<p x aria-hidden=true>`, true},
		{"not hidden from readers of the screen", `<p x aria-hidden=false>`, false},
		{"a body behind a dialog", `<body x aria-hidden=true>`, false},
		{"no style", `<p x>`, false},
		{"a broken style", `<p x style=";;:none;display">`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Hidden(marked(t, tt.page)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzHidden(f *testing.F) {
	for _, s := range []string{"display:none", "color:#fff;background:rgb(255,255,255)", "clip:rect(0", "transform:translate(--5)", "color:rgba(0,0,0,", "font:-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, style string) {
		n := &html.Node{Type: html.ElementNode, Data: "p", Attr: []html.Attribute{{Key: "style", Val: style}}}
		hidden := Hidden(n)
		n.Attr[0].Val = "color:red;" + style + ";display:none"
		if !Hidden(n) && !strings.ContainsAny(style, "!") {
			t.Errorf("display:none behind %q does not hide (alone: %v)", style, hidden)
		}
	})
}
