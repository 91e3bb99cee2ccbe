package cleanse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Hidden says whether an element is kept from the eyes of a page's readers by
// its own attributes: hidden, aria-hidden, or a style that gives it no place,
// size, ink or contrast. Style sheets are not read. What is in a hidden element
// is hidden too, and not asked here.
//
// A body that is aria-hidden is not hidden: pages are often saved with a dialog
// before them.
func Hidden(n *html.Node) bool {
	for i := range n.Attr {
		switch a := &n.Attr[i]; a.Key {
		case "hidden":
			if !strings.EqualFold(a.Val, "until-found") {
				return true
			}
		case "aria-hidden":
			if strings.EqualFold(strings.TrimSpace(a.Val), "true") && n.DataAtom != atom.Body && n.DataAtom != atom.Html {
				return true
			}
		case "style":
			if HiddenByStyle(n, a.Val) {
				return true
			}
		}
	}
	return false
}

// look is what an inline style says about whether an element is seen.
type look struct {
	color, background string
	away              bool // moved out of the page, where it is positioned
	positioned        bool
	clipped           bool // cut to nothing, where it is positioned
	flat              bool // without width or height
	padded            bool // with room of its own above or below
	fontless          bool // its letters have no size
	cut               bool // what does not fit is not shown
	inkless           bool // its letters have no color
	inkClip           bool // its background shows through its letters
}

// HiddenByStyle says whether an element with the style is not seen, for callers
// that read the attributes of n anyway.
func HiddenByStyle(n *html.Node, style string) bool {
	if len(style) < len("zoom:0") {
		return false
	}
	var l look
	for style != "" {
		var decl string
		decl, style, _ = strings.Cut(style, ";")
		key, val, ok := strings.Cut(decl, ":")
		if !ok {
			continue
		}
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		if at := strings.IndexByte(val, '!'); at > 0 {
			val = strings.TrimSpace(val[:at])
		}
		if key != "" && val != "" && l.declare(key, val) {
			return true
		}
	}
	switch {
	case l.positioned && (l.away || l.clipped), l.flat && l.cut && !l.padded, l.inkless && !l.inkClip:
		return true
	case l.fontless && !fontInside(n):
		return true
	case l.color != "":
		return l.noContrast(n)
	}
	return false
}

// declare takes in one declaration and says whether it alone hides. Properties
// are told apart by their first letter first: most say nothing of this.
func (l *look) declare(key, val string) bool {
	switch key[0] | 0x20 {
	case 'd':
		return is(key, "display") && is(val, "none")
	case 'v':
		return is(key, "visibility") && (is(val, "hidden") || is(val, "collapse"))
	case 'o':
		return l.declareO(key, val)
	case 'f':
		l.fontless = l.fontless || isSmall(key, val)
	case 't':
		return l.declareT(key, val)
	case 'z', 's':
		v, ok := number(val)
		return (is(key, "zoom") || is(key, "scale")) && ok && v <= 0
	case 'p':
		switch {
		case is(key, "position"):
			l.positioned = is(val, "absolute") || is(val, "fixed")
		case is(key, "padding-bottom"), is(key, "padding-top"), is(key, "padding"):
			// Pictures and films keep their shape in a box of padding alone.
			l.padded = l.padded || strings.ContainsAny(val, "123456789")
		}
	case 'l', 'r':
		l.away = l.away || (is(key, "left") || is(key, "right")) && far(val)
	case 'm':
		return (is(key, "margin-left") || is(key, "margin-top")) && far(val)
	case 'w', 'h':
		if is(key, "width") || is(key, "height") {
			v, ok := number(val)
			l.flat = l.flat || ok && v <= 1 && !has(val, "%") && !has(val, "em") && !has(val, "v")
		}
	case 'c':
		return l.declareC(key, val)
	case 'b':
		l.declareB(key, val)
	case '-':
		switch {
		case is(key, "-webkit-text-fill-color"):
			l.inkless = l.inkless || noInk(val)
		case is(key, "-webkit-background-clip"):
			l.inkClip = l.inkClip || has(val, "text")
		}
	}
	return false
}

// maxLooked is how many nodes are looked at for a size of letters.
const maxLooked = 200

// fontInside says whether an element without a size of letters has no text of
// its own, and something in it that gives its letters a size: newsletters and
// rows of boxes are made so.
func fontInside(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.TrimSpace(c.Data) != "" {
			return false
		}
	}
	looked := 0
	for d := range n.Descendants() {
		if looked++; looked > maxLooked {
			return false
		}
		for i := range d.Attr {
			if d.Attr[i].Key == "style" && givesFont(d.Attr[i].Val) {
				return true
			}
		}
	}
	return false
}

// givesFont says whether a style gives letters a size that can be read.
func givesFont(style string) bool {
	for style != "" {
		var decl string
		decl, style, _ = strings.Cut(style, ";")
		key, val, _ := strings.Cut(decl, ":")
		key, val = strings.TrimSpace(key), strings.TrimSpace(val)
		if v, ok := number(val); is(key, "font-size") && !isSmall(key, val) && (v > 0 || !ok) {
			return true
		}
	}
	return false
}

// isSmall says whether a font has no size.
func isSmall(key, val string) bool {
	switch {
	case is(key, "font-size"):
		v, ok := number(val)
		return ok && (v <= 0 || v <= 1 && has(val, "px"))
	case is(key, "font"):
		v, ok := number(val)
		return ok && v <= 0
	}
	return false
}

func (l *look) declareO(key, val string) bool {
	switch {
	case is(key, "opacity"):
		v, ok := number(val)
		return ok && v <= 0.02
	case is(key, "overflow"):
		l.cut = has(val, "hidden") || has(val, "clip")
	}
	return false
}

func (l *look) declareT(key, val string) bool {
	switch {
	case is(key, "top"):
		l.away = l.away || far(val)
	case is(key, "text-indent"):
		return far(val)
	case is(key, "text-shadow"):
		l.inkClip = l.inkClip || !is(val, "none")
	case is(key, "transform"):
		return has(val, "scale(0)") || has(val, "scale3d(0") || has(val, "translate") && farInside(val)
	}
	return false
}

func (l *look) declareC(key, val string) bool {
	switch {
	case is(key, "color"):
		l.inkless = l.inkless || noInk(val)
		l.color = val
	case is(key, "clip"):
		l.clipped = emptyRect(val)
	case is(key, "clip-path"):
		return has(val, "inset(50%") || has(val, "inset(100%") || has(val, "circle(0") || has(val, "polygon(0 0, 0 0") || has(val, "polygon(0 0,0 0")
	case is(key, "content-visibility"):
		return is(val, "hidden")
	}
	return false
}

func (l *look) declareB(key, val string) {
	switch {
	case is(key, "bottom"):
		l.away = l.away || far(val)
	case is(key, "background-color"):
		l.background = val
	case is(key, "background"):
		l.background = val
		l.inkClip = l.inkClip || has(val, "text")
	case is(key, "background-clip"):
		l.inkClip = l.inkClip || has(val, "text")
	}
}

// noContrast says whether the letters have the color of what is behind them,
// as far as inline styles tell. White letters on a page whose elements say
// nothing of any style stand on white.
func (l *look) noContrast(n *html.Node) bool {
	color, ok := parseColor(l.color)
	if !ok {
		return false
	}
	behind := l.background
	bare := true
	for p, up := n.Parent, 0; behind == "" && p != nil && up < 32; p, up = p.Parent, up+1 {
		for i := range p.Attr {
			switch a := &p.Attr[i]; a.Key {
			case "bgcolor":
				behind = a.Val
			case "style":
				if v := backgroundOf(a.Val); v != "" {
					behind = v
				}
			case "class", "id", "background":
				bare = false // a style sheet may give it a background
			}
		}
	}
	if behind == "" {
		return bare && !hasClass(n) && color >= 0xf8f8f8 && color&0xff >= 0xf8 && color>>8&0xff >= 0xf8
	}
	back, ok := parseColor(behind)
	return ok && near(color, back)
}

func hasClass(n *html.Node) bool {
	for i := range n.Attr {
		if n.Attr[i].Key == "class" || n.Attr[i].Key == "id" {
			return true
		}
	}
	return false
}

// backgroundOf is the background that a style gives, "" without one.
func backgroundOf(style string) string {
	found := ""
	for style != "" {
		var decl string
		decl, style, _ = strings.Cut(style, ";")
		key, val, _ := strings.Cut(decl, ":")
		if key = strings.TrimSpace(key); is(key, "background") || is(key, "background-color") {
			found = strings.TrimSpace(val)
		}
	}
	return found
}

// is compares with a word in lower case, in any letter case.
func is(s, word string) bool { return len(s) == len(word) && strings.EqualFold(s, word) }

// has finds a text in lower case, in any letter case.
func has(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i]|0x20 == sub[0]|0x20 && strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}
