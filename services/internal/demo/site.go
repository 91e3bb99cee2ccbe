package demo

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
)

//go:embed site/*.html
var siteFiles embed.FS

// page is one page of the site.
type page struct {
	Name, Title, Summary string
	Body                 template.HTML
}

// Path is where the page is on its site.
func (p page) Path() string {
	if p.Name == "index" {
		return "/"
	}
	return "/" + p.Name
}

// pages reads the site: a file a page, which begins with a comment of its title
// and its summary.
func pages() ([]page, error) {
	files, err := fs.Glob(siteFiles, "site/*.html")
	if err != nil {
		return nil, err
	}
	var all []page
	for _, file := range files {
		text, err := siteFiles.ReadFile(file)
		if err != nil {
			return nil, err
		}
		head, body, found := strings.Cut(strings.TrimPrefix(string(text), "<!-- "), " -->\n")
		title, summary, both := strings.Cut(head, " | ")
		if !found || !both {
			return nil, fmt.Errorf("%s does not begin with <!-- title | summary -->", file)
		}
		name := strings.TrimSuffix(path.Base(file), ".html")
		all = append(all, page{Name: name, Title: title, Summary: summary, Body: template.HTML(body)})
	}
	return all, nil
}

var layout = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Page.Title}}</title><meta name="description" content="{{.Page.Summary}}"></head>
<body><nav>{{range .All}}<a href="{{.Path}}">{{.Title}}</a> {{end}}</nav>
<main><article><h1>{{.Page.Title}}</h1>
{{.Page.Body}}</article></main></body></html>
`))

// siteHandler serves the pages.
func siteHandler(all []page) http.Handler {
	mux := http.NewServeMux()
	for _, p := range all {
		at := p.Path()
		if at == "/" {
			at = "/{$}"
		}
		mux.HandleFunc("GET "+at, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = layout.Execute(w, struct { // a reader that left needs nothing
				Page page
				All  []page
			}{p, all})
		})
	}
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprint(w, "User-agent: *\nDisallow: /drafts/\n")
	})
	return mux
}

var results = template.Must(template.New("results").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Query}} - Search</title></head><body>
<form id="sb_form"><input id="sb_form_q" name="q" value="{{.Query}}"></form>
<div id="b_content"><main><ol id="b_results">
{{range .Found}}<li class="b_algo"><h2><a href="{{$.Site}}{{.Path}}">{{.Title}}</a></h2><div class="b_caption"><p>{{.Summary}}</p></div></li>
{{end}}</ol></main></div></body></html>
`))

// searchHandler serves a page of results in the form of Bing's: the pages of the
// site that have the words of the query, those with the most of them first.
func searchHandler(site string, all []page) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query().Get("q")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = results.Execute(w, struct { // a reader that left needs nothing
			Query, Site string
			Found       []page
		}{query, site, find(query, all)})
	})
	return mux
}

// find ranks the pages by how often they have the words of a query; a word in
// the title counts as ten.
func find(query string, all []page) []page {
	const titleWeight = 10
	score := func(p page) int {
		total := 0
		for _, word := range strings.Fields(strings.ToLower(query)) {
			word = strings.TrimRight(word, "?.,!")
			if len(word) > 4 { // "calibrate" and "calibration" are one word
				word = word[:max(4, len(word)-3)]
			}
			total += titleWeight*strings.Count(strings.ToLower(p.Title), word) + strings.Count(strings.ToLower(p.Summary+" "+string(p.Body)), word)
		}
		return total
	}
	found := slices.DeleteFunc(slices.Clone(all), func(p page) bool { return score(p) == 0 })
	slices.SortStableFunc(found, func(a, b page) int { return cmp.Compare(score(b), score(a)) })
	return found
}
