package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// serve serves a store; a call's user is in the metadata test-user.
func serve(t *testing.T, s *Store) sandboxv1.WorkspaceServiceClient {
	t.Helper()
	withUser := func(ctx context.Context) context.Context {
		if user := metadata.ValueFromIncomingContext(ctx, "test-user"); len(user) > 0 {
			return auth.NewContext(ctx, auth.UserPrincipal(user[0], auth.ScopeAll))
		}
		return ctx
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			res, err := next(withUser(ctx), req)
			return res, rpcerr.From(err).Err()
		}),
		grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			return rpcerr.From(next(srv, userStream{s, withUser(s.Context())})).Err()
		}))
	sandboxv1.RegisterWorkspaceServiceServer(server, NewServer(s))
	lis := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///sandbox", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(); server.Stop() })
	return sandboxv1.NewWorkspaceServiceClient(conn)
}

type userStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s userStream) Context() context.Context { return s.ctx }

func as(t *testing.T, user string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "test-user", user)
}

func target(path string) *sandboxv1.UploadFileRequest {
	return &sandboxv1.UploadFileRequest{Part: &sandboxv1.UploadFileRequest_Target{Target: &sandboxv1.UploadTarget{WorkspaceId: ws, Path: path}}}
}

func data(text string) *sandboxv1.UploadFileRequest {
	return &sandboxv1.UploadFileRequest{Part: &sandboxv1.UploadFileRequest_Data{Data: []byte(text)}}
}

func upload(ctx context.Context, c sandboxv1.WorkspaceServiceClient, msgs ...*sandboxv1.UploadFileRequest) (*sandboxv1.UploadFileResponse, error) {
	stream, err := c.UploadFile(ctx)
	if err != nil {
		return nil, err
	}
	for _, msg := range msgs {
		if err := stream.Send(msg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return stream.CloseAndRecv()
}

func refused(t *testing.T, err error, code codes.Code, reason string) {
	t.Helper()
	if status.Code(err) != code || rpcerr.Reason(err) != reason {
		t.Errorf("error %v (%s), want %s %s", err, rpcerr.Reason(err), code, reason)
	}
}

func TestAFileGoesUpAndComesDown(t *testing.T) {
	c := serve(t, newStore(t, roomy))
	text := strings.Repeat("0123456789", 100_000)
	done, err := upload(as(t, ann), c, target("d/a.txt"), data(text[:700_000]), data(""), data(text[700_000:]))
	must(t, err)
	sum := sha256.Sum256([]byte(text))
	if f := done.GetFile(); done.GetSha256() != hex.EncodeToString(sum[:]) || f.GetPath() != "d/a.txt" || f.GetSizeBytes() != 1e6 ||
		f.GetType() != "file" || f.GetMimeType() != "text/plain" || !f.GetModifiedAt().IsValid() {
		t.Errorf("%v", done)
	}
	down, err := c.DownloadFile(as(t, ann), &sandboxv1.DownloadFileRequest{WorkspaceId: ws, Path: "d/a.txt"})
	must(t, err)
	first, err := down.Recv()
	must(t, err)
	if first.GetFile().GetSizeBytes() != 1e6 || first.GetFile().GetMimeType() != "text/plain" {
		t.Errorf("%v", first)
	}
	var got strings.Builder
	for {
		msg, err := down.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		got.Write(msg.GetData())
	}
	if got.String() != text {
		t.Errorf("%d bytes came down, not those that went up", got.Len())
	}
	if done, err = upload(as(t, ann), c, target("empty")); err != nil || done.GetFile().GetSizeBytes() != 0 {
		t.Errorf("an empty file: %v, %v", done, err)
	}
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	s := newStore(t, roomy)
	c := serve(t, s)
	ctx, cancel := context.WithCancel(as(t, ann))
	stream, err := c.UploadFile(ctx)
	must(t, err)
	must(t, stream.Send(target("a")))
	must(t, stream.Send(data("half")))
	staged := filepath.Join(s.root.Name(), staging)
	must(t, waitFor(staged, func(files int) bool { return files > 0 }))
	cancel()
	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.Canceled {
		t.Errorf("error %v", err)
	}
	_, err = s.read(ann, ws, "a")
	mustBe(t, err, codes.NotFound, "NOT_FOUND")
	must(t, waitFor(staged, func(files int) bool { return files == 0 })) // the server's end comes after the caller's
}

// waitFor returns when a folder has a number of files that is enough.
func waitFor(dir string, enough func(files int) bool) error {
	for {
		left, err := os.ReadDir(dir)
		if err != nil || enough(len(left)) {
			return err
		}
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	s := newStore(t, Quota{Bytes: 2 << 20, Files: 10})
	c := serve(t, s)
	for _, tc := range []struct {
		name   string
		msgs   []*sandboxv1.UploadFileRequest
		code   codes.Code
		reason string
	}{
		{"nothing", nil, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"no target", []*sandboxv1.UploadFileRequest{data("x")}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"two targets", []*sandboxv1.UploadFileRequest{target("a"), target("b")}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"a message that carries nothing", []*sandboxv1.UploadFileRequest{target("a"), {}}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"a part that is too large", []*sandboxv1.UploadFileRequest{target("a"), data(strings.Repeat("x", maxPartBytes+1))}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"a bad path", []*sandboxv1.UploadFileRequest{target("../a"), data("x")}, codes.InvalidArgument, "INVALID_ARGUMENT"},
		{"more than the quota", []*sandboxv1.UploadFileRequest{target("a"), data(kib(1024)), data(kib(1024)), data("x"), data("x")}, codes.ResourceExhausted, ReasonQuotaExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := upload(as(t, ann), c, tc.msgs...)
			refused(t, err, tc.code, tc.reason)
		})
	}
	_, err := upload(t.Context(), c, target("a"))
	refused(t, err, codes.Unauthenticated, auth.ReasonUnauthenticated)
	if all, err := s.Workspaces(t.Context(), ann, "", 10); err != nil || len(all.Items) > 0 {
		t.Errorf("workspaces %+v, %v", all, err)
	}
}

func TestTextIsReadByPages(t *testing.T) {
	s := newStore(t, roomy)
	c := serve(t, s)
	s.mustWrite(t, ws, "a.md", "国国国")
	page, err := c.ReadFile(as(t, ann), &sandboxv1.ReadFileRequest{WorkspaceId: ws, Path: "a.md", MaxChars: new(int32(2))})
	must(t, err)
	if page.GetText() != "国国" || !page.GetTruncated() || page.GetNextOffset() != 6 || page.GetSizeBytes() != 9 || page.GetMimeType() != "text/markdown" {
		t.Errorf("%v", page)
	}
	page, err = c.ReadFile(as(t, ann), &sandboxv1.ReadFileRequest{WorkspaceId: ws, Path: "a.md", Offset: 6})
	must(t, err)
	if page.GetText() != "国" || page.GetTruncated() || page.GetNextOffset() != 0 {
		t.Errorf("%v", page)
	}
	_, err = c.ReadFile(as(t, ann), &sandboxv1.ReadFileRequest{WorkspaceId: ws, Path: "a.md", Offset: 10})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	s.mustWrite(t, ws, "a.png", "\x89PNG\r\n\x1a\n\x00")
	_, err = c.ReadFile(as(t, ann), &sandboxv1.ReadFileRequest{WorkspaceId: ws, Path: "a.png"})
	refused(t, err, codes.FailedPrecondition, ReasonNotText)
}

func TestListsHavePages(t *testing.T) {
	s := newStore(t, roomy)
	c := serve(t, s)
	for _, id := range []string{"c1", "c2", "c3"} {
		s.mustWrite(t, id, "a/b", "xx")
		s.mustWrite(t, id, "c", "x")
	}
	page, err := c.ListWorkspaces(as(t, ann), &sandboxv1.ListWorkspacesRequest{Limit: new(int32(2))})
	must(t, err)
	if w := page.GetItems(); len(w) != 2 || w[0].GetId() != "c1" || w[0].GetUsedBytes() != 3 || w[0].GetQuotaBytes() != 64<<20 || !page.GetHasMore() {
		t.Fatalf("%v", page)
	}
	page, err = c.ListWorkspaces(as(t, ann), &sandboxv1.ListWorkspacesRequest{Cursor: page.GetNextCursor()})
	must(t, err)
	if w := page.GetItems(); len(w) != 1 || w[0].GetId() != "c3" || page.GetHasMore() || page.GetNextCursor() != "" {
		t.Errorf("%v", page)
	}
	files, err := c.ListFiles(as(t, ann), &sandboxv1.ListFilesRequest{WorkspaceId: ws, Limit: new(int32(1))})
	must(t, err)
	if f := files.GetItems(); len(f) != 1 || f[0].GetPath() != "a" || f[0].GetType() != "folder" || !files.GetHasMore() {
		t.Fatalf("%v", files)
	}
	files, err = c.ListFiles(as(t, ann), &sandboxv1.ListFilesRequest{WorkspaceId: ws, Cursor: files.GetNextCursor()})
	must(t, err)
	if f := files.GetItems(); len(f) != 1 || f[0].GetPath() != "c" || f[0].GetSizeBytes() != 1 || files.GetHasMore() {
		t.Errorf("%v", files)
	}
	_, err = c.ListFiles(as(t, ann), &sandboxv1.ListFilesRequest{WorkspaceId: ws, Cursor: "!"})
	refused(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
	_, err = c.ListFiles(as(t, bob), &sandboxv1.ListFilesRequest{WorkspaceId: ws})
	refused(t, err, codes.NotFound, "NOT_FOUND")
	_, err = c.DeleteFile(as(t, ann), &sandboxv1.DeleteFileRequest{WorkspaceId: ws, Path: "a", Recursive: true})
	must(t, err)
	_, err = c.DeleteWorkspace(as(t, ann), &sandboxv1.DeleteWorkspaceRequest{WorkspaceId: ws})
	must(t, err)
	_, err = c.DeleteWorkspace(as(t, ann), &sandboxv1.DeleteWorkspaceRequest{WorkspaceId: ws})
	refused(t, err, codes.NotFound, "NOT_FOUND")
}

func TestCursorsThatNoPageGave(t *testing.T) {
	c := serve(t, newStore(t, roomy))
	for _, cursor := range []string{"zzz", "a", "not base64", EncodeCursor("a/b"), EncodeCursor("a\x00"), EncodeCursor("..")} {
		_, err := c.ListWorkspaces(as(t, ann), &sandboxv1.ListWorkspacesRequest{Cursor: cursor})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	for _, cursor := range []string{"zzz", "a", "not base64", EncodeCursor("a/b")} {
		_, err := c.ListFiles(as(t, ann), &sandboxv1.ListFilesRequest{WorkspaceId: ws, Cursor: cursor})
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
}
