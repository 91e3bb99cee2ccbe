package extract

import (
	"strings"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/content"
)

// cueWords are what names the type of a page in its JSON-LD and microdata, in
// the name of the software that made it, in its path and in its host.
var cueWords = []struct {
	cue                   content.Cue
	types, software, path []string
	host                  []string // the beginning of a host name
}{
	{cue: content.CueArticle, types: []string{`Article"`, `BlogPosting"`}},
	{cue: content.CueProduct, types: []string{`"Product"`, `/Product"`}, path: []string{"/product", "/shop/p/", "/listing/", "/dp/"}},
	{cue: content.CueForum, types: []string{`DiscussionForumPosting"`, `QAPage"`},
		software: []string{"discourse", "phpbb", "vbulletin", "xenforo", "invision", "flarum", "nodebb", "mybb", "smf"},
		path:     []string{"/forum", "/thread", "/topic/", "/questions/", "/discussion", "showthread", "viewtopic", "/t/", "/comments/"},
		host:     []string{"forum"}},
	{cue: content.CueList, types: []string{`CollectionPage"`, `ItemList"`, `SearchResultsPage"`},
		path: []string{"/category", "/categories", "/collection", "/tag/", "/tags/", "/c/", "/search", "/shop/", "/list", "/browse", "/topics/"}},
	{cue: content.CueDocs, types: []string{`TechArticle"`, `APIReference"`},
		software: []string{"docusaurus", "sphinx", "mkdocs", "gitbook", "vuepress", "vitepress", "doxygen", "antora"},
		path:     []string{"/docs", "/doc/", "/documentation", "/reference", "/manual", "/guide", "/api/", "/tutorial", "/wiki/", "/learn/"},
		host:     []string{"docs.", "developer"}},
}

// cues collects what a page says about its type.
func (d *Document) cues() content.Cue {
	var c content.Cue
	host, path := "", ""
	if d.page != nil {
		host, path = strings.ToLower(d.page.Hostname()), strings.ToLower(d.page.EscapedPath())
	}
	types := d.head.types.String()
	software := strings.ToLower(d.head.byLower["generator"])
	for _, w := range cueWords {
		if containsAny(types, w.types) || containsAny(software, w.software) || containsAny(path, w.path) || hasAnyPrefix(host, w.host) {
			c |= w.cue
		}
	}
	switch kind := strings.ToLower(d.head.byLower["og:type"]); {
	case kind == "article" || d.head.byLower["article:published_time"] != "":
		c |= content.CueArticle
	case strings.HasPrefix(kind, "product") || kind == "og:product":
		c |= content.CueProduct
	case kind == "website":
		c |= content.CueSite
	}
	path = strings.Trim(path, "/")
	if path == "" || !strings.ContainsAny(path, "/-_.0123456789") {
		c |= content.CueHome
	}
	if last := path[strings.LastIndexByte(path, '/')+1:]; strings.Count(last, "-")+strings.Count(last, "_") >= 3 {
		c |= content.CueSlug
	}
	return c
}

func containsAny(s string, words []string) bool {
	if s == "" {
		return false
	}
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func hasAnyPrefix(s string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}
