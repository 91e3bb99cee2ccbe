package content

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

const (
	maxByline = 100 // characters that a byline has less than
	maxTitle  = 300 // bytes of a heading that are compared with the title
	sameTitle = 0.75
)

// leaveOutTitle leaves out the first heading that says what the page's title
// says, and the first line that says who wrote it: both are metadata.
func (f *finder) leaveOutTitle() {
	titled, bylined := f.page.Title == "", f.page.HasByline
	if f.title == nil {
		f.title = wordSet(f.page.Title)
	}
	for i := int32(1); i < int32(len(f.rows)) && (!titled || !bylined); i++ {
		r := &f.rows[i]
		switch {
		case r.Is(clean.Gone):
			i = r.End - 1
		case !titled && (r.Tag == atom.H1 || r.Tag == atom.H2) && repeats(f.title, PlainText(r.Node, maxTitle)):
			titled = true
			r.Flags |= clean.Out
			i = r.End - 1
		case !bylined && (r.Hints()&clean.HintByline != 0 || r.Is(clean.Author)):
			if n := len(strings.TrimSpace(PlainText(r.Node, maxTitle))); n > 0 && n < maxByline {
				bylined = true
				r.Flags |= clean.Out
				i = r.End - 1
			}
		}
	}
}

// Repeats says whether b says little that a does not: more than 0.75 of its
// letters are in words that a has.
func Repeats(a, b string) bool { return repeats(wordSet(a), b) }

func wordSet(s string) map[string]bool {
	in := map[string]bool{}
	for _, w := range words(s) {
		in[w] = true
	}
	return in
}

func repeats(in map[string]bool, s string) bool {
	all, same := 0, 0
	for _, w := range words(s) {
		all += len(w) + 1
		if in[w] {
			same += len(w) + 1
		}
	}
	return all > 0 && float64(same) > sameTitle*float64(all)
}

// words gives the words of a text in lower case.
func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_'
	})
}

// PlainText is the text below a node as it stands, at most about limit bytes
// of it.
func PlainText(n *html.Node, limit int) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !clean.IsUnread(d.Parent) {
			b.WriteString(d.Data[:min(len(d.Data), limit+1)])
			if b.Len() > limit {
				break
			}
		}
	}
	return b.String()
}
