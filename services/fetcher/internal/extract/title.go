package extract

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
)

// separators stand between the title of a page and the name of its site; those
// of a hierarchy also between its levels.
const (
	separators  = `|-–—\/>»`
	hierarchies = `\/>»`
)

// Lengths of a title element, in characters, out of which the heading of the
// page is the better title.
const (
	shortTitle = 15
	longTitle  = 150
)

// articleTitle is the title element less the name of the site, by the rules of
// Mozilla's Readability.
func (d *Document) articleTitle() string {
	whole := d.head.title
	title, hierarchical := whole, false
	switch {
	case separatorAt(whole, separators, false) >= 0:
		hierarchical = separatorAt(whole, hierarchies, false) >= 0
		title = whole[:separatorAt(whole, separators, true)]
		if wordCount(title) < 3 {
			title = afterFirst(whole)
		}
	case strings.Contains(whole, ": "):
		title = d.afterColon(whole)
	case utf8.RuneCountInString(whole) > longTitle || utf8.RuneCountInString(whole) < shortTitle:
		if d.head.h1s == 1 {
			title = d.headingTitle()
		}
	}
	title = fold(title)
	if n := wordCount(title); n <= 4 && (!hierarchical || n != wordCount(withoutSeparators(whole))-1) {
		return whole
	}
	return title
}

// afterColon cuts what stands before the last colon, unless that leaves or
// cuts too much, or a heading says it all.
func (d *Document) afterColon(whole string) string {
	if d.isHeading(whole) {
		return whole
	}
	title := whole[strings.LastIndexByte(whole, ':')+1:]
	if wordCount(title) < 3 {
		return whole[strings.IndexByte(whole, ':')+1:]
	}
	if wordCount(whole[:strings.IndexByte(whole, ':')]) > 5 {
		return whole
	}
	return title
}

// headingTitle is what a reader sees of the first heading of the first level.
func (d *Document) headingTitle() string {
	if d.head.h1 == nil {
		return ""
	}
	for n := d.head.h1; n != nil; n = n.Parent {
		if cleanse.Hidden(n) {
			return ""
		}
	}
	return textOf(d.head.h1, cleanse.Hidden)
}

// separatorAt finds the first or the last separator with white space on both
// sides; -1 when there is none.
func separatorAt(s, set string, last bool) int {
	found, before := -1, rune(0)
	for i, r := range s {
		if before == ' ' && strings.ContainsRune(set, r) && strings.HasPrefix(s[i+utf8.RuneLen(r):], " ") {
			found = i
			if !last {
				break
			}
		}
		before = r
	}
	return found
}

// afterFirst is what stands behind the first separator.
func afterFirst(s string) string {
	s = s[separatorAt(s, separators, false):]
	_, n := utf8.DecodeRuneInString(s)
	return s[n:]
}

func withoutSeparators(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(separators, r) {
			return -1
		}
		return r
	}, s)
}

func wordCount(s string) int { return len(strings.Fields(s)) }

// isHeading says whether a first or second level heading says just that.
func (d *Document) isHeading(s string) bool { return holdsHeading(d.body, s) }

// holdsHeading does not look for headings in each other, so that every text is
// read once.
func holdsHeading(n *html.Node, s string) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode:
		case c.DataAtom == atom.H1 || c.DataAtom == atom.H2:
			if textOf(c, cleanse.Hidden) == s {
				return true
			}
		case holdsHeading(c, s):
			return true
		}
	}
	return false
}

// isSimilar says whether a says little that b does not.
func isSimilar(a, b string) bool { return content.Repeats(b, a) }

// visibleAuthor is what the first line that is named after an author says.
func (d *Document) visibleAuthor() string {
	n := d.head.byline
	if n == nil {
		return ""
	}
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && strings.Contains(attr(c, "itemprop"), "name") {
			return textOf(c, cleanse.Hidden)
		}
	}
	return textOf(n, cleanse.Hidden)
}
