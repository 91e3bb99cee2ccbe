package filetool

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// librarian is a fetcher that answers what it is told to.
type librarian struct {
	fetcherv1.UnimplementedFetcherServiceServer

	target *fetcherv1.ExtractTarget
	bytes  int
	parts  int
	answer *fetcherv1.ExtractResponse
	err    error
	early  bool // answers before the document is there
}

func (l *librarian) Extract(stream grpc.ClientStreamingServer[fetcherv1.ExtractRequest, fetcherv1.ExtractResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	l.target = first.GetTarget()
	for !l.early {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		l.bytes += len(msg.GetData())
		l.parts++
	}
	if l.err != nil {
		return l.err
	}
	return stream.SendAndClose(l.answer)
}

// serve is a connection to the librarian.
func (l *librarian) serve(t *testing.T) grpc.ClientConnInterface {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	fetcherv1.RegisterFetcherServiceServer(server, l)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///fetcher", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
	})
	return conn
}

func TestReadDocumentSendsTheFileAndAnswersWhatWasRead(t *testing.T) {
	l := &librarian{answer: &fetcherv1.ExtractResponse{
		Content:   &fetcherv1.PageContent{Markdown: "# Boats"},
		Metadata:  &fetcherv1.PageMetadata{Title: "Boats", DetectedType: "application/pdf", Pages: 3, PageType: "document", Byline: "Ann"},
		Truncated: true, NextOffset: 7, TotalChars: 99, Warnings: []string{"no_text: 1 of 3 pages"},
	}}
	b := newBenchWith(t, l.serve(t))
	content := strings.Repeat("%PDF", 100_000)
	b.ok(t, "write_file", map[string]any{"path": "in/boats.pdf", "content": content})
	got := b.ok(t, "read_document", map[string]any{"path": "/workspace/in/boats.pdf", "offset": 5, "max_chars": 500})
	if l.target.GetName() != "boats.pdf" || l.target.GetExtractType() != "markdown" || l.target.GetOffset() != 5 || l.target.GetMaxChars() != 500 {
		t.Errorf("target %v", l.target)
	}
	if l.bytes != len(content) || l.parts != 2 {
		t.Errorf("%d bytes in %d parts, want %d in 2", l.bytes, l.parts, len(content))
	}
	meta := got["metadata"].(map[string]any)
	if got["path"] != "in/boats.pdf" || got["content"].(map[string]any)["markdown"] != "# Boats" || got["truncated"] != true || got["next_offset"] != 7.0 ||
		got["total_chars"] != 99.0 || meta["pages"] != 3.0 || meta["byline"] != "Ann" || meta["size_bytes"] != float64(len(content)) || meta["detected_type"] != "application/pdf" {
		t.Errorf("answer %v", got)
	}
}

func TestReadDocumentFailsInWords(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		early  bool
		reason string
		words  string
	}{
		{"a document behind a password", rpcerr.New(codes.InvalidArgument, "DOCUMENT_ENCRYPTED", "the PDF is encrypted").GRPCStatus().Err(), false, "DOCUMENT_ENCRYPTED", "encrypted"},
		{"a fetcher that hangs up early", rpcerr.New(codes.InvalidArgument, "DOCUMENT_TOO_LARGE", "too long").GRPCStatus().Err(), true, "DOCUMENT_TOO_LARGE", "too long"},
		{"a fetcher that is busy", status.Error(codes.ResourceExhausted, "8 documents are being read"), false, "FETCHER_UNAVAILABLE", "try again"},
		{"a fetcher that is not there", status.Error(codes.Unavailable, "no connection"), false, "FETCHER_UNAVAILABLE", "no connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &librarian{err: tt.err, early: tt.early}
			b := newBenchWith(t, l.serve(t))
			b.ok(t, "write_file", map[string]any{"path": "a.pdf", "content": strings.Repeat("x", 400_000)})
			if words := b.fails(t, "read_document", map[string]any{"path": "a.pdf"}, tt.reason); !strings.Contains(words, tt.words) {
				t.Errorf("words %q", words)
			}
		})
	}
	b := newBenchWith(t, (&librarian{}).serve(t))
	b.fails(t, "read_document", map[string]any{"path": "none.pdf"}, "NOT_FOUND")
	b.fails(t, "read_document", map[string]any{"path": "/etc/passwd"}, "PATH_NOT_ALLOWED")
	b.fails(t, "read_document", map[string]any{"path": "../a.pdf"}, "INVALID_ARGUMENT")
}

func TestReadDocumentIsThereOnlyWithAFetcher(t *testing.T) {
	for _, tt := range []struct {
		name string
		conn grpc.ClientConnInterface
		want bool
	}{{"with one", (&librarian{}).serve(t), true}, {"without", nil, false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBenchWith(t, tt.conn)
			list, err := b.client.ListTools(t.Context(), &toolv1.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(list.GetTools(), func(tool *toolv1.Tool) bool { return tool.GetName() == "read_document" })
			if (i >= 0) != tt.want {
				t.Fatalf("read_document is there: %t", i >= 0)
			}
			if i < 0 {
				return
			}
			if tool := list.GetTools()[i]; tool.GetEffect() != "pure" || tool.GetSink() != "read" || !tool.GetOutputUntrusted() {
				t.Errorf("tool %v", tool)
			}
		})
	}
}
