package workspace

import (
	"bytes"
	"context"
	"encoding/base64"

	"google.golang.org/protobuf/types/known/timestamppb"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	defaultLimit    = 20
	defaultMaxChars = 2000
)

// Server is WorkspaceService over a store.
type Server struct {
	sandboxv1.UnimplementedWorkspaceServiceServer

	store *Store
}

// NewServer makes the service. The store stays the caller's to close.
func NewServer(store *Store) *Server { return &Server{store: store} }

// ListWorkspaces implements the contract.
func (s *Server) ListWorkspaces(ctx context.Context, req *sandboxv1.ListWorkspacesRequest) (*sandboxv1.ListWorkspacesResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	after, err := DecodeCursor(req.GetCursor())
	if err == nil && after != "" && !validID.MatchString(after) {
		err = badCursor()
	}
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if req.Limit != nil {
		limit = int(req.GetLimit())
	}
	page, err := s.store.Workspaces(ctx, p.UserID, after, limit)
	if err != nil {
		return nil, err
	}
	out := &sandboxv1.ListWorkspacesResponse{HasMore: page.More}
	if page.More {
		out.NextCursor = EncodeCursor(page.Last)
	}
	for _, w := range page.Items {
		out.Items = append(out.Items, &sandboxv1.Workspace{
			Id: w.ID, UsedBytes: float64(w.Bytes), QuotaBytes: float64(s.store.quota.Bytes), ModifiedAt: timestamppb.New(w.Modified),
		})
	}
	return out, nil
}

// ListFiles implements the contract.
func (s *Server) ListFiles(ctx context.Context, req *sandboxv1.ListFilesRequest) (*sandboxv1.ListFilesResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	after, err := DecodeCursor(req.GetCursor())
	if err != nil {
		return nil, err
	}
	limit := defaultLimit
	if req.Limit != nil {
		limit = int(req.GetLimit())
	}
	page, err := s.store.List(ctx, p.UserID, req.GetWorkspaceId(), req.GetPath(), after, limit)
	if err != nil {
		return nil, err
	}
	out := &sandboxv1.ListFilesResponse{HasMore: page.More}
	if page.More {
		out.NextCursor = EncodeCursor(page.Last)
	}
	for _, e := range page.Entries {
		out.Items = append(out.Items, fileInfo(e))
	}
	return out, nil
}

// ReadFile implements the contract.
func (s *Server) ReadFile(ctx context.Context, req *sandboxv1.ReadFileRequest) (*sandboxv1.ReadFileResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.store.Open(p.UserID, req.GetWorkspaceId(), req.GetPath())
	if err != nil {
		return nil, err
	}
	defer f.Close()
	maxChars := defaultMaxChars
	if req.MaxChars != nil {
		maxChars = int(req.GetMaxChars())
	}
	page, err := ReadText(f.File, f.Entry, int64(req.GetOffset()), maxChars)
	if err != nil {
		return nil, err
	}
	out := &sandboxv1.ReadFileResponse{Path: f.Entry.Path, Text: page.Text, SizeBytes: float64(f.Entry.Size), MimeType: f.Entry.MIME}
	if page.Next < f.Entry.Size {
		out.Truncated, out.NextOffset = true, float64(page.Next)
	}
	return out, nil
}

// DeleteFile implements the contract.
func (s *Server) DeleteFile(ctx context.Context, req *sandboxv1.DeleteFileRequest) (*sandboxv1.DeleteFileResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.store.Delete(ctx, p.UserID, req.GetWorkspaceId(), req.GetPath(), req.GetRecursive()); err != nil {
		return nil, err
	}
	return &sandboxv1.DeleteFileResponse{}, nil
}

// DeleteWorkspace implements the contract.
func (s *Server) DeleteWorkspace(ctx context.Context, req *sandboxv1.DeleteWorkspaceRequest) (*sandboxv1.DeleteWorkspaceResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.store.DeleteWorkspace(ctx, p.UserID, req.GetWorkspaceId()); err != nil {
		return nil, err
	}
	return &sandboxv1.DeleteWorkspaceResponse{}, nil
}

func fileInfo(e Entry) *sandboxv1.FileInfo {
	return &sandboxv1.FileInfo{
		Path: e.Path, Type: e.Type, SizeBytes: float64(e.Size), ModifiedAt: timestamppb.New(e.Modified), MimeType: e.MIME,
	}
}

// EncodeCursor makes a cursor of a name, which may be of any bytes.
func EncodeCursor(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

// DecodeCursor reads it back; the empty cursor is the beginning. What no name
// could have been is refused.
func DecodeCursor(cursor string) (string, error) {
	name, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || bytes.ContainsAny(name, "/\x00") {
		return "", badCursor()
	}
	return string(name), nil
}

func badCursor() error {
	return rpcerr.InvalidArgument("cursor", "must be the next_cursor of the page before")
}
