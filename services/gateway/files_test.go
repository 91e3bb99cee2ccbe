package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// shelf is a workspace service that keeps files in memory.
type shelf struct {
	sandboxv1.UnimplementedWorkspaceServiceServer

	// quota in bytes of one file; 0: none.
	quota int
	// got is told the number of bytes of each message; nil: nobody.
	got func(int)
	// send answers a download; nil: what was uploaded.
	send func(*sandboxv1.DownloadFileRequest, grpc.ServerStreamingServer[sandboxv1.DownloadFileResponse]) error

	mu    sync.Mutex
	files map[string]string // by "user/workspace/path"
	ended []error           // how uploads ended that were not kept
	kept  []*sandboxv1.UploadTarget
}

func (s *shelf) UploadFile(stream grpc.ClientStreamingServer[sandboxv1.UploadFileRequest, sandboxv1.UploadFileResponse]) error {
	err := s.receive(stream)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = append(s.ended, err)
	}
	return rpcerr.From(err).Err()
}

func (s *shelf) receive(stream grpc.ClientStreamingServer[sandboxv1.UploadFileRequest, sandboxv1.UploadFileResponse]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	p, _, err := auth.FromMetadata(md)
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	target := first.GetTarget()
	if strings.HasPrefix(target.GetWorkspaceId(), ".") {
		return rpcerr.InvalidArgument("target.workspace_id", "is no id")
	}
	if strings.Contains(target.GetPath(), "..") {
		return rpcerr.InvalidArgument("path", "must not have . or .. between its names")
	}
	var content bytes.Buffer
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.got != nil {
			s.got(len(msg.GetData()))
		} else {
			content.Write(msg.GetData())
		}
		if s.quota > 0 && content.Len() > s.quota {
			return rpcerr.New(codes.ResourceExhausted, "QUOTA_EXCEEDED", "the workspace is full")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]string{}
	}
	s.files[p.UserID+"/"+target.GetWorkspaceId()+"/"+target.GetPath()] = content.String()
	s.kept = append(s.kept, target)
	return stream.SendAndClose(&sandboxv1.UploadFileResponse{
		File: &sandboxv1.FileInfo{
			Path: target.GetPath(), Type: "file", SizeBytes: float64(content.Len()), MimeType: "text/plain",
			ModifiedAt: timestamppb.New(time.Date(2026, 5, 6, 7, 8, 9, 500, time.UTC)),
		},
		Sha256: "5e",
	})
}

func (s *shelf) DownloadFile(req *sandboxv1.DownloadFileRequest, stream grpc.ServerStreamingServer[sandboxv1.DownloadFileResponse]) error {
	return rpcerr.From(s.send(req, stream)).Err()
}

// stored is the content of a file of u1 in the workspace c1.
func (s *shelf) stored(path string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok := s.files["u1/c1/"+path]
	return content, ok
}

// count is how many files are stored.
func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}

// last is the target of the file that was stored last.
func (s *shelf) last() *sandboxv1.UploadTarget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[len(s.kept)-1]
}

const uploadPath = "/api/workspaces/c1/files"

// formPart is a part of a form: a file when its header has a filename.
type formPart struct{ disposition, content string }

func field(name, value string) formPart {
	return formPart{fmt.Sprintf(`form-data; name=%q`, name), value}
}
func file(name, content string) formPart {
	return formPart{`form-data; name="file"; filename="` + name + `"`, content}
}

const boundary = "----nanoclaw"

// form is the text of a form.
func form(parts ...formPart) string {
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	if err := w.SetBoundary(boundary); err != nil {
		panic(err)
	}
	for _, p := range parts {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {p.disposition}})
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(part, p.content)
	}
	_ = w.Close()
	return text.String()
}

// sendForm is a request with a form.
func (f *fixture) sendForm(t testing.TB, path string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+goodToken)
	r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
	return r
}

func newShelf(t testing.TB, s *shelf, opts ...option) *fixture {
	t.Helper()
	return newFixture(t, &backend{workspaces: s}, opts...)
}

func uploads(most int64) option {
	return func(c *gateway.Config, _ *gateway.Deps) { c.MaxUploadBytes = most }
}
