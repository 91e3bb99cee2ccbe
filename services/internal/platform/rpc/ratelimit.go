package rpc

import (
	"context"
	"fmt"
	"math"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// ReasonRateLimited: the principal calls too often; RetryInfo says when to
// come back.
const ReasonRateLimited = "RATE_LIMITED"

// At most this many principals have a bucket; the one unused for longest starts
// afresh.
const maxBuckets = 10_000

// rateLimiter has a token bucket for each principal. A service that calls for
// itself is not limited.
type rateLimiter struct {
	limit   rate.Limit
	burst   int
	buckets *lru.Cache[string, *rate.Limiter]
}

func newRateLimiter(l Limits) (*rateLimiter, error) {
	burst := l.Burst
	if burst == 0 {
		burst = int(math.Ceil(l.RatePerSecond))
	}
	buckets, err := lru.New[string, *rate.Limiter](maxBuckets)
	if err != nil {
		return nil, fmt.Errorf("rate limiter: %w", err)
	}
	return &rateLimiter{rate.Limit(l.RatePerSecond), burst, buckets}, nil
}

func (l *rateLimiter) step(ctx context.Context, _ method) (context.Context, func(error) error, error) {
	if l.limit == 0 {
		return ctx, nil, nil
	}
	p, known := auth.FromContext(ctx)
	if p.Kind == auth.KindService {
		return ctx, nil, nil
	}
	id := p.ID()
	if !known {
		id = "peer/" + peerHost(ctx)
	}
	now := time.Now()
	reservation := l.bucket(id).ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return nil, nil, rpcerr.New(codes.ResourceExhausted, ReasonRateLimited,
			"too many calls: %g a second are allowed, %d at once", float64(l.limit), l.burst).WithRetry(wait)
	}
	return ctx, nil, nil
}

func (l *rateLimiter) bucket(id string) *rate.Limiter {
	if b, ok := l.buckets.Get(id); ok {
		return b
	}
	fresh := rate.NewLimiter(l.limit, l.burst)
	if other, ok, _ := l.buckets.PeekOrAdd(id, fresh); ok {
		return other
	}
	return fresh
}

// peerHost is the caller's address without the port, for methods that ask for
// no identity.
func peerHost(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	return hostOf(from.Addr)
}
