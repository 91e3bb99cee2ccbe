package markdown

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// image writes an image with its alternative text.
func (w *writer) image(n *html.Node) {
	if w.mode == plain || IsPixel(n) {
		return
	}
	if tex := imageMath(n); tex != "" {
		w.math(tex, false)
		return
	}
	src := w.address(ImageRef(n))
	if src == "" {
		if alt := attr(n, "alt"); w.inLink && strings.TrimSpace(alt) != "" {
			w.text(alt) // the link would have no text
		}
		return
	}
	if w.repeats(src) {
		return
	}
	w.begin('!')
	w.writeImage(n, src)
}

// repeats says whether the image before, with nothing between, is the same in
// another size.
func (w *writer) repeats(src string) bool {
	path, _, _ := strings.Cut(src, "?")
	same := w.imageEnd > 0 && w.imageEnd == len(w.out) && w.imagePath == path
	w.imagePath = path
	return same
}

// linkedImage writes an image that is all there is in a link. One that links
// to its own file is only the image (firecrawl#2971).
func (w *writer) linkedImage(n *html.Node, to string) {
	src := w.address(ImageRef(n))
	if IsPixel(n) || src == "" {
		alt := attr(n, "alt")
		if strings.TrimSpace(alt) == "" {
			return
		}
		w.push(span{open: "[", shut: "](" + to + ")", link: true})
		w.inLink = true
		w.text(alt)
		w.pop()
		w.inLink = false
		return
	}
	if src == to {
		w.begin('!')
		w.writeImage(n, src)
		return
	}
	w.begin('[')
	w.guardBang()
	w.out = append(w.out, '[')
	w.writeImage(n, src)
	w.out = append(w.out, "]("...)
	w.out = append(w.out, to...)
	w.out = append(w.out, ')')
}

func (w *writer) writeImage(n *html.Node, src string) {
	w.out = append(w.out, "!["...)
	alt := attr(n, "alt")
	if strings.TrimSpace(alt) == "" {
		alt = attr(n, "title")
	}
	space := false
	for i := 0; i < len(alt); {
		if k := blank(alt, i); k > 0 {
			space, i = true, i+k
			continue
		}
		if space && w.out[len(w.out)-1] != '[' {
			w.out = append(w.out, ' ')
		}
		space = false
		switch c := alt[i]; c {
		case '[', ']', '\\', '`', '*', '_', '<', '&':
			w.out = append(w.out, '\\')
		case '|':
			if w.mode == cell {
				w.out = append(w.out, '\\')
			}
		}
		w.out = append(w.out, alt[i])
		i++
	}
	w.out = append(w.out, "]("...)
	w.out = append(w.out, src...)
	w.out = append(w.out, ')')
	w.imageEnd = len(w.out)
}

// IsPixel tells an image that is there to count its readers or to make room.
func IsPixel(n *html.Node) bool {
	w, h := attr(n, "width"), attr(n, "height")
	return w == "1" || w == "0" || h == "1" || h == "0"
}

var lazySources = [...]string{"data-src", "data-original", "data-lazy-src", "data-lazy", "data-original-src", "data-actualsrc", "data-hi-res-src", "data-echo", "data-url"}

var sourceSets = [...]string{"data-srcset", "data-lazy-srcset", "srcset"}

// ImageRef is the address of an image as the page has it: the largest of its
// sets of sources, else what a script would put in the place of a placeholder,
// else its source. Pictures and the image for browsers without scripts beside
// it count. It is "" when there is none but data.
func ImageRef(n *html.Node) string {
	if ref := largestOf(n); ref != "" {
		return ref
	}
	if p := n.Parent; p != nil && p.DataAtom == atom.Picture {
		for c := p.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Source {
				if ref := largestOf(c); ref != "" {
					return ref
				}
			}
		}
	}
	for _, key := range lazySources {
		if v := strings.TrimSpace(attr(n, key)); v != "" && !isInlineData(v) && v[0] != '{' && v[0] != '[' {
			return v
		}
	}
	src := strings.TrimSpace(attr(n, "src"))
	if src == "" || isInlineData(src) || isPlaceholder(src) {
		if img := besideNoscript(n); img != nil {
			return ImageRef(img)
		}
	}
	if isInlineData(src) {
		return ""
	}
	return src
}

func largestOf(n *html.Node) string {
	for _, key := range sourceSets {
		if v := attr(n, key); v != "" {
			if ref := largest(v); ref != "" {
				return ref
			}
		}
	}
	return ""
}

// largest picks from a srcset. An address in it may have commas, but does not
// begin or end with one (HTML standard, "parse a srcset attribute").
func largest(set string) string {
	best, bestSize := "", -1.0
	for set != "" {
		set = strings.TrimLeft(set, " \t\n\r\f,")
		end := strings.IndexAny(set, " \t\n\r\f")
		if end < 0 {
			end = len(set)
		}
		ref, rest := set[:end], set[end:]
		size := 1.0
		if trimmed := strings.TrimRight(ref, ","); trimmed != ref {
			ref = trimmed
		} else {
			var descriptor string
			descriptor, rest, _ = strings.Cut(rest, ",")
			if d := strings.TrimSpace(descriptor); d != "" {
				if v, err := strconv.ParseFloat(d[:len(d)-1], 64); err == nil {
					size = v
				}
			}
		}
		if ref != "" && !isInlineData(ref) && size > bestSize {
			best, bestSize = ref, size
		}
		set = rest
	}
	return best
}

func isInlineData(ref string) bool {
	return len(ref) >= 5 && strings.EqualFold(ref[:5], "data:")
}

// isPlaceholder tells images that stand where another one will be.
func isPlaceholder(src string) bool {
	name := src[strings.LastIndexByte(src, '/')+1:]
	for _, word := range [...]string{"placeholder", "spacer", "blank.", "lazy", "loading", "1x1", "pixel.", "transparent"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// besideNoscript is the image for browsers without scripts that follows one.
func besideNoscript(n *html.Node) *html.Node {
	for s, seen := n.NextSibling, 0; s != nil && seen < 3; s, seen = s.NextSibling, seen+1 {
		if s.Type == html.ElementNode {
			if s.DataAtom == atom.Noscript {
				return first(s, isImg)
			}
			return nil
		}
	}
	return nil
}

func isImg(n *html.Node) bool { return n.DataAtom == atom.Img }

// noscript writes the image that is there for browsers without scripts, unless
// the one it stands for is before it.
func (w *writer) noscript(n *html.Node) {
	img := first(n, isImg)
	if img == nil {
		return
	}
	for s, seen := n.PrevSibling, 0; s != nil && seen < 3; s, seen = s.PrevSibling, seen+1 {
		if s.Type == html.ElementNode {
			if isImg(s) || holds(s, isImg) {
				return
			}
			break
		}
	}
	if w.skips(img) {
		return
	}
	w.image(img)
}
