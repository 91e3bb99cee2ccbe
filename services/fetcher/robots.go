package fetcher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/httpfetch"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of robots.txt questions without an answer.
const (
	// ReasonDifferentOrigins is about addresses that are not all of one origin.
	ReasonDifferentOrigins = "DIFFERENT_ORIGINS"
	reasonStopping         = "SHUTTING_DOWN"
)

// robotsCacheBytes is the room for what robots.txt files say, where the process
// gives no cache.
const robotsCacheBytes = 16 << 20

// CheckRobots tells which addresses of one origin may be asked for. An origin
// that nothing can be asked of is INVALID_ARGUMENT with the reason that a fetch
// of its pages has.
func (s *Service) CheckRobots(ctx context.Context, req *fetcherv1.CheckRobotsRequest) (*fetcherv1.CheckRobotsResponse, error) {
	targets, err := s.oneOrigin(req.GetUrls())
	if err != nil {
		return nil, err
	}
	v, err := s.robots.Check(ctx, targets[0])
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if refused := (*httpfetch.Error)(nil); errors.As(err, &refused) {
		return nil, shape(refused)
	}
	if err != nil {
		return nil, rpcerr.New(codes.Unavailable, reasonStopping, "the fetcher is being stopped; ask again").WithRetry(time.Second).WithCause(err)
	}
	out := &fetcherv1.CheckRobotsResponse{
		Allowed: make([]bool, len(targets)),
		State:   string(v.State),
		Reason:  v.Reason,
	}
	for i, u := range targets {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out.Allowed[i] = v.Allows(u)
	}
	out.CrawlDelayMs = millis(v.Delay)
	out.ValidMs = millis(max(time.Until(v.Until), 0))
	return out, nil
}

// oneOrigin gives addresses in normal form, all of one origin.
func (s *Service) oneOrigin(raw []string) ([]*url.URL, error) {
	if len(raw) == 0 {
		return nil, rpcerr.InvalidArgument("urls", "must name an address")
	}
	targets := make([]*url.URL, len(raw))
	for i, r := range raw {
		u, err := s.guard.CheckURL(r)
		if err != nil {
			reason := ReasonURLRefused
			if refused := (*netguard.Error)(nil); errors.As(err, &refused) {
				reason = refusalReason(refused.Reason)
			}
			return nil, badEntry(i, reason, err.Error()).WithCause(err)
		}
		if first := targets[0]; first != nil && (first.Scheme != u.Scheme || first.Host != u.Host) {
			return nil, badEntry(i, ReasonDifferentOrigins, fmt.Sprintf("is not of the origin %s://%s of the first", first.Scheme, first.Host))
		}
		targets[i] = u
	}
	return targets, nil
}

// badEntry is about one of several addresses.
func badEntry(i int, reason, words string) *rpcerr.Error {
	field := fmt.Sprintf("urls[%d]", i)
	return rpcerr.New(codes.InvalidArgument, reason, "%s: %s", field, words).WithField(field, words)
}

// millis is d in whole milliseconds, rounded up: a wait is never cut short.
func millis(d time.Duration) int32 {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return int32(min(ms, math.MaxInt32))
}
