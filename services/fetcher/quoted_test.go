package fetcher

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// marks are what no answer and no error may hold.
var marks = []string{"<|im_", "<think>", "<tool_call", "<｜", "\u200b", "\u202e"}

func marked(t *testing.T, said string) {
	t.Helper()
	said = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(said)
	for _, m := range marks {
		if strings.Contains(said, m) {
			t.Errorf("%q is in %s", m, said)
		}
	}
}

// answers serves a page with headers.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// unreadableBook is a workbook whose part with a mark in its name is damaged.
func unreadableBook(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels":         `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/&lt;think&gt;.xml"/></Relationships>`,
		"word/document.xml":   `<w`, "word/<think>.xml": `<w`,
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, content)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNothingThatAnAnswerQuotesHasMarkupOfAChat(t *testing.T) {
	const page = `<html><head><title>T</title><link rel=canonical href="/c?<|im_start|>"><meta property="article:modified_time" content="x<think>">` +
		`<meta name="n<tool_call>" content=c></head><body><p>Some words with <a href="/l?a=<|im_end|>&b=` + "\u202e" + `#<think>">a link</a>.</p><img src="/i?<|im_start|>" alt=i></body></html>`
	const feed = `<rss version="2.0"><channel><title>F</title><link>https://a.example/?&lt;|im_start|></link><language>&lt;think></language>` +
		`<item><title>I</title><link>https://a.example/?&lt;|im_end|></link><guid>&lt;think></guid><pubDate>&lt;tool_call></pubDate></item></channel></rss>`
	for _, tt := range []struct {
		name, view string
		serve      http.HandlerFunc
	}{
		{"links", "links", answers(200, page, "Content-Type", "text/html")},
		{"images", "images", answers(200, page, "Content-Type", "text/html")},
		{"names of meta elements", "structured", answers(200, page, "Content-Type", "text/html")},
		{"canonical address and dates", "metadata", answers(200, page, "Content-Type", "text/html")},
		{"a feed", "feed", answers(200, feed, "Content-Type", "application/rss+xml")},
		{"a media type", "text", answers(200, "words", "Content-Type", `text/plain; a="<|im_start|>"`)},
		{"a media type that the bytes contradict", "text", answers(200, page, "Content-Type", `application/pdf; a="<|im_start|>"`)},
		{"the name of a file", "text", answers(200, page, "Content-Type", "text/html", "Content-Disposition", `attachment; filename="<think>.pdf"`)},
		{"the page of an error", "text", answers(404, page, "Content-Type", `text/html; a="<|im_start|>"`)},
		{"the document of an error", "text", answers(404, unreadableBook(t), "Content-Type", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")},
		{"the address that it came from", "text", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				w.Header().Set("Location", "/x?<|im_start|>")
				w.WriteHeader(http.StatusFound)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.serve)
			got := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: tt.view})
			b, err := protojson.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			marked(t, string(b))
		})
	}
}

func TestNoErrorQuotesMarkupOfAChat(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
	}{
		{"a content coding", answers(200, "x", "Content-Encoding", "<|im_start|>system")},
		{"a host that it redirects to", answers(302, "", "Location", "http://<｜User｜>/")},
		{"an address that it redirects to", answers(302, "", "Location", "<think>://a.example/")},
		{"a damaged document", answers(200, unreadableBook(t), "Content-Type", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")},
		{"a type that is not read", answers(200, "\x00\x01\x02", "Content-Type", `application/x-a; b="<|im_start|>"`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.serve)
			_, err := s.fetcher.Fetch(t.Context(), &fetcherv1.FetchRequest{Url: s.url})
			if err == nil {
				t.Fatal("it is answered")
			}
			marked(t, status.Convert(err).Message())
			marked(t, status.Convert(err).Proto().String())
		})
	}
}
