package rpc

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// A revoked token is refused after this time at the latest, counted from
	// when the exchange was asked.
	tokenTTL = 60 * time.Second
	// A refused token is asked for again after this time: it may just have been
	// made.
	refusalTTL = 5 * time.Second
	// Each of the two sets, good and refused, holds at most this many; guesses
	// cannot push good tokens out.
	maxCachedTokens = 10_000
	exchangeTimeout = 10 * time.Second
	exchangeRetry   = time.Second
)

// ReasonIdentityUnavailable: tokens cannot be checked at the moment.
const ReasonIdentityUnavailable = "IDENTITY_UNAVAILABLE"

type tokenKey [sha256.Size]byte

type exchangeFunc func(ctx context.Context, token string) (auth.Principal, error)

// tokenCache remembers what tokens stand for, by their hash.
type tokenCache struct {
	exchange exchangeFunc
	good     *lru.Cache[tokenKey, goodToken]
	refused  *lru.Cache[tokenKey, time.Time] // until when
	asking   singleflight.Group
}

type goodToken struct {
	principal auth.Principal
	until     time.Time
}

func newTokenCache(exchange exchangeFunc) (*tokenCache, error) {
	good, err := lru.New[tokenKey, goodToken](maxCachedTokens)
	if err != nil {
		return nil, fmt.Errorf("token cache: %w", err)
	}
	refused, err := lru.New[tokenKey, time.Time](maxCachedTokens)
	if err != nil {
		return nil, fmt.Errorf("token cache: %w", err)
	}
	return &tokenCache{exchange: exchange, good: good, refused: refused}, nil
}

// principal is whom token stands for: UNAUTHENTICATED when nobody, UNAVAILABLE
// when that cannot be found out now.
func (c *tokenCache) principal(ctx context.Context, token string) (auth.Principal, error) {
	key := tokenKey(sha256.Sum256([]byte(token)))
	now := time.Now()
	if hit, ok := c.good.Get(key); ok && now.Before(hit.until) {
		return hit.principal, nil
	}
	if until, ok := c.refused.Get(key); ok && now.Before(until) {
		return auth.Principal{}, errBadToken()
	}
	// Many calls with one new token ask once. The asking outlives the call that
	// began it, since the others wait for it too.
	answer := c.asking.DoChan(string(key[:]), func() (any, error) {
		return c.ask(context.WithoutCancel(ctx), key, token)
	})
	select {
	case <-ctx.Done():
		return auth.Principal{}, ctx.Err()
	case r := <-answer:
		if r.Err != nil {
			return auth.Principal{}, r.Err
		}
		return r.Val.(auth.Principal), nil
	}
}

func (c *tokenCache) ask(ctx context.Context, key tokenKey, token string) (p auth.Principal, err error) {
	defer func() { // singleflight would end the process
		if r := recover(); r != nil {
			p, err = auth.Principal{}, fmt.Errorf("token exchange panicked: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	asked := time.Now()
	p, err = c.exchange(ctx, token)
	switch code := rpcerr.From(err).Code(); code {
	case codes.OK:
		if err := checkUser(p); err != nil {
			return auth.Principal{}, fmt.Errorf("token exchange: the principal %w", err)
		}
		c.good.Add(key, goodToken{p, asked.Add(tokenTTL)})
		return p, nil
	case codes.Unauthenticated, codes.PermissionDenied, codes.NotFound:
		c.good.Remove(key)
		c.refused.Add(key, asked.Add(refusalTTL))
		return auth.Principal{}, errBadToken().WithCause(err)
	default:
		return auth.Principal{}, rpcerr.New(codes.Unavailable, ReasonIdentityUnavailable,
			"API tokens cannot be checked at the moment").WithRetry(exchangeRetry).WithCause(err)
	}
}

func errBadToken() *rpcerr.Error {
	return unauthenticated(`this API token is not valid: unknown, expired or revoked; "nanoclaw token" makes a new one`)
}
