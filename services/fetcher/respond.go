package fetcher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/url"
	"path"
	"time"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
)

// warnContentLimit names the warning that a text is longer than can be read.
const warnContentLimit = "content_limit"

// respond reads a fetched body into the answer to q.
func respond(ctx context.Context, docs *document.Reader, q query, got *httpfetch.Response, final *url.URL) (*fetcherv1.FetchResponse, error) {
	out := &fetcherv1.FetchResponse{
		Url:      q.url,
		Content:  &fetcherv1.PageContent{},
		Metadata: metadataOf(got),
		Warnings: append(answerWarnings(got), got.Warnings...),
	}
	out.Metadata.Origin = originOf(hostForOrigin(got.FinalURL))
	p, err := readPage(ctx, docs, source{
		body: got.Body, contentType: got.Header.Get("Content-Type"), name: nameOf(got, final), from: final, maxText: maxContentBytes,
	})
	var unreadable *document.Error
	switch {
	case errors.As(err, &unreadable):
		if got.Status < http.StatusBadRequest {
			return nil, shapeUnreadable(unreadable, got.Truncated)
		}
		out.Warnings = append(out.Warnings, harmless(unreadable.Words)) // an error status is an answer without any body
		return out, nil
	case err != nil:
		return nil, err
	}
	p.answer(out, q)
	return out, nil
}

// answer puts what q wants of the page, and what is known of it, into out.
func (p *page) answer(out *fetcherv1.FetchResponse, q query) {
	p.describe(out.Metadata, q.extract)
	p.fill(out, q)
	p.harmlessWarnings()
	p.countCleansed(out.Metadata)
	p.tellCleansed()
	out.Warnings = append(out.Warnings, p.warnings...)
}

// nameOf is the name of a fetched file: what the server calls it, else the end of
// its address.
func nameOf(got *httpfetch.Response, final *url.URL) string {
	if _, params, err := mime.ParseMediaType(got.Header.Get("Content-Disposition")); err == nil && params["filename"] != "" {
		return path.Base(params["filename"])
	}
	return path.Base(final.Path)
}

// describe fills in what the page says about itself.
func (p *page) describe(m *fetcherv1.PageMetadata, extract string) {
	m.DetectedType, m.Charset = p.kind.Type, p.charset.Name
	about := p.metadata()
	m.Title, m.Byline, m.Published, m.Language = about.Title, about.Byline, about.Published, about.Language
	m.SiteName, m.Description, m.Canonical, m.Modified = about.SiteName, about.Description, about.Canonical, about.Modified
	if p.doc != nil && findsContent(extract) {
		c := p.doc.Content()
		m.PageType, m.Confidence, m.HiddenChars = string(c.Type), c.Confidence, clampInt32(c.Hidden)
	} else if p.doc != nil && extract != pagecontent.Raw {
		m.HiddenChars = clampInt32(p.doc.Unseen())
	}
	if p.file != nil {
		m.PageType, m.Pages = p.file.Kind, clampInt32(p.file.Pages)
		m.Properties, m.HiddenChars = p.harmlessProperties(p.file.About.Properties), clampInt32(p.file.Hidden)
		m.Confidence = 1
	}
}

// findsContent says that an extract type is about the main content. The others do
// not look for it, which takes half of the time that a page takes.
func findsContent(extract string) bool {
	switch extract {
	case "", pagecontent.Text, pagecontent.Markdown, pagecontent.Tables, pagecontent.Metadata:
		return true
	}
	return false
}

func metadataOf(got *httpfetch.Response) *fetcherv1.PageMetadata {
	m := &fetcherv1.PageMetadata{
		StatusCode:    int32(got.Status),
		ContentType:   harmless(got.Header.Get("Content-Type")),
		FinalUrl:      harmlessAddress(got.FinalURL),
		BodyBytes:     clampInt32(len(got.Body)),
		BodyTruncated: got.Truncated,
		Attempts:      int32(got.Attempts),
	}
	for _, r := range got.Redirects {
		m.Redirects = append(m.Redirects, harmlessAddress(r.URL))
	}
	return m
}

// answerWarnings are what a reader must know of the answer itself.
func answerWarnings(got *httpfetch.Response) []string {
	var out []string
	if got.Status >= http.StatusBadRequest {
		out = append(out, fmt.Sprintf("status: the server answered %d %s; the content is what it sent with that",
			got.Status, http.StatusText(got.Status)))
	}
	if got.RetryAfter > 0 {
		out = append(out, fmt.Sprintf("retry_after: the server asks to be left alone for %d seconds", int(got.RetryAfter/time.Second)))
	}
	return out
}

func clampInt32(n int) int32 { return int32(min(n, math.MaxInt32)) }
