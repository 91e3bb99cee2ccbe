package parse

import (
	"io"
	"runtime"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/cputime"
)

const (
	// MaxBytes is how much of a page is read.
	MaxBytes = 5 << 20
	// MaxTime is how much CPU time the rules of HTML may take on a page; what
	// has not been read by then is left out. An ordinary page of MaxBytes takes
	// a tenth of a second.
	MaxTime = 450 * time.Millisecond
	// step is how many bytes are given to the parser between two looks at the
	// clock.
	step = 16 << 10
)

// Warnings of Parse, each "name: words".
const (
	WarnCut  = "page_cut: only the first 5 MiB of the page were read"
	WarnDeep = "deep_nesting: the page nests too deeply to be parsed whole; read as a flat sequence"
	WarnSlow = "page_slow: the page takes too long to parse; only its beginning was read"
)

// HTML parses UTF-8 HTML as a browser without scripts does, so that the
// content of noscript elements is there. Shadow trees that the page declares
// stand in the place of their hosts' content. What scripts and style sheets say
// is left out, unless it is data or a formula. The tree is at most 512 elements
// deep.
func HTML(page []byte) (root *html.Node, warnings []string) {
	runtime.LockOSThread() // the clock is that of the thread
	defer runtime.UnlockOSThread()
	return parse(page, cputime.Thread)
}

func parse(page []byte, now clock) (root *html.Node, warnings []string) {
	if len(page) > MaxBytes {
		page = cutAtRune(page, MaxBytes)
		warnings = append(warnings, WarnCut)
	}
	page = withoutPrograms(page)
	in := &timedReader{page: page, now: now, end: now() + MaxTime}
	root, err := html.ParseWithOptions(in, html.ParseOptionEnableScripting(false))
	if err != nil {
		// The parser gives up beyond 512 open elements; a tree of bytes in
		// memory cannot fail otherwise.
		in = &timedReader{page: page, now: now, end: now() + MaxTime/2}
		root = flat(in)
		warnings = append(warnings, WarnDeep)
	}
	if in.late {
		warnings = append(warnings, WarnSlow)
	}
	spliceShadows(root)
	return root, warnings
}

// cutAtRune gives the first limit bytes without part of a character at the end.
func cutAtRune(page []byte, limit int) []byte {
	page = page[:limit]
	for r, n := utf8.DecodeLastRune(page); r == utf8.RuneError && n == 1; r, n = utf8.DecodeLastRune(page) {
		page = page[:len(page)-1]
	}
	return page
}

// clock tells the CPU time taken so far.
type clock func() time.Duration

// timedReader reads a page in steps, and ends it early when its time is over:
// the parser is linear on ordinary pages and quadratic on hostile ones.
type timedReader struct {
	page []byte
	now  clock
	end  time.Duration
	late bool
}

func (r *timedReader) Read(p []byte) (int, error) {
	if len(r.page) == 0 {
		return 0, io.EOF
	}
	if r.now() > r.end {
		r.late = true
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), step)], r.page)
	r.page = r.page[n:]
	return n, nil
}

// spliceShadows puts declared shadow trees into their hosts, before what the
// host has (which a browser shows in the tree's slots; mozilla/readability#744).
func spliceShadows(root *html.Node) {
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == atom.Template && len(n.Attr) > 0 && isShadow(n) {
			found = append(found, n)
		}
	}
	for _, t := range found {
		host := t.Parent
		for c := t.FirstChild; c != nil; c = t.FirstChild {
			t.RemoveChild(c)
			host.InsertBefore(c, t)
		}
		host.RemoveChild(t)
	}
}

func isShadow(n *html.Node) bool {
	for i := range n.Attr {
		switch n.Attr[i].Key {
		case "shadowrootmode", "shadowroot":
			return true
		}
	}
	return false
}
