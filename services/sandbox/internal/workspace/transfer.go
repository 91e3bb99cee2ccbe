package workspace

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// maxPartBytes is the most that one message of an upload carries.
	maxPartBytes = 1 << 20
	// downloadPartBytes is what one message of a download carries.
	downloadPartBytes = 256 << 10
)

// UploadFile implements the contract. It answers as soon as the file cannot be
// taken, whatever the caller still sends.
func (s *Server) UploadFile(stream grpc.ClientStreamingServer[sandboxv1.UploadFileRequest, sandboxv1.UploadFileResponse]) error {
	ctx := stream.Context()
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return err
	}
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	target := first.GetTarget()
	if target == nil {
		return rpcerr.InvalidArgument("target", "must be the first message of an upload")
	}
	w, err := s.store.Create(ctx, Target{
		User: p.UserID, Workspace: target.GetWorkspaceId(), Path: target.GetPath(), KeepExisting: target.GetKeepExisting(),
	})
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := receive(stream, w); err != nil {
		return err
	}
	done, err := w.Commit(ctx)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&sandboxv1.UploadFileResponse{File: fileInfo(done.Entry), Sha256: done.SHA256})
}

func receive(stream grpc.ClientStreamingServer[sandboxv1.UploadFileRequest, sandboxv1.UploadFileResponse], w io.Writer) error {
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		part, ok := msg.GetPart().(*sandboxv1.UploadFileRequest_Data)
		if !ok {
			return rpcerr.InvalidArgument("data", "must be all that follows the first message of an upload")
		}
		if len(part.Data) > maxPartBytes {
			return rpcerr.InvalidArgument("data", fmt.Sprintf("must not have more than %d bytes in a message", maxPartBytes))
		}
		if _, err := w.Write(part.Data); err != nil {
			return err
		}
	}
}

// DownloadFile implements the contract: as many bytes as the first message says,
// or an error.
func (s *Server) DownloadFile(req *sandboxv1.DownloadFileRequest, stream grpc.ServerStreamingServer[sandboxv1.DownloadFileResponse]) error {
	p, err := auth.RequireUser(stream.Context())
	if err != nil {
		return err
	}
	f, err := s.store.Open(p.UserID, req.GetWorkspaceId(), req.GetPath())
	if err != nil {
		return err
	}
	defer f.Close()
	if err := stream.Send(&sandboxv1.DownloadFileResponse{Part: &sandboxv1.DownloadFileResponse_File{File: fileInfo(f.Entry)}}); err != nil {
		return err
	}
	part := make([]byte, min(downloadPartBytes, f.Entry.Size))
	for left := f.Entry.Size; left > 0; {
		n, err := io.ReadFull(f, part[:min(left, int64(len(part)))])
		if err != nil {
			return rpcerr.New(codes.Aborted, ReasonFileChanged, "%q became shorter while it was sent: get it again", f.Entry.Path).WithCause(err)
		}
		left -= int64(n)
		if err := stream.Send(&sandboxv1.DownloadFileResponse{Part: &sandboxv1.DownloadFileResponse_Data{Data: part[:n]}}); err != nil {
			return err
		}
	}
	return nil
}
