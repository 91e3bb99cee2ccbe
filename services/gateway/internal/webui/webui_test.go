package webui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/webui"
)

func TestABuiltAppIsServed(t *testing.T) {
	app := webui.New(fstest.MapFS{
		"index.html":            {Data: []byte("<p>app</p>")},
		"favicon.svg":           {Data: []byte("<svg/>")},
		"assets/app-1.js":       {Data: []byte("plain")},
		"assets/app-1.js.gz":    {Data: []byte("packed")},
		"assets/_plugin-2.css":  {Data: []byte("css")},
		"assets/font-3.woff2":   {Data: []byte("font")},
		".keep":                 {Data: nil},
		"assets/.hidden/secret": {Data: []byte("x")},
	})
	const html = "text/html,application/xhtml+xml"
	for _, tc := range []struct {
		name, path, accept, encoding string
		status                       int
		body, contentType, cache     string
	}{
		{"the page", "/", html, "", 200, "<p>app</p>", "text/html; charset=utf-8", "no-cache"},
		{"the page for any program", "/", "*/*", "", 200, "<p>app</p>", "text/html; charset=utf-8", "no-cache"},
		{"a page of the app's own", "/c/1", html, "", 200, "<p>app</p>", "text/html; charset=utf-8", "no-cache"},
		{"a path that climbs", "/../../etc/passwd", html, "", 200, "<p>app</p>", "text/html; charset=utf-8", "no-cache"},
		{"a file that is missing", "/c/1.png", "image/*", "", 404, "", "application/json", ""},
		{"an asset that is missing is no page", "/assets/old.js", html, "", 404, "", "application/json", ""},
		{"a folder is not listed", "/assets/", "*/*", "", 404, "", "application/json", ""},
		{"the placeholder is hidden", "/.keep", "*/*", "", 404, "", "application/json", ""},
		{"so are hidden folders", "/assets/.hidden/secret", "*/*", "", 404, "", "application/json", ""},
		{"an asset for ever", "/assets/app-1.js", "*/*", "", 200, "plain", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"an asset packed", "/assets/app-1.js", "*/*", "br, gzip;q=0.8", 200, "packed", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"not packed for who refuses", "/assets/app-1.js", "*/*", "gzip;q=0", 200, "plain", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"names that begin with an underscore", "/assets/_plugin-2.css", "*/*", "", 200, "css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"a font", "/assets/font-3.woff2", "*/*", "", 200, "font", "font/woff2", "public, max-age=31536000, immutable"},
		{"a file at the top", "/favicon.svg", "*/*", "", 200, "<svg/>", "image/svg+xml", "no-cache"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://localhost"+tc.path, nil)
			r.Header.Set("Accept", tc.accept)
			r.Header.Set("Accept-Encoding", tc.encoding)
			w := httptest.NewRecorder()
			app.ServeHTTP(w, r)
			h := w.Header()
			if w.Code != tc.status || h.Get("Content-Type") != tc.contentType {
				t.Fatalf("answer = %d %s %s", w.Code, h.Get("Content-Type"), w.Body)
			}
			if tc.status != 200 {
				return
			}
			if w.Body.String() != tc.body || h.Get("Cache-Control") != tc.cache {
				t.Errorf("answer = %q, Cache-Control %q", w.Body, h.Get("Cache-Control"))
			}
			if packed := tc.body == "packed"; packed != (h.Get("Content-Encoding") == "gzip") {
				t.Errorf("Content-Encoding = %q", h.Get("Content-Encoding"))
			}
			csp := h.Get("Content-Security-Policy")
			if page := strings.HasPrefix(tc.contentType, "text/html"); page != strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "script-src") {
				t.Errorf("Content-Security-Policy = %q", csp)
			}
		})
	}
	t.Run("a page that has not changed is not sent again", func(t *testing.T) {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		app.ServeHTTP(again, r)
		if again.Code != http.StatusNotModified {
			t.Errorf("status = %d with ETag %s", again.Code, w.Header().Get("ETag"))
		}
	})
	t.Run("HEAD has no body", func(t *testing.T) {
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest("HEAD", "/", nil))
		if w.Code != 200 || w.Body.Len() != 0 {
			t.Errorf("answer = %d %q", w.Code, w.Body)
		}
	})
}

func TestWithoutABuildThePageSaysSo(t *testing.T) {
	app := webui.New(fstest.MapFS{".keep": {}})
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	app.ServeHTTP(w, r)
	for _, want := range []string{"NanoClaw", "no web app", `href="/docs"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("page lacks %q: %s", want, w.Body)
		}
	}
	if w.Code != 200 || strings.Contains(w.Body.String(), ".keep") {
		t.Errorf("answer = %d %s", w.Code, w.Body)
	}
	policy := w.Header().Get("Content-Security-Policy")
	if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "style-src 'self' 'sha256-") {
		t.Errorf("the page's style is not allowed by its hash alone: %s", policy)
	}
}

func TestTheEmbeddedFolderOpens(t *testing.T) {
	files, err := webui.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	webui.New(files).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 {
		t.Errorf("status = %d", w.Code)
	}
}

func TestAPageEscapesItsWords(t *testing.T) {
	w := httptest.NewRecorder()
	webui.WritePage(w, httptest.NewRequest("GET", "/", nil), 401, webui.Page{Title: "<b>", Text: "<script>"})
	if w.Code != 401 || strings.Contains(w.Body.String(), "<script>") || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("page = %d %s", w.Code, w.Body)
	}
}
