package main

import (
	"bytes"
	"io"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
)

// extractor reads the text and the metadata of a page, and says how long the
// text is. A page that it finds no content in is no error.
type extractor struct {
	name string
	read func(page) (letters int, err error)
}

// ours is the first; the others are what it is compared with.
var extractors = []extractor{
	{"nanoclaw", func(p page) (int, error) {
		d := extract.Parse(p.html, p.url)
		text, _ := d.Text()
		return len(text) + len(d.Metadata().Title), nil
	}},
	{"go-readability", func(p page) (int, error) {
		a, err := readability.FromReader(bytes.NewReader(p.html), p.url)
		if err != nil || a.Node == nil {
			return 0, nil
		}
		var b strings.Builder
		if err := a.RenderText(&b); err != nil {
			return 0, err
		}
		return b.Len() + len(a.Title()), nil
	}},
	{"go-trafilatura", func(p page) (int, error) {
		r, err := trafilatura.Extract(bytes.NewReader(p.html), trafilatura.Options{OriginalURL: p.url, EnableFallback: true})
		if err != nil {
			return 0, nil
		}
		return len(r.ContentText) + len(r.Metadata.Title), nil
	}},
	{"html.Parse", func(p page) (int, error) {
		_, err := html.Parse(io.Reader(bytes.NewReader(p.html)))
		return len(p.html), err
	}},
}
