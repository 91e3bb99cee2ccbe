package main

import (
	"fmt"
	"html"
	"net/http"
)

// siteHandler is a small web: pages, one of which never comes (/fog), and the
// results page of a search engine in the form of Bing's.
func siteHandler() http.Handler {
	mux := http.NewServeMux()
	page := func(path, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, body)
		})
	}
	page("/tides", `<!doctype html><html lang="en"><head><title>Tides of the harbour</title>
<meta name="description" content="When the water comes and goes"></head><body>
<nav><a href="/">Home</a></nav>
<article><h1>Tides of the harbour</h1>
<p>High water in the harbour is at noon today, and the ferry leaves half an hour later.</p>
<p>Low water follows in the evening, when the sandbank can be walked on.</p>
<img src="/tides.png" alt="Curve of the tides"> <a href="/ferry">The ferry</a></article></body></html>`)
	page("/ferry", `<!doctype html><html lang="en"><head><title>The ferry</title></head><body>
<article><h1>The ferry</h1><p>The ferry crosses the harbour at half past twelve.</p></article></body></html>`)
	mux.HandleFunc("GET /piers/{number}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>Pier %[1]s</title></head><body><p>Pier %[1]s has room for four boats.</p></body></html>`, r.PathValue("number"))
	})
	mux.HandleFunc("GET /fog", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		query := html.EscapeString(r.URL.Query().Get("q"))
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><html><head><title>%[1]s - Search</title></head><body>
<form id="sb_form"><input id="sb_form_q" name="q" value="%[1]s"></form>
<div id="b_content"><main><ol id="b_results">
<li class="b_algo"><h2><a href="http://%[2]s/tides">Tides of the harbour</a></h2><div class="b_caption"><p>High water in the harbour is at noon today.</p></div></li>
<li class="b_algo"><h2><a href="https://ferry.example/times">Harbour ferry, tides and times</a></h2><div class="b_caption"><p>Ferries go by the tides of the harbour.</p></div></li>
</ol></main></div></body></html>`, query, r.Host)
	})
	return mux
}
