package filetool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/pagecontent"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	documentTimeout = 60 * time.Second
	documentDefault = 5000 // characters
	// maxDocumentBytes is the largest file that is sent to be read, and
	// documentPart how much of it goes into a message.
	maxDocumentBytes = 32 << 20
	documentPart     = 256 << 10
	// maxDocumentOffset is the largest offset of the contract.
	maxDocumentOffset = 1 << 30
)

type documentIn struct {
	Path        string `json:"path" jsonschema:"path of the file in the workspace"`
	ExtractType string `json:"extract_type,omitempty" jsonschema:"markdown: the content with headings, lists and tables; text: without markup; tables: rows of its tables or sheets; links; structured: title, headings and paragraphs; metadata: author, dates, pages; feed; full_text; raw"`
	Offset      int    `json:"offset,omitempty" jsonschema:"where to read on: next_offset of the answer before"`
	MaxChars    int    `json:"max_chars,omitempty" jsonschema:"most characters of text in one answer"`
}

type documentOut struct {
	Success    bool             `json:"success"`
	Path       string           `json:"path"`
	Content    map[string]any   `json:"content"`
	Metadata   documentMetadata `json:"metadata"`
	Truncated  bool             `json:"truncated"`
	NextOffset int32            `json:"next_offset,omitempty"`
	TotalChars int32            `json:"total_chars,omitempty"`
	Warnings   []string         `json:"warnings,omitempty"`
}

type documentMetadata struct {
	Title        string `json:"title,omitempty"`
	DetectedType string `json:"detected_type"`
	SizeBytes    int64  `json:"size_bytes"`
	pagecontent.About
}

// addDocument adds read_document, where there is a fetcher to read documents.
func (t Tools) addDocument(p *toolkit.Provider) error {
	if t.Fetcher == nil {
		return nil
	}
	return toolkit.Add(p, toolkit.Tool{
		Name: "read_document", Title: "Read a document", Version: "1",
		Description: "Reads a document of the workspace: PDF, Word, Excel, PowerPoint, CSV, JSON, HTML, feeds and text, and the properties of images. " +
			"Answers Markdown, or what extract_type says. When truncated is true, call again with offset set to next_offset to read on. " +
			"For plain text and source code read_file is simpler.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead, OutputUntrusted: true, Timeout: documentTimeout,
		// Not KindDocument: the text itself is paged, and the rest comes on top.
		ResultKind: toolkit.KindData,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["path"].MinLength = jsonschema.Ptr(1)
			for _, kind := range pagecontent.Types() {
				if kind != pagecontent.Images { // documents show none
					s.Properties["extract_type"].Enum = append(s.Properties["extract_type"].Enum, kind)
				}
			}
			s.Properties["extract_type"].Default = json.RawMessage(`"markdown"`)
			bound(s.Properties["offset"], 0, maxDocumentOffset, 0)
			bound(s.Properties["max_chars"], readMin, readMax, documentDefault)
		},
	}, t.document)
}

func (t Tools) document(ctx context.Context, call *toolkit.Call, in documentIn) (toolkit.Result, error) {
	at, err := find(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	f, err := t.open(at)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	if f.Entry.Size > maxDocumentBytes {
		return toolkit.Fail("DOCUMENT_TOO_LARGE", fmt.Sprintf("%q has %d MiB; documents of at most %d MiB are read", in.Path, f.Entry.Size>>20, maxDocumentBytes>>20), false), nil
	}
	call.Progress("reading "+path.Base(f.Entry.Path), 0, float64(f.Entry.Size))
	got, err := t.extract(ctx, f, in)
	if err != nil {
		return unreadable(ctx, err, origin(at))
	}
	m := got.GetMetadata()
	out := documentOut{
		Success: true, Path: f.Entry.Path, Content: pagecontent.ForModel(in.ExtractType, got.GetContent()),
		Metadata: documentMetadata{
			Title: m.GetTitle(), DetectedType: m.GetDetectedType(), SizeBytes: f.Entry.Size, About: pagecontent.AboutOf(in.ExtractType, m),
		},
		Truncated: got.GetTruncated(), NextOffset: got.GetNextOffset(), TotalChars: got.GetTotalChars(), Warnings: got.GetWarnings(),
	}
	for _, change := range call.Changes {
		out.Warnings = append(out.Warnings, "arguments: "+change)
	}
	return answered(out, origin(at))
}

// extract sends a file to the fetcher, as the service that we are: the user may
// read the file, and the fetcher reads bytes for services alone.
func (t Tools) extract(ctx context.Context, f *workspace.File, in documentIn) (*fetcherv1.ExtractResponse, error) {
	ctx, end := context.WithCancel(auth.NewContext(ctx, auth.ServicePrincipal("sandbox")))
	defer end() // a stream that was left must be let go of
	stream, err := fetcherv1.NewFetcherServiceClient(t.Fetcher).Extract(ctx)
	if err != nil {
		return nil, err
	}
	most := int32(in.MaxChars)
	err = stream.Send(&fetcherv1.ExtractRequest{Part: &fetcherv1.ExtractRequest_Target{Target: &fetcherv1.ExtractTarget{
		Name: strings.ToValidUTF8(path.Base(f.Entry.Path), "\uFFFD"), ExtractType: in.ExtractType, Offset: int32(in.Offset), MaxChars: &most,
	}}})
	if err == nil {
		err = send(stream, f)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return stream.CloseAndRecv() // after io.EOF it says why the fetcher hung up
}

func send(stream grpc.ClientStreamingClient[fetcherv1.ExtractRequest, fetcherv1.ExtractResponse], f *workspace.File) error {
	part := make([]byte, min(documentPart, f.Entry.Size))
	for left := f.Entry.Size; left > 0; {
		n, err := io.ReadFull(f, part[:min(left, int64(len(part)))])
		if err != nil {
			return rpcerr.New(codes.Aborted, workspace.ReasonFileChanged, "%q became shorter while it was read: try again", f.Entry.Path).WithCause(err)
		}
		left -= int64(n)
		if err := stream.Send(&fetcherv1.ExtractRequest{Part: &fetcherv1.ExtractRequest_Data{Data: part[:n]}}); err != nil {
			return err
		}
	}
	return nil
}

// unreadable is the result for a document that was not read: what is wrong with
// it is for the model, what is wrong with us an error.
func unreadable(ctx context.Context, err error, from string) (toolkit.Result, error) {
	if own, ok := rpcerr.As(err); ok {
		return failed(own)
	}
	s := status.Convert(err)
	switch {
	case ctx.Err() != nil:
		return toolkit.Result{}, ctx.Err()
	case s.Code() == codes.InvalidArgument:
		res := toolkit.Fail(rpcerr.Reason(err), s.Message(), false)
		res.Origins = []string{from}
		return res, nil
	case s.Code() == codes.Unavailable || s.Code() == codes.ResourceExhausted:
		return toolkit.Fail("FETCHER_UNAVAILABLE", "documents cannot be read right now ("+s.Message()+"): try again", true), nil
	}
	return toolkit.Result{}, err
}
