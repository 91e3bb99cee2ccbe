package classify

import (
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// ruleSet is a list of marks, each with the elements that it is known by. It is
// asked of every page, and most pages have none of them: so elements are looked
// up by id, class and name first, and held against selectors only then.
type ruleSet struct {
	marks     []string
	selectors []cascadia.Selector
	byID      map[string][]int
	byClass   map[string][]int
	byName    map[string][]int
}

// rules makes a set of pairs of a mark and a selector. The last part of every
// selector has an id, a class or an element's name.
func rules(pairs ...string) *ruleSet {
	s := &ruleSet{byID: map[string][]int{}, byClass: map[string][]int{}, byName: map[string][]int{}}
	for i := 0; i < len(pairs); i += 2 {
		n := len(s.marks)
		s.marks = append(s.marks, pairs[i])
		s.selectors = append(s.selectors, cascadia.MustCompile(pairs[i+1]))
		for one := range strings.SplitSeq(pairs[i+1], ",") {
			s.index(strings.TrimSpace(one), n)
		}
	}
	return s
}

var (
	quoted  = regexp.MustCompile(`\[[^\]]*\]`)
	id      = regexp.MustCompile(`#([\w-]+)`)
	class   = regexp.MustCompile(`\.([\w-]+)`)
	element = regexp.MustCompile(`^([a-z][\w-]*)`)
)

// index files rule n under what the element that a selector ends in must have.
func (s *ruleSet) index(selector string, n int) {
	plain := quoted.ReplaceAllString(selector, "")
	last := plain[strings.LastIndexAny(plain, " >")+1:]
	for _, key := range []struct {
		part *regexp.Regexp
		in   map[string][]int
	}{{id, s.byID}, {class, s.byClass}, {element, s.byName}} {
		if m := key.part.FindStringSubmatch(last); m != nil {
			key.in[m[1]] = append(key.in[m[1]], n)
			return
		}
	}
	panic("classify: nothing to look up in the selector " + selector)
}

// first gives the first mark of the set that the page has.
func (s *ruleSet) first(doc *goquery.Document, kind Kind) Verdict {
	found := len(s.marks)
	try := func(n *html.Node, candidates []int) {
		for _, c := range candidates {
			if c < found && s.selectors[c].Match(n) {
				found = c
			}
		}
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			try(n, s.byName[n.Data])
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					try(n, s.byID[a.Val])
				case "class":
					for name := range strings.FieldsSeq(a.Val) {
						try(n, s.byClass[name])
					}
				}
			}
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	for _, n := range doc.Nodes {
		walk(n)
	}
	if found == len(s.marks) {
		return Verdict{}
	}
	return Verdict{kind, s.marks[found]}
}
