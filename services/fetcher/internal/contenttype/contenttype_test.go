package contenttype

import (
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	zip := "PK\x03\x04\x14\x00\x06\x00"
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	tests := []struct {
		name, body, header string
		want               string
		mismatch           bool
	}{
		{"HTML as HTML", "<!DOCTYPE html><p>x", "text/html; charset=utf-8", HTML, false},
		{"HTML without a header", "  <html><p>x", "", HTML, false},
		{"HTML behind a comment", "<!-- saved --><!doctype html>", "text/html", HTML, false},
		{"HTML behind a byte order mark", "\xef\xbb\xbf<!doctype html>", "", HTML, false},
		{"HTML in UTF-16", "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", "text/html", HTML, false},
		{"HTML served as a PDF", "<!doctype html><p>not found", "application/pdf", HTML, true},
		{"HTML served as plain text", "<!doctype html><p>x", "text/plain", HTML, true},
		{"an HTML fragment served as HTML", "hello <b>you</b>", "text/html", HTML, false},
		{"text served as HTML", "hello", "text/html", HTML, false},
		{"JSON served as HTML stays HTML", `{"a": 1}`, "text/html", HTML, false},
		{"XHTML", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "application/xhtml+xml", XHTML, false},
		{"XHTML without a header", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "", HTML, false},
		{"a feed", `<?xml version="1.0"?><rss version="2.0">`, "application/rss+xml", RSS, false},
		{"a feed served as plain text", `<?xml version="1.0"?><rss version="2.0">`, "text/plain", RSS, false},
		{"a feed served as any XML", `<?xml version="1.0"?><!-- made by hand --><feed>`, "text/xml", Atom, false},
		{"a feed served as an image", `<rss>`, "image/png", RSS, true},
		{"a feed without a declaration", `<feed xmlns="http://www.w3.org/2005/Atom">`, "", Atom, false},
		{"a feed of RSS 1.0", `<rdf:RDF xmlns="http://purl.org/rss/1.0/">`, "", RSS, false},
		{"RDF that is no feed", `<?xml version="1.0"?><rdf:RDF xmlns:owl="x">`, "application/rdf+xml", "application/rdf+xml", false},
		{"a JSON feed", `{"version": "https://jsonfeed.org/version/1.1", "items": []}`, "application/json", JSONFeed, false},
		{"a sitemap", `<urlset xmlns="x">`, "", XML, false},
		{"JSON", ` {"a": [1, 2]} `, "application/json", JSON, false},
		{"JSON served as plain text", `[{"a": 1}]`, "text/plain", JSON, false},
		{"JSON of a kind of its own", `{"a": 1}`, "application/ld+json", "application/ld+json", false},
		{"text in brackets is no JSON", "[draft]\nnot yet", "text/plain", Plain, false},
		{"plain text", "hello", "text/plain", Plain, false},
		{"text without a header", "hello", "", Plain, false},
		{"text of a kind", "a,b\n1,2", "text/csv", "text/csv", false},
		{"text served as bytes", "hello", "application/octet-stream", Plain, false},
		{"text served as an image", "hello", "image/png", Plain, true},
		{"text with escape sequences", "\x1b$B$3$s\x1b(B hello", "text/plain", Plain, false},
		{"PDF as PDF", "%PDF-1.7\n", "application/pdf", PDF, false},
		{"PDF as HTML", "%PDF-1.7\n", "text/html", PDF, true},
		{"PDF behind junk", "junk\n%PDF-1.7\n", "application/pdf", PDF, false},
		{"a page about PDF is none", "<p>a file begins with %PDF-1.7", "text/html", HTML, false},
		{"an image as HTML", png, "text/html", "image/png", true},
		{"an image as another image", png, "image/jpeg", "image/jpeg", false},
		{"a Word file", zip, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
		{"an archive as HTML", zip, "text/html", "application/zip", true},
		{"unknown bytes", "\x00\x01\x02\x03\xff", "", Binary, false},
		{"unknown bytes as text", "\x00\x01\x02\x03\xff", "text/plain", Binary, true},
		{"unknown bytes of a named type", "\x00\x01\x02\x03\xff", "application/wasm", "application/wasm", false},
		{"nothing as HTML", "", "text/html", HTML, false},
		{"nothing at all", "", "", Plain, false},
		{"a header that is none", "hello", "yes please", Plain, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Detect([]byte(tt.body), tt.header, "")
			if got.Type != tt.want || got.Mismatch != tt.mismatch {
				t.Errorf("got %+v, want %s, mismatch %t", got, tt.want, tt.mismatch)
			}
		})
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("<!doctype html>"), "text/html")
	f.Add([]byte("{"), ";;")
	f.Add([]byte("\xff\xfe<"), "a/b; c")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		got := Detect(body, header, "")
		if !strings.Contains(got.Type, "/") {
			t.Errorf("type %q", got.Type)
		}
		if got.IsHTML() && !got.IsText() && got.Type != XHTML {
			t.Errorf("%s is HTML but no text", got.Type)
		}
	})
}
