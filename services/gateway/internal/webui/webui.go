// Package webui serves the web app that is built into the binary.
//
// The app is built into dist, which the compiler embeds. Without a build only
// the placeholder is there, so that the program always compiles; then one page
// that says so takes the app's place.
package webui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
)

//go:embed all:dist
var dist embed.FS

// Embedded is the app that was built into the binary.
func Embedded() (fs.FS, error) { return fs.Sub(dist, "dist") }

const (
	indexFile = "index.html"
	// assetsDir holds files whose names change with their content.
	assetsDir = "assets/"
)

// csp of every HTML page. Nothing may be inline.
const csp = "default-src 'self'; img-src 'self' data: blob:; " +
	"object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; connect-src 'self'"

// App serves the files of a built app.
type App struct{ files fs.FS }

// New serves the app in files, looked at anew with each request.
func New(files fs.FS) *App { return &App{files} }

// ServeHTTP answers GET and HEAD with a file, and where there is none with the
// app's page if a page is what the browser asked for: the app finds its own way
// from the address. Anything else is 404.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = indexFile
	}
	page := name == indexFile || (WantsHTML(r) && !strings.HasPrefix(name, assetsDir))
	switch {
	case a.serve(w, r, name):
	case page && a.serve(w, r, indexFile):
	case page:
		WritePage(w, r, http.StatusOK, Page{
			Title: "NanoClaw",
			Text:  "The server runs. This build has no web app; everything can be done over its API and its command line. With Node.js installed, make build builds the app into it.",
			Links: []Link{{"/docs", "Routes"}, {"/openapi.yaml", "OpenAPI document"}, {"/healthz", "Health"}},
		})
	default:
		envelope.New(http.StatusNotFound, "NOT_FOUND", "there is no file %q", clip(r.URL.Path)).Write(w, r)
	}
}

// serve sends a file if there is one of that name.
func (a *App) serve(w http.ResponseWriter, r *http.Request, name string) bool {
	if !fs.ValidPath(name) || hidden(name) {
		return false
	}
	data, err := a.read(name)
	if err != nil {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	if strings.HasPrefix(name, assetsDir) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
		sum := sha256.Sum256(data)
		h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`)
	}
	if path.Ext(name) == ".html" {
		h.Set("Content-Security-Policy", csp)
	}
	if packed, err := a.read(name + ".gz"); err == nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r) && r.Header.Get("Range") == "" {
			h.Set("Content-Encoding", "gzip")
			data = packed
			if tag := h.Get("ETag"); tag != "" {
				h.Set("ETag", strings.TrimSuffix(tag, `"`)+`-gz"`)
			}
		}
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return true
}

func (a *App) read(name string) ([]byte, error) {
	info, err := fs.Stat(a.files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	return fs.ReadFile(a.files, name)
}

// hidden files are not the app's: the placeholder, for one.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// WantsHTML says that a browser asks for a page.
func WantsHTML(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

func acceptsGzip(r *http.Request) bool {
	for enc := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(enc), ";")
		if strings.EqualFold(name, "gzip") {
			return !strings.HasPrefix(strings.ReplaceAll(q, " ", ""), "q=0") || strings.Contains(q, "0.")
		}
	}
	return false
}

// contentType of the kinds of files that a built app has. The machine's own
// table is not asked: it may call a script text/plain, which browsers refuse.
func contentType(name string) string {
	if t, ok := types[path.Ext(name)]; ok {
		return t
	}
	return "application/octet-stream"
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".webmanifest": "application/manifest+json",
	".wasm": "application/wasm", ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".avif": "image/avif", ".gif": "image/gif",
	".ico": "image/x-icon", ".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf",
}

func clip(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
