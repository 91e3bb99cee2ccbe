package webui

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"html/template"
	"net/http"
)

//go:embed page.html.tmpl
var pageTemplate string

// Page is a small page of the gateway itself.
type Page struct {
	Title, Text string
	Links       []Link
}

// Link of a page.
type Link struct{ Href, Text string }

// WritePage answers with a page.
func WritePage(w http.ResponseWriter, r *http.Request, status int, p Page) {
	var b bytes.Buffer
	t, err := template.New("page").Parse(pageTemplate)
	if err == nil {
		err = t.Execute(&b, p)
	}
	if err != nil { // the template is part of the program and tested
		http.Error(w, p.Text, status)
		return
	}
	WriteHTML(w, r, status, b.Bytes())
}

// WriteHTML answers with a page that is written already.
func WriteHTML(w http.ResponseWriter, r *http.Request, status int, page []byte) {
	h := w.Header()
	h.Set("Content-Type", types[".html"])
	h.Set("Content-Security-Policy", csp+styleOf(page))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page)
	}
}

// styleOf is the part of the policy that lets the page's own style element
// apply, and no other.
func styleOf(page []byte) string {
	_, rest, found := bytes.Cut(page, []byte("<style>"))
	style, _, closed := bytes.Cut(rest, []byte("</style>"))
	if !found || !closed {
		return ""
	}
	sum := sha256.Sum256(style)
	return "; style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
