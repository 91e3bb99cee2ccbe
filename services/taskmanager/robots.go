package taskmanager

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
)

const robotsUnreachable = "unreachable"

// asService is ctx for what the task manager does for itself.
func asService(ctx context.Context) context.Context {
	return auth.NewContext(ctx, auth.ServicePrincipal("task-manager"))
}

// askRobots asks the fetcher what robots.txt says of addresses of one origin.
func (s *Service) askRobots(ctx context.Context, urls []string) (frontier.Verdict, error) {
	v, err := s.checkRobots(ctx, urls)
	if status.Code(err) != codes.InvalidArgument {
		return v, err
	}
	// One of them is none that the fetcher fetches: the others are not to suffer.
	out := frontier.Verdict{Allowed: make([]bool, len(urls)), Refused: make([]string, len(urls))}
	for i, u := range urls {
		v, err := s.checkRobots(ctx, []string{u})
		switch {
		case status.Code(err) == codes.InvalidArgument:
			out.Refused[i] = "the fetcher refuses this address: " + status.Convert(err).Message()
		case err != nil:
			return out, err
		case v.Unreachable:
			return v, nil
		default:
			out.CrawlDelay, out.Valid = v.CrawlDelay, v.Valid
			out.Allowed[i] = len(v.Allowed) == 1 && v.Allowed[0]
		}
	}
	return out, nil
}

func (s *Service) checkRobots(ctx context.Context, urls []string) (frontier.Verdict, error) {
	res, err := s.fetcher.CheckRobots(ctx, &fetcherv1.CheckRobotsRequest{Urls: urls})
	if err != nil {
		return frontier.Verdict{}, err
	}
	return frontier.Verdict{
		Unreachable: res.GetState() == robotsUnreachable, Reason: res.GetReason(), Allowed: res.GetAllowed(),
		CrawlDelay: time.Duration(res.GetCrawlDelayMs()) * time.Millisecond, Valid: time.Duration(res.GetValidMs()) * time.Millisecond,
	}, nil
}
