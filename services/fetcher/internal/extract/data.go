package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
)

const (
	// minData is how many bytes an article in JSON-LD has that is read in the
	// place of a page's content.
	minData = 1000
	// dataShare is how many times longer than the content it is.
	dataShare = 1.5
)

// dataContent is the article that the JSON-LD of the page has in full, where
// the elements of the page have much less of it: some pages put their text into
// place by scripts. It is nil when there is none.
func (d *Document) dataContent(c *content.Content) *content.Content {
	if !strings.Contains(d.head.types.String(), `"`) || !d.hasArticleBody() {
		return nil
	}
	about, _ := mainThings(d.things())
	body, _ := about["articleBody"].(string)
	if len(body) < minData || float64(len(body)) < dataShare*float64(c.Letters) {
		return nil
	}
	from := content.Whole(paragraphs(body))
	from.Type, from.Confidence, from.Letters = content.Article, c.Confidence, len(body)
	return from
}

func (d *Document) hasArticleBody() bool {
	for _, s := range d.head.scripts {
		if strings.Contains(s, `"articleBody"`) {
			return true
		}
	}
	return false
}

// things are what the JSON-LD of the page describes. It is read at the first
// call.
func (d *Document) things() []thing {
	if d.ld == nil {
		d.ld = append([]thing{}, ldThings(d.head.scripts)...)
	}
	return d.ld
}

// paragraphs makes elements of a text: of its tags where it has some, else of
// its lines.
func paragraphs(text string) *html.Node {
	root := &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div}
	if strings.Contains(text, "</") {
		if nodes, err := html.ParseFragment(strings.NewReader(text), root); err == nil {
			for _, n := range nodes {
				root.AppendChild(n)
			}
			return root
		}
	}
	for line := range strings.Lines(html.UnescapeString(text)) {
		if line = strings.TrimSpace(line); line != "" {
			p := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P}
			p.AppendChild(&html.Node{Type: html.TextNode, Data: line})
			root.AppendChild(p)
		}
	}
	return root
}
