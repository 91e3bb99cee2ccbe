package fetcher

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// toolName is reserved for this service.
const toolName = "fetch_page"

// toolMaxChars is how many characters a model may ask for at once: what fits,
// with the rest of the result, into the cap on a result in a prompt.
const toolMaxChars = 20_000

type fetchPageIn struct {
	URL         string `json:"url" jsonschema:"absolute http or https address of the page"`
	ExtractType string `json:"extract_type,omitempty" jsonschema:"text: the main content; markdown: the same with headings, tables, code and links; links: the page's links; images: its images; structured: title, meta, headings and paragraphs; tables: rows of its tables; metadata: author, dates and the like; feed: entries of a feed; raw: the source; full_text: all text, navigation too"`
	Offset      int    `json:"offset,omitempty" jsonschema:"where to read on: next_offset of the answer before"`
	MaxChars    int    `json:"max_chars,omitempty" jsonschema:"most characters of text in one answer"`
}

// fetchPageOut is the result. Content holds one entry, named by the extract
// type.
type fetchPageOut struct {
	Success    bool           `json:"success"`
	URL        string         `json:"url"`
	Content    map[string]any `json:"content"`
	Metadata   toolMetadata   `json:"metadata"`
	Truncated  bool           `json:"truncated"`
	NextOffset int32          `json:"next_offset,omitempty"`
	TotalChars int32          `json:"total_chars,omitempty"`
	Warnings   []string       `json:"warnings,omitempty"`
}

// toolMetadata is what a model is told of a page; what is empty costs it nothing.
type toolMetadata struct {
	Title         string   `json:"title"`
	StatusCode    int32    `json:"status_code"`
	ContentType   string   `json:"content_type"`
	DetectedType  string   `json:"detected_type,omitempty"`
	FinalURL      string   `json:"final_url"`
	Redirects     []string `json:"redirects,omitempty"`
	Charset       string   `json:"charset,omitempty"`
	BodyTruncated bool     `json:"body_truncated,omitempty"`

	pagecontent.About
}

func (s *Service) addTools() error {
	return toolkit.Add(s.tools, toolkit.Tool{
		Name:  toolName,
		Title: "Fetch a web page",
		Description: "Fetches one public web page or document and returns its main text, links, images, tables or structure. " +
			"Long text comes in parts: when truncated is true, call again with offset set to next_offset. " +
			"A status_code of 400 or more means the server refused or has no such page. " +
			"HTML, text, PDF, Word, Excel, PowerPoint, CSV, JSON, feeds and the properties of images can be read, and no private addresses.",
		Effect:          toolkit.EffectPure,
		Sink:            toolkit.SinkRead,
		OutputUntrusted: true,
		// Not KindWeb: the text itself is paged, and metadata comes on top.
		ResultKind: toolkit.KindData,
		Timeout:    toolTimeout,
		Version:    "2",
		Schema:     fetchPageSchema,
	}, s.fetchPage)
}

func fetchPageSchema(s *jsonschema.Schema) {
	s.Properties["url"].MinLength = jsonschema.Ptr(1)
	s.Properties["url"].MaxLength = jsonschema.Ptr(8192)
	for _, t := range pagecontent.Types() {
		s.Properties["extract_type"].Enum = append(s.Properties["extract_type"].Enum, t)
	}
	s.Properties["extract_type"].Default = json.RawMessage(`"text"`)
	s.Properties["offset"].Default = json.RawMessage(`0`)
	s.Properties["offset"].Minimum = jsonschema.Ptr(0.0)
	s.Properties["offset"].Maximum = jsonschema.Ptr(float64(1 << 30))
	s.Properties["max_chars"].Default = json.RawMessage(`10000`)
	s.Properties["max_chars"].Minimum = jsonschema.Ptr(float64(minMaxChars))
	s.Properties["max_chars"].Maximum = jsonschema.Ptr(float64(toolMaxChars))
}

// fetchPage is the tool. What happens to a page is a result; only overload of
// this service and a caller who left are statuses.
func (s *Service) fetchPage(ctx context.Context, call *toolkit.Call, in fetchPageIn) (toolkit.Result, error) {
	target, note := withScheme(in.URL)
	host := hostForOrigin(target)
	call.Progress("fetching "+host, 0, 1)
	got, err := s.fetch(ctx, query{url: target, extract: in.ExtractType, offset: in.Offset, maxChars: in.MaxChars})
	if err != nil {
		e, ok := rpcerr.As(err)
		if !ok || e.Code() == codes.ResourceExhausted || e.Code() == codes.Canceled {
			return toolkit.Result{}, err
		}
		res := toolkit.Fail(e.Reason(), e.Message(), retryable(e.Code()))
		res.Origins = []string{originOf(host)}
		return res, nil
	}
	if note != "" {
		got.Warnings = append(got.Warnings, note)
	}
	for _, change := range call.Changes {
		got.Warnings = append(got.Warnings, "arguments: "+change)
	}
	raw, err := marshalPlain(toolOut(in, got))
	if err != nil {
		return toolkit.Result{}, err
	}
	origins := []string{originOf(host)}
	if final := hostForOrigin(got.GetMetadata().GetFinalUrl()); final != host {
		origins = append(origins, originOf(final))
	}
	return toolkit.Result{RawJSON: raw, Origins: origins}, nil
}

func toolOut(in fetchPageIn, got *fetcherv1.FetchResponse) fetchPageOut {
	m := got.GetMetadata()
	return fetchPageOut{
		Success: true, URL: in.URL, Content: pagecontent.ForModel(in.ExtractType, got.GetContent()),
		Metadata: toolMetadata{
			Title: m.GetTitle(), StatusCode: m.GetStatusCode(), ContentType: m.GetContentType(), DetectedType: m.GetDetectedType(),
			FinalURL: m.GetFinalUrl(), Redirects: m.GetRedirects(), Charset: m.GetCharset(), BodyTruncated: m.GetBodyTruncated(),
			About: pagecontent.AboutOf(in.ExtractType, m),
		},
		Truncated: got.GetTruncated(), NextOffset: got.GetNextOffset(), TotalChars: got.GetTotalChars(), Warnings: got.GetWarnings(),
	}
}

// retryable says whether the same call may go better later.
func retryable(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}

// withScheme completes an address that a model wrote without its scheme.
func withScheme(raw string) (target, note string) {
	raw = strings.TrimSpace(raw)
	if strings.Contains(raw, ":") || strings.HasPrefix(raw, "/") || !strings.Contains(raw, ".") {
		return raw, ""
	}
	return "https://" + raw, "url: it had no scheme; read as https"
}

// originOf names the source of untrusted content.
func originOf(host string) string { return toolName + ":" + host }

func hostForOrigin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return "unknown"
	}
	return strings.ToLower(u.Hostname())
}

// marshalPlain writes JSON without escaping <, > and &, which would cost the
// model's window five characters each.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
