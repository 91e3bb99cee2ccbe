package search

import (
	"slices"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/cleanse"
	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

// cleansed is a page as a model may read it: nothing in its texts is invisible,
// turns the direction of what follows, or imitates the markup of a chat. It tells
// what was done.
func cleansed(p adapter.Page) (adapter.Page, cleanse.Report) {
	var done cleanse.Report
	text := func(s string) string {
		s, r := cleanse.Text(s)
		done = done.Add(r)
		return s
	}
	p.AlteredQuery, p.SearchedQuery = text(p.AlteredQuery), text(p.SearchedQuery)
	p.Results = slices.Clone(p.Results)
	for i := range p.Results {
		r := &p.Results[i]
		r.Title, r.Snippet, r.SiteName = text(r.Title), text(r.Snippet), text(r.SiteName)
		if r.Title == "" { // nothing in it could be seen
			r.Title = r.URL
		}
		r.Passages = slices.Clone(r.Passages)
		for j := range r.Passages {
			r.Passages[j].Text = text(r.Passages[j].Text)
		}
	}
	return p, done
}
