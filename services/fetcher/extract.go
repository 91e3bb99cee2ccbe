package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/document"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of a document that cannot be read; the codes are INVALID_ARGUMENT.
const (
	ReasonEncrypted        = string(document.Encrypted)
	ReasonDamaged          = string(document.Damaged)
	ReasonEmpty            = string(document.Empty)
	ReasonDocumentTooLarge = string(document.TooLarge)
)

var errManyDocuments = rpcerr.New(codes.ResourceExhausted, "FETCHER_BUSY", "%d documents are being read; try again shortly", maxDocuments).
	WithRetry(time.Second)

var errDocumentTooLarge = rpcerr.New(codes.InvalidArgument, ReasonDocumentTooLarge, "the document has more than %d MiB", maxDocumentBytes>>20).
	WithField("data", fmt.Sprintf("must have at most %d bytes in all", maxDocumentBytes))

// Extract reads a document that the caller sends.
func (s *Service) Extract(stream grpc.ClientStreamingServer[fetcherv1.ExtractRequest, fetcherv1.ExtractResponse]) error {
	select {
	case s.documents <- struct{}{}:
		defer func() { <-s.documents }()
	default:
		return errManyDocuments
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	target := first.GetTarget()
	if target == nil {
		return rpcerr.InvalidArgument("target", "must be what the first message carries")
	}
	body, err := receive(stream)
	if err != nil {
		return err
	}
	out, err := s.extract(stream.Context(), target, body)
	if err != nil {
		return err
	}
	return stream.SendAndClose(out)
}

// receive collects the bytes of a document.
func receive(stream grpc.ClientStreamingServer[fetcherv1.ExtractRequest, fetcherv1.ExtractResponse]) ([]byte, error) {
	var body bytes.Buffer
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return body.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		data, is := msg.GetPart().(*fetcherv1.ExtractRequest_Data)
		if !is {
			return nil, rpcerr.InvalidArgument("data", "must be all that follows the first message")
		}
		if body.Len()+len(data.Data) > maxDocumentBytes {
			return nil, errDocumentTooLarge
		}
		body.Write(data.Data)
	}
}

// extract reads a document, when its turn has come.
func (s *Service) extract(ctx context.Context, target *fetcherv1.ExtractTarget, body []byte) (*fetcherv1.ExtractResponse, error) {
	q := query{extract: target.GetExtractType(), offset: int(target.GetOffset()), maxChars: defaultMaxChars}
	if target.MaxChars != nil {
		q.maxChars = int(target.GetMaxChars())
	}
	from, err := url.Parse(target.GetUrl())
	if err != nil {
		return nil, rpcerr.InvalidArgument("url", "must be an absolute address, or empty")
	}
	if !from.IsAbs() {
		from = nil
	}
	select {
	case s.workers <- struct{}{}:
		defer func() { <-s.workers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return extractDocument(ctx, s.docs, q, source{
		body: body, contentType: target.GetContentType(), name: path.Base(target.GetName()), from: from, maxText: maxDocumentText,
	})
}

// extractDocument reads a document into the answer to q.
func extractDocument(ctx context.Context, docs *document.Reader, q query, src source) (*fetcherv1.ExtractResponse, error) {
	if len(src.body) == 0 {
		return nil, shapeDocument(&document.Error{Reason: document.Empty, Words: "the document is empty: it has no bytes"})
	}
	p, err := readPage(ctx, docs, src)
	if err != nil {
		return nil, shapeDocument(err)
	}
	out := &fetcherv1.FetchResponse{
		Content:  &fetcherv1.PageContent{},
		Metadata: &fetcherv1.PageMetadata{ContentType: src.contentType, BodyBytes: clampInt32(len(src.body))},
	}
	p.answer(out, q)
	return &fetcherv1.ExtractResponse{
		Content: out.GetContent(), Metadata: out.GetMetadata(), Truncated: out.GetTruncated(), NextOffset: out.GetNextOffset(),
		TotalChars: out.GetTotalChars(), Warnings: out.GetWarnings(),
	}, nil
}

// shapeDocument gives a document that cannot be read its code and reason.
func shapeDocument(err error) error {
	var e *document.Error
	if !errors.As(err, &e) {
		return err
	}
	words := harmless(e.Words)
	return rpcerr.New(codes.InvalidArgument, string(e.Reason), "%s", words).WithField("data", words).
		WithMeta("content_type", e.Type).WithCause(err)
}
