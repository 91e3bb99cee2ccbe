package fetcher

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/text/encoding/simplifiedchinese"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const newsPage = `<!doctype html><html lang="en"><head><title>Harbour news</title><meta name="description" content="All of it"></head>
<body><nav><a href="/home">Home</a></nav><article><h1>The ferry is late</h1>
<p>The ferry from the island came in two hours late this morning, and nobody at the pier was surprised.</p>
<p>It had waited for the post, the captain said, and for the <a href="/baker?x=1">baker</a>, who had overslept.</p>
<img src="/ferry.jpg" alt="The ferry"></article></body></html>`

func TestFetchGivesWhatWasAskedFor(t *testing.T) {
	s := newSite(t, serveBody("text/html; charset=utf-8", newsPage))
	text := "The ferry is late\n\nThe ferry from the island came in two hours late this morning, and nobody at the pier was surprised.\n\n" +
		"It had waited for the post, the captain said, and for the baker, who had overslept."
	marked := "# " + strings.Replace(text, "baker", "[baker]("+s.url+"/baker?x=1)", 1) + "\n\n![The ferry](" + s.url + "/ferry.jpg)"
	tests := []struct {
		extract string
		want    *fetcherv1.PageContent
		chars   int32
	}{
		{"", &fetcherv1.PageContent{Text: text}, int32(len(text))},
		{"text", &fetcherv1.PageContent{Text: text}, int32(len(text))},
		{"markdown", &fetcherv1.PageContent{Markdown: marked}, int32(len(marked))},
		{"metadata", &fetcherv1.PageContent{}, 0},
		{"raw", &fetcherv1.PageContent{Raw: newsPage}, int32(len(newsPage))},
		{"links", &fetcherv1.PageContent{Links: []*fetcherv1.Link{{Text: "Home", Url: s.url + "/home"}, {Text: "baker", Url: s.url + "/baker?x=1"}}}, 0},
		{"images", &fetcherv1.PageContent{Images: []*fetcherv1.Image{{Alt: "The ferry", Src: s.url + "/ferry.jpg"}}}, 0},
		{"structured", &fetcherv1.PageContent{Structured: &fetcherv1.StructuredPage{
			Title: "Harbour news", Meta: map[string]string{"description": "All of it"},
			Headings: []*fetcherv1.Heading{{Level: 1, Text: "The ferry is late"}},
			Paragraphs: []string{
				"The ferry from the island came in two hours late this morning, and nobody at the pier was surprised.",
				"It had waited for the post, the captain said, and for the baker, who had overslept."},
		}}, 183},
	}
	for _, tt := range tests {
		t.Run(tt.extract, func(t *testing.T) {
			got := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: tt.extract})
			want := &fetcherv1.FetchResponse{
				Url: s.url, Content: tt.want, TotalChars: tt.chars,
				Metadata: &fetcherv1.PageMetadata{
					Title: "Harbour news", StatusCode: 200, ContentType: "text/html; charset=utf-8", DetectedType: "text/html",
					FinalUrl: s.url, Charset: "utf-8", BodyBytes: int32(len(newsPage)), Attempts: 1,
					Language: "en", Description: "All of it", Origin: "fetch_page:127.0.0.1",
				},
			}
			if tt.extract == "" || tt.extract == "text" || tt.extract == "markdown" || tt.extract == "metadata" {
				want.Metadata.PageType, want.Metadata.Confidence = "article", got.GetMetadata().GetConfidence()
				if c := want.Metadata.Confidence; c <= 0 || c > 1 {
					t.Errorf("confidence %v", c)
				}
			}
			if !proto.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestLongTextIsReadPageByPageWithoutLoss(t *testing.T) {
	var body strings.Builder
	for i := range 900 {
		fmt.Fprintf(&body, "<p>第%d段：汉字与 Latin text mixed, long enough to be read as prose.</p>", i)
	}
	s := newSite(t, serveBody("text/html; charset=utf-8", "<article>"+body.String()+"</article>"))
	var whole strings.Builder
	var offset, answers int32
	for {
		got := s.fetch(t, &fetcherv1.FetchRequest{Offset: offset})
		answers++
		n := int32(len([]rune(got.GetContent().GetText())))
		whole.WriteString(got.GetContent().GetText())
		if !got.GetTruncated() {
			if got.GetNextOffset() != 0 || offset+n != got.GetTotalChars() {
				t.Errorf("the last part: next %d, %d of %d characters", got.GetNextOffset(), offset+n, got.GetTotalChars())
			}
			break
		}
		if n != defaultMaxChars || got.GetNextOffset() != offset+n {
			t.Fatalf("part of %d characters from %d, next %d", n, offset, got.GetNextOffset())
		}
		offset = got.GetNextOffset()
	}
	atOnce := s.fetch(t, &fetcherv1.FetchRequest{MaxChars: proto.Int32(maxMaxChars)})
	if atOnce.GetTruncated() || atOnce.GetContent().GetText() != whole.String() || answers < 5 {
		t.Errorf("%d parts of %d bytes differ from the whole of %d bytes", answers, whole.Len(), len(atOnce.GetContent().GetText()))
	}
	beyond := s.fetch(t, &fetcherv1.FetchRequest{Offset: 1 << 30})
	if beyond.GetContent().GetText() != "" || beyond.GetTruncated() || !warned(beyond.GetWarnings(), "offset") {
		t.Errorf("behind the end: %v", beyond)
	}
}

func TestTextOverTheContentLimitSaysSo(t *testing.T) {
	s := newSite(t, serveBody("text/plain; charset=utf-8", strings.Repeat("ä", maxContentBytes)))
	got := s.fetch(t, &fetcherv1.FetchRequest{})
	if got.GetTotalChars() != maxContentBytes/2 || !warned(got.GetWarnings(), "content_limit") || !got.GetTruncated() {
		t.Errorf("%d characters, warnings %q", got.GetTotalChars(), got.GetWarnings())
	}
}

func TestListsGoOnWhereTheyWereCut(t *testing.T) {
	var body strings.Builder
	for i := range 130 {
		fmt.Fprintf(&body, `<a href="/%d">link %d</a><img src="/%d.png">`, i, i, i)
	}
	s := newSite(t, serveBody("text/html", body.String()))
	first := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "links"})
	if len(first.GetContent().GetLinks()) != 100 || !first.GetTruncated() || first.GetNextOffset() != 100 || !warned(first.GetWarnings(), "links") {
		t.Errorf("%d links, next %d, warnings %q", len(first.GetContent().GetLinks()), first.GetNextOffset(), first.GetWarnings())
	}
	rest := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "links", Offset: 100})
	if l := rest.GetContent().GetLinks(); len(l) != 30 || l[0].GetText() != "link 100" || rest.GetTruncated() {
		t.Errorf("the rest: %v", rest)
	}
	images := s.fetch(t, &fetcherv1.FetchRequest{ExtractType: "images"})
	if len(images.GetContent().GetImages()) != 50 || images.GetNextOffset() != 50 {
		t.Errorf("%d images, next %d", len(images.GetContent().GetImages()), images.GetNextOffset())
	}
}

func TestAnErrorStatusIsAnAnswer(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, "<title>Gone</title><p>There is no such page.")
	})
	got := s.fetch(t, &fetcherv1.FetchRequest{Url: s.url + "/x"})
	if m := got.GetMetadata(); m.GetStatusCode() != 404 || m.GetTitle() != "Gone" || got.GetContent().GetText() != "There is no such page." || !warned(got.GetWarnings(), "status") {
		t.Errorf("404: %v", got)
	}
	busy := s.fetch(t, &fetcherv1.FetchRequest{Url: s.url + "/busy"})
	if busy.GetMetadata().GetStatusCode() != 429 || !warned(busy.GetWarnings(), "retry_after") {
		t.Errorf("429: %v", busy)
	}
}

func TestOtherTextIsGivenAsItIs(t *testing.T) {
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("<title>网页</title><p>这个网页使用国标编码，没有写明。我们仍然可以读出来。</p>")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, contentType, body string
		text, charset, detected string
	}{
		{"JSON", "application/json", "{\n  \"a\": [1, 2]\n}", "{\n  \"a\": [1, 2]\n}", "utf-8", "application/json"},
		{"plain text", "text/plain", "one\r\n  two  \r\n", "one\n  two  \n", "utf-8", "text/plain"},
		{"Chinese without a declaration", "text/html", gbk, "这个网页使用国标编码，没有写明。我们仍然可以读出来。", "gb18030", "text/html"},
		{"an empty page", "text/html", "", "", "utf-8", "text/html"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, serveBody(tt.contentType, tt.body))
			got := s.fetch(t, &fetcherv1.FetchRequest{})
			if got.GetContent().GetText() != tt.text || got.GetMetadata().GetCharset() != tt.charset || got.GetMetadata().GetDetectedType() != tt.detected {
				t.Errorf("got %v", got)
			}
			if warned(got.GetWarnings(), "empty") != (tt.text == "") {
				t.Errorf("warnings %q", got.GetWarnings())
			}
		})
	}
}

func TestPagesThatCannotBeHadSayWhy(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 8<<20))
	_ = z.Close()
	var connections atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { connections.Add(1) }))
	defer private.Close()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/pdf":
			serveBody("text/html", "%PDF-1.7\n%\xe2\xe3\xcf\xd3")(w, r)
		case "/zip":
			serveBody("text/html", "PK\x03\x04\x14\x00\x06\x00")(w, r)
		case "/inside":
			http.Redirect(w, r, private.URL, http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		}
	})
	st := s.refuse(t, s.url+"/zip", codes.InvalidArgument, ReasonUnsupportedType)
	if !strings.Contains(st.Message(), "unpack") {
		t.Errorf("message %q", st.Message())
	}
	s.refuse(t, s.url+"/pdf", codes.InvalidArgument, ReasonDamaged)
	s.refuse(t, s.url+"/bomb", codes.InvalidArgument, ReasonTooLarge)
	s.refuse(t, s.url+"/loop", codes.InvalidArgument, ReasonBadRedirect)
	s.refuse(t, s.url+"/inside", codes.InvalidArgument, ReasonPrivateAddress)
	if n := connections.Load(); n != 0 {
		t.Errorf("%d requests to the private server", n)
	}
	for raw, reason := range map[string]string{
		private.URL:                     ReasonPrivateAddress,
		"http://localhost/":             ReasonPrivateAddress,
		"http://169.254.169.254/latest": ReasonPrivateAddress,
		"file:///etc/passwd":            ReasonURLRefused,
		"http://u:p@example.com/":       ReasonURLRefused,
		"not an address":                ReasonURLRefused,
		"https://example.com:22/":       ReasonURLRefused,
	} {
		st := s.refuse(t, raw, codes.InvalidArgument, reason)
		field := ""
		for _, d := range st.Details() {
			if bad, ok := d.(*errdetails.BadRequest); ok {
				field = bad.GetFieldViolations()[0].GetField()
			}
		}
		if field != "url" {
			t.Errorf("%s: the field is %q", raw, field)
		}
	}
}

func TestTooManyFetchesAtOnceAreToldToComeBack(t *testing.T) {
	s := newSite(t, serveBody("text/html", newsPage))
	for range maxFetches {
		s.service.fetches <- struct{}{}
	}
	st := s.refuse(t, s.url, codes.ResourceExhausted, "FETCHER_BUSY")
	if _, ok := rpcerr.RetryDelay(st.Err()); !ok {
		t.Error("no time to come back after")
	}
	for range maxFetches {
		<-s.service.fetches
	}
	s.fetch(t, &fetcherv1.FetchRequest{})
}

func TestAFetchIsASpan(t *testing.T) {
	s := newSite(t, serveBody("text/html", newsPage))
	s.fetch(t, &fetcherv1.FetchRequest{Url: s.url + "/secret?token=1"})
	ended := spans.Ended()
	span := ended[len(ended)-1]
	got := map[string]string{}
	for _, kv := range span.Attributes() {
		got[string(kv.Key)] = kv.Value.String()
		if strings.Contains(kv.Value.String(), "token") {
			t.Errorf("a query in the span: %s", kv.Value.String())
		}
	}
	if span.Name() != "fetch" || got["server.address"] != "127.0.0.1" || got["http.response.status_code"] != "200" ||
		got["http.response.body.size"] != fmt.Sprint(len(newsPage)) {
		t.Errorf("span %s: %v", span.Name(), got)
	}
}

func TestConfigurationThatCannotWorkIsRefused(t *testing.T) {
	bad := Config{MaxWorkers: 0, TimeoutSeconds: 301, MaxRetries: -1, UserAgent: "a\r\nb", MaxBatches: 0}
	_, err := New(context.Background(), bad, Deps{})
	for _, key := range []string{"max_workers", "timeout", "max_retries", "user_agent", "max_batches"} {
		if err == nil || !strings.Contains(err.Error(), "crawler."+key) {
			t.Errorf("%s is not named in %v", key, err)
		}
	}
	if _, err := New(context.Background(), DefaultConfig(), Deps{}); err == nil {
		t.Error("a fetcher without a guard")
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(errors.Unwrap(err), err)
	}
}
