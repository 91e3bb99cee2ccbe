package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// separators stand between the title of a page and the name of its site.
const separators = `|-–—\/>»`

// articleTitle is the title element less the name of the site, by the rules of
// Mozilla's Readability.
func (d *Document) articleTitle() string {
	whole := d.head.title
	title, hierarchical := whole, false
	switch {
	case hasSeparator(whole, separators):
		hierarchical = hasSeparator(whole, `\/>»`)
		title = beforeLast(whole)
		if wordCount(title) < 3 {
			title = afterFirst(whole)
		}
	case strings.Contains(whole, ": "):
		if d.isHeading(whole) {
			break
		}
		title = whole[strings.LastIndex(whole, ":")+1:]
		if wordCount(title) < 3 {
			title = whole[strings.Index(whole, ":")+1:]
		} else if wordCount(whole[:strings.Index(whole, ":")]) > 5 {
			title = whole
		}
	case len([]rune(whole)) > 150 || len([]rune(whole)) < 15:
		if d.head.h1s == 1 {
			title = textOf(d.head.h1)
		}
	}
	title = fold(title)
	n := wordCount(title)
	if n <= 4 && (!hierarchical || n != wordCount(withoutSeparators(whole))-1) {
		title = whole
	}
	return title
}

// separatorAt finds the first or last separator with white space on both sides.
func separatorAt(s, set string, last bool) int {
	found := -1
	prev := rune(0)
	for i, r := range s {
		if strings.ContainsRune(set, r) && prev == ' ' && strings.HasPrefix(s[i+len(string(r)):], " ") {
			found = i
			if !last {
				break
			}
		}
		prev = r
	}
	return found
}

func hasSeparator(s, set string) bool { return separatorAt(s, set, false) >= 0 }

func beforeLast(s string) string { return strings.TrimSpace(s[:separatorAt(s, separators, true)]) }

func afterFirst(s string) string {
	at := separatorAt(s, separators, false)
	return strings.TrimSpace(strings.TrimLeft(s[at:], separators))
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
func (d *Document) isHeading(s string) bool {
	for n := range d.body.Descendants() {
		if n.Type == html.ElementNode && (n.DataAtom == atom.H1 || n.DataAtom == atom.H2) && textOf(n) == s {
			return true
		}
	}
	return false
}
