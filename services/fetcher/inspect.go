package fetcher

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/cputime"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/extract"
)

// maxInspect is the largest page InspectPage reads, in bytes: what a fetch may
// decode at most.
const maxInspect = 30 << 20

// PageInput is one page for InspectPage: its bytes are one of Path, HTML and
// HTMLBase64.
type PageInput struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	// Path names a file with the body as it came from the server.
	Path string `json:"path,omitempty"`
	// HTML is the body as text, already decoded.
	HTML *string `json:"html,omitempty"`
	// HTMLBase64 is the body as it came from the server.
	HTMLBase64 *string `json:"html_base64,omitempty"`
	// ContentType is the Content-Type field, where there was one.
	ContentType string `json:"content_type,omitempty"`
}

// PageReport is what the fetcher makes of a page. Every field is always
// present; what is not told from the page is empty.
type PageReport struct {
	ID           string             `json:"id"`
	DetectedType string             `json:"detected_type"`
	Charset      string             `json:"charset"`
	PageType     string             `json:"page_type"`
	Confidence   float64            `json:"confidence"`
	Title        string             `json:"title"`
	Byline       string             `json:"byline"`
	Published    string             `json:"published"`
	Language     string             `json:"language"`
	Text         string             `json:"text"`
	Markdown     string             `json:"markdown"`
	Links        []extract.Link     `json:"links"`
	Images       []extract.Image    `json:"images"`
	Tables       [][][]string       `json:"tables"`
	Structured   extract.Structured `json:"structured"`
	Metadata     extract.Metadata   `json:"metadata"`
	Warnings     []string           `json:"warnings"`
	// CPUMs is the CPU time that one thread took for it, in milliseconds.
	CPUMs float64 `json:"cpu_ms"`
}

// InspectPage reads a page exactly as a fetch does, without any network. Links
// and images are cut at the numbers that a fetch shows first. The error says in
// one line why the page cannot be read.
func InspectPage(in PageInput) (PageReport, error) {
	body, contentType, err := in.body()
	if err != nil {
		return PageReport{}, err
	}
	from, err := url.Parse(in.URL)
	if err != nil {
		return PageReport{}, fmt.Errorf("url: not a valid address")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cputime.Thread()
	docs := newDocumentReader()
	defer func() { _ = docs.Close() }() // it has nothing open
	p, err := readPage(context.Background(), docs, source{body: body, contentType: contentType, name: filepath.Base(in.Path), from: from, maxText: maxContentBytes})
	if err != nil {
		return PageReport{}, err
	}
	meta := p.metadata()
	links, images := p.links(), p.images()
	r := PageReport{
		ID:           in.ID,
		DetectedType: p.kind.Type,
		Charset:      p.charset.Name,
		Title:        meta.Title,
		Byline:       meta.Byline,
		Published:    meta.Published,
		Language:     meta.Language,
		Text:         p.text(),
		Markdown:     p.markdown(),
		Links:        links[:min(len(links), maxLinks)],
		Images:       images[:min(len(images), maxImages)],
		Tables:       p.tableRows(),
		Structured:   p.structured(),
		Metadata:     meta,
	}
	switch {
	case p.file != nil:
		r.PageType, r.Confidence = p.file.Kind, 1
	case p.doc != nil:
		c := p.doc.Content()
		r.PageType, r.Confidence = string(c.Type), c.Confidence
	}
	p.tellCleansed()
	r.Warnings = append([]string{}, p.warnings...)
	r.CPUMs = float64((cputime.Thread() - begin).Microseconds()) / 1000
	return r, nil
}

// body gives the bytes of the page and the Content-Type to read them by.
func (in PageInput) body() ([]byte, string, error) {
	switch {
	case in.HTML != nil:
		return []byte(*in.HTML), "text/html; charset=utf-8", nil
	case in.HTMLBase64 != nil:
		b, err := base64.StdEncoding.DecodeString(*in.HTMLBase64)
		if err != nil {
			return nil, "", fmt.Errorf("html_base64: %w", err)
		}
		return b, in.ContentType, nil
	case in.Path != "":
		f, err := os.Open(in.Path)
		if err != nil {
			return nil, "", fmt.Errorf("path: %w", err)
		}
		defer func() { _ = f.Close() }()
		b, err := io.ReadAll(io.LimitReader(f, maxInspect+1))
		if err != nil {
			return nil, "", fmt.Errorf("path: %w", err)
		}
		if len(b) > maxInspect {
			return nil, "", fmt.Errorf("path: over %d bytes", maxInspect)
		}
		return b, in.ContentType, nil
	default:
		return nil, "", errors.New("one of path, html and html_base64 is needed")
	}
}
