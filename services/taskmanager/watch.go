package taskmanager

import (
	"context"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// eventHeader is the name that callers know; metadata has it in lower case.
const eventHeader = "Last-Event-ID"

// WatchCrawlTask replays and follows a task.
func (s *Service) WatchCrawlTask(req *pb.WatchCrawlTaskRequest, stream grpc.ServerStreamingServer[pb.CrawlEvent]) error {
	ctx := stream.Context()
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return err
	}
	after, err := lastEventID(ctx, int(req.GetAfterSeq()))
	if err != nil {
		return err
	}
	return shaped(s.watcher.Watch(ctx, p.UserID, req.GetTaskId(), after, stream.Send), req.GetTaskId())
}

// lastEventID is the place to go on from: the header that browsers send wins.
func lastEventID(ctx context.Context, after int) (int, error) {
	for _, v := range metadata.ValueFromIncomingContext(ctx, eventHeader) {
		if v == "" {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return 0, rpcerr.InvalidArgument(eventHeader, "it must be the id of an event of this task, a whole number")
		}
		return int(n), nil
	}
	return after, nil
}
