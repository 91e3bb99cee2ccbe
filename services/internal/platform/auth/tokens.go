package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// TokenTTL is how long it is remembered whom a token stands for, counted
	// from when that was asked: so long a token may still be good that another
	// process has revoked. Its own end comes first.
	TokenTTL = 60 * time.Second
	// RefusalTTL is how long it is remembered that a token is bad: it may just
	// have been made.
	RefusalTTL = 5 * time.Second

	// Each of the two sets, good and refused, holds at most this many; guesses
	// cannot push good tokens out.
	maxKeptTokens   = 10_000
	exchangeTimeout = 10 * time.Second
	exchangeRetry   = time.Second

	tokenPrefix   = "nc_"
	maxTokenBytes = 512
)

// ReasonIdentityUnavailable: tokens cannot be checked at the moment.
const ReasonIdentityUnavailable = "IDENTITY_UNAVAILABLE"

// Exchange turns the text of an API token into its user. A refusal
// (UNAUTHENTICATED, PERMISSION_DENIED or NOT_FOUND) says that the token stands
// for nobody, any other error that this cannot be found out now.
type Exchange func(ctx context.Context, token string) (Principal, error)

// TokenCache remembers whom tokens stand for, by their hash. A process has one,
// for all its doors.
type TokenCache struct {
	exchange Exchange
	good     *lru.Cache[tokenKey, goodToken]
	refused  *lru.Cache[tokenKey, time.Time] // until when
	asking   singleflight.Group

	mu      sync.Mutex
	forgets uint64 // what was asked for before the last one is neither kept nor shared
}

type tokenKey [sha256.Size]byte

type goodToken struct {
	principal Principal
	until     time.Time
}

// NewTokenCache remembers what exchange answers.
func NewTokenCache(exchange Exchange) *TokenCache {
	return &TokenCache{exchange: exchange, good: newLRU[goodToken](), refused: newLRU[time.Time]()}
}

func newLRU[V any]() *lru.Cache[tokenKey, V] {
	c, err := lru.New[tokenKey, V](maxKeptTokens)
	if err != nil {
		panic(err) // it fails for a size that is not positive, and this one is
	}
	return c
}

// Principal is whom token stands for: UNAUTHENTICATED when nobody, UNAVAILABLE
// when that cannot be found out now.
func (c *TokenCache) Principal(ctx context.Context, token string) (Principal, error) {
	if !looksLikeToken(token) {
		return Principal{}, errBadToken()
	}
	key := tokenKey(sha256.Sum256([]byte(token)))
	now := time.Now()
	if hit, ok := c.good.Get(key); ok && now.Before(hit.until) {
		return hit.principal, nil
	}
	if until, ok := c.refused.Get(key); ok && now.Before(until) {
		return Principal{}, errBadToken()
	}
	c.mu.Lock()
	forgets := c.forgets
	c.mu.Unlock()
	// Many calls with one new token ask once. The asking outlives the call that
	// began it, since the others wait for it too.
	answer := c.asking.DoChan(fmt.Sprintf("%x/%d", key, forgets), func() (any, error) {
		return c.ask(context.WithoutCancel(ctx), key, token, forgets)
	})
	select {
	case <-ctx.Done():
		return Principal{}, ctx.Err()
	case r := <-answer:
		if r.Err != nil {
			return Principal{}, r.Err
		}
		return r.Val.(Principal), nil
	}
}

func (c *TokenCache) ask(ctx context.Context, key tokenKey, token string, forgets uint64) (p Principal, err error) {
	defer func() { // singleflight would end the process
		if r := recover(); r != nil {
			p, err = Principal{}, fmt.Errorf("token exchange panicked: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	asked := time.Now()
	p, err = c.exchange(ctx, token)
	switch code := rpcerr.From(err).Code(); code {
	case codes.OK:
		if err := p.CheckUser(); err != nil {
			return Principal{}, fmt.Errorf("token exchange: the principal %w", err)
		}
		c.keep(key, p, asked, forgets)
		return p, nil
	case codes.Unauthenticated, codes.PermissionDenied, codes.NotFound:
		c.good.Remove(key)
		c.refused.Add(key, asked.Add(RefusalTTL))
		return Principal{}, errBadToken().WithCause(err)
	default:
		return Principal{}, rpcerr.New(codes.Unavailable, ReasonIdentityUnavailable,
			"API tokens cannot be checked at the moment").WithRetry(exchangeRetry).WithCause(err)
	}
}

// keep remembers p until the token ends, unless a token was revoked since it was
// asked for: it may be this one.
func (c *TokenCache) keep(key tokenKey, p Principal, asked time.Time, forgets uint64) {
	until := asked.Add(TokenTTL)
	if !p.ExpiresAt.IsZero() && p.ExpiresAt.Before(until) {
		until = p.ExpiresAt
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets == forgets {
		c.good.Add(key, goodToken{p, until})
	}
}

// Forget makes the next use of the token with this id ask again, because it was
// revoked.
func (c *TokenCache) Forget(tokenID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	for _, key := range c.good.Keys() {
		if hit, ok := c.good.Peek(key); ok && hit.principal.TokenID == tokenID {
			c.good.Remove(key)
		}
	}
}

func errBadToken() *rpcerr.Error {
	return rpcerr.New(codes.Unauthenticated, ReasonUnauthenticated,
		`this API token is not valid: unknown, expired or revoked; "nanoclaw token" makes a new one`)
}

// looksLikeToken spares the identity service what cannot be a token.
func looksLikeToken(token string) bool {
	if len(token) > maxTokenBytes || len(token) <= len(tokenPrefix) || !strings.HasPrefix(token, tokenPrefix) {
		return false
	}
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// CheckUser says what is wrong with a principal that must be a user.
func (p Principal) CheckUser() error {
	if p.Kind != KindUser || p.UserID == "" {
		return errors.New("must be a user with an id")
	}
	return nil
}
