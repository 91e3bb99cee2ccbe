package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/engine"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/watch"
)

// Runs serves RunService.
type Runs struct {
	pb.UnimplementedRunServiceServer

	Store   *run.Store
	Engine  *engine.Engine
	Watcher *watch.Watcher
}

// GetRun returns a run as it stands.
func (s *Runs) GetRun(ctx context.Context, req *pb.GetRunRequest) (*pb.GetRunResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.Get(ctx, p.UserID, req.RunId)
	if err != nil {
		return nil, runError(err, req.RunId)
	}
	wire, err := s.wire(ctx, r)
	if err != nil {
		return nil, err
	}
	return &pb.GetRunResponse{Run: wire}, nil
}

func (s *Runs) wire(ctx context.Context, r schema.Run) (*pb.Run, error) {
	calls, tools, err := s.Store.Rounds(ctx, false, r.ID)
	if err != nil {
		return nil, err
	}
	used, err := s.Store.Used(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	asked, err := s.Store.ModelCalls(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out := wireRun(r, prompt.ByRun(calls, tools)[r.ID], used[r.ID])
	out.ModelCalls = wireModelCalls(asked)
	return out, nil
}

// WatchRun replays and follows a run.
func (s *Runs) WatchRun(req *pb.WatchRunRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
	ctx := stream.Context()
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return err
	}
	after, field, err := lastEventID(ctx, int(req.AfterSeq))
	if err != nil {
		return err
	}
	err = s.Watcher.Watch(ctx, p.UserID, req.RunId, after, stream.Send)
	if ahead, ok := errors.AsType[*watch.AheadError](err); ok {
		return rpcerr.InvalidArgument(field, fmt.Sprintf("the run has %d events, and %d is none of them", ahead.LastSeq, after))
	}
	return runError(err, req.RunId)
}

// eventHeader is the name that callers know; metadata has it in lower case.
const eventHeader = "Last-Event-ID"

// lastEventID is the place to go on from, and what said so: the header that
// browsers send wins.
func lastEventID(ctx context.Context, after int) (seq int, field string, err error) {
	for _, v := range metadata.ValueFromIncomingContext(ctx, eventHeader) {
		if v == "" {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return 0, eventHeader, rpcerr.InvalidArgument(eventHeader, "it must be the id of an event of this run, a whole number")
		}
		return int(n), eventHeader, nil
	}
	return after, "after_seq", nil
}

// CancelRun asks a run to end.
func (s *Runs) CancelRun(ctx context.Context, req *pb.CancelRunRequest) (*pb.CancelRunResponse, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.Engine.Cancel(ctx, p.UserID, req.RunId)
	if err != nil {
		return nil, runError(err, req.RunId)
	}
	wire, err := s.wire(ctx, r)
	if err != nil {
		return nil, err
	}
	return &pb.CancelRunResponse{Run: wire}, nil
}
