package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

// executeStream is the stream of one Execute.
type executeStream = grpc.ServerStreamingServer[sandboxv1.ExecuteResponse]

// Execute implements SandboxService.
func (s *Service) Execute(req *sandboxv1.ExecuteRequest, stream executeStream) error {
	ctx := stream.Context()
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return err
	}
	x, reader, err := s.executions.Attach(ctx, p.ID(), req.GetEffectKey(), execution.Request{
		User: p.UserID, Language: req.GetLanguage(), Code: req.GetCode(), Stdin: req.GetStdin(),
		Workspace: req.GetWorkspaceId(), Timeout: time.Duration(req.GetTimeoutMs()) * time.Millisecond,
	})
	if err != nil {
		return shape(err)
	}
	defer reader.Close()
	// The first message may have to wait for a turn; the caller knows now that
	// the call has arrived.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return shape(follow(ctx, x, reader, stream))
}

// follow sends an execution to one reader.
func follow(ctx context.Context, x *execution.Execution, reader *output.Reader, stream executeStream) error {
	select {
	case <-x.Started():
	case <-x.Done():
		if _, err := x.Result(); err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	queue, start := x.Times()
	started := &sandboxv1.ExecutionStarted{QueueMs: millis(queue), StartMs: millis(start)}
	if err := stream.Send(&sandboxv1.ExecuteResponse{Event: &sandboxv1.ExecuteResponse_Started{Started: started}}); err != nil {
		return err
	}
	err := reader.Follow(ctx, func(stdout, stderr []byte) error { return sendOutput(stream, stdout, stderr) })
	if err != nil {
		return err
	}
	select {
	case <-x.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	result, err := x.Result()
	if err != nil {
		return err
	}
	if n := reader.Lost(); n > 0 {
		result.Message = strings.TrimSpace(result.Message + fmt.Sprintf(" The first %d bytes of its output had gone by when this caller came.", n))
	}
	return stream.Send(&sandboxv1.ExecuteResponse{Event: &sandboxv1.ExecuteResponse_Result{Result: resultProto(result)}})
}

func sendOutput(stream executeStream, stdout, stderr []byte) error {
	if len(stdout) > 0 {
		if err := stream.Send(&sandboxv1.ExecuteResponse{Event: &sandboxv1.ExecuteResponse_Stdout{Stdout: stdout}}); err != nil {
			return err
		}
	}
	if len(stderr) == 0 {
		return nil
	}
	return stream.Send(&sandboxv1.ExecuteResponse{Event: &sandboxv1.ExecuteResponse_Stderr{Stderr: stderr}})
}

func resultProto(r execution.Result) *sandboxv1.ExecutionResult {
	out := &sandboxv1.ExecutionResult{
		Status: r.Status, ExitCode: int32(r.ExitCode), Signal: r.Signal,
		Stdout: r.Stdout.String(), StdoutTruncated: r.Stdout.Truncated(),
		Stderr: r.Stderr.String(), StderrTruncated: r.Stderr.Truncated(),
		ArtifactsTruncated: r.ArtifactsTruncated,
		DurationMs:         millis(r.Wall), CpuMs: millis(r.CPU), QueueMs: millis(r.Queue), StartMs: millis(r.Start),
		MaxMemoryKib: int32(min(r.MaxMemoryBytes>>10, maxInt32)),
		Enforcement:  r.Enforcement, Message: r.Message,
	}
	for _, a := range r.Artifacts {
		out.Artifacts = append(out.Artifacts, &sandboxv1.Artifact{
			Path: a.Path, MimeType: a.MimeType, SizeBytes: float64(a.Size), Sha256: a.SHA256,
		})
	}
	return out
}

const maxInt32 = 1<<31 - 1

func millis(d time.Duration) int32 { return int32(min(d.Milliseconds(), maxInt32)) }

// GetCapabilities implements SandboxService.
func (s *Service) GetCapabilities(ctx context.Context, _ *sandboxv1.GetCapabilitiesRequest) (*sandboxv1.GetCapabilitiesResponse, error) {
	if _, err := auth.Require(ctx); err != nil {
		return nil, err
	}
	return capabilities(s.machine.Capabilities(ctx)), nil
}
