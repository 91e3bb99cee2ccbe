package auth_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// issuer is an identity service with one token, "nc_good" of "tok_good".
type issuer struct {
	*auth.TokenCache
	t *testing.T

	mu      sync.Mutex
	asked   int
	refuse  error
	expires time.Time
	takes   time.Duration
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{t: t}
	i.TokenCache = auth.NewTokenCache(i.exchange)
	return i
}

func (i *issuer) exchange(ctx context.Context, token string) (auth.Principal, error) {
	i.mu.Lock()
	i.asked++
	refuse, p := i.refuse, auth.UserPrincipal("u1", auth.ScopeAll)
	p.TokenID, p.ExpiresAt = "tok_good", i.expires
	takes := i.takes
	i.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return auth.Principal{}, ctx.Err()
	}
	if refuse != nil {
		return auth.Principal{}, refuse
	}
	return p, nil
}

func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// expect uses the token and says how often was asked for it by then.
func (i *issuer) expect(what string, code codes.Code, asked int) {
	i.t.Helper()
	p, err := i.Principal(i.t.Context(), "nc_good")
	i.mu.Lock()
	defer i.mu.Unlock()
	if got := rpcerr.From(err).Code(); got != code || i.asked != asked {
		i.t.Errorf("%s: %s after asking %d times, want %s after %d", what, got, i.asked, code, asked)
	}
	if (p.UserID == "u1") != (code == codes.OK) {
		i.t.Errorf("%s: the principal is %+v", what, p)
	}
}

var errRevoked = rpcerr.New(codes.Unauthenticated, "TOKEN_INVALID", "revoked")

func TestATokenIsRememberedForAMinuteFromWhenItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.takes = 2 * time.Second
		i.expect("the first time", codes.OK, 1)
		i.set(func() { i.refuse = errRevoked }) // by another process
		time.Sleep(auth.TokenTTL - 2*time.Second - time.Millisecond)
		i.expect("within the minute", codes.OK, 1)
		time.Sleep(time.Millisecond)
		i.expect("after the minute", codes.Unauthenticated, 2)
	})
}

func TestATokenIsNotRememberedBeyondItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.expires = time.Now().Add(10 * time.Second)
		i.expect("the first time", codes.OK, 1)
		time.Sleep(10*time.Second - time.Millisecond)
		i.expect("just before its end", codes.OK, 1)
		i.set(func() { i.refuse = errRevoked })
		time.Sleep(time.Millisecond)
		i.expect("at its end", codes.Unauthenticated, 2)
	})
}

func TestARevokedTokenIsForgottenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.expect("the first time", codes.OK, 1)
		i.Forget("tok_other")
		i.expect("when another is revoked", codes.OK, 1)
		i.set(func() { i.refuse = errRevoked })
		i.Forget("tok_good")
		i.expect("when it is revoked", codes.Unauthenticated, 2)
	})
}

func TestAnAnswerFromBeforeTheRevocationIsNeitherKeptNorShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.takes = time.Second
		var early sync.WaitGroup
		early.Go(func() {
			if _, err := i.Principal(t.Context(), "nc_good"); err != nil {
				t.Errorf("a use before the revocation: %v", err)
			}
		})
		synctest.Wait() // it has been asked for, and was good then
		i.set(func() { i.refuse = errRevoked })
		i.Forget("tok_good")
		i.expect("while the answer is on its way", codes.Unauthenticated, 2)
		early.Wait()
		i.expect("after it came", codes.Unauthenticated, 2)
		time.Sleep(auth.RefusalTTL)
		i.expect("later", codes.Unauthenticated, 3)
	})
}

func TestARefusalIsRememberedForSecondsOnly(t *testing.T) {
	for _, code := range []codes.Code{codes.Unauthenticated, codes.NotFound, codes.PermissionDenied} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			i.refuse = rpcerr.New(code, "NO", "no")
			for range 3 {
				i.expect("a bad token", codes.Unauthenticated, 1)
			}
			i.set(func() { i.refuse = nil }) // made since
			time.Sleep(auth.RefusalTTL)
			i.expect("after some seconds", codes.OK, 2)
		})
	}
}

func TestAFailureToAskIsNotRemembered(t *testing.T) {
	i := newIssuer(t)
	i.refuse = errors.New("database is locked")
	_, err := i.Principal(t.Context(), "nc_good")
	if d, ok := rpcerr.RetryDelay(err); !ok || d != time.Second || rpcerr.Reason(err) != auth.ReasonIdentityUnavailable {
		t.Errorf("retry after %v, %v: %v", d, ok, err)
	}
	i.expect("again", codes.Unavailable, 2)
	i.refuse = nil
	i.expect("after it came back", codes.OK, 3)
}

func TestManyUsesOfOneNewTokenAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		i.takes = time.Second
		var uses sync.WaitGroup
		results := make([]error, 20)
		for n := range results {
			uses.Go(func() {
				ctx := t.Context()
				if n == 0 { // whoever comes first may also leave first
					c, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
					defer cancel()
					ctx = c
				} else {
					time.Sleep(time.Millisecond)
				}
				_, results[n] = i.Principal(ctx, "nc_good")
			})
		}
		uses.Wait()
		if i.asked != 1 || !errors.Is(results[0], context.DeadlineExceeded) {
			t.Errorf("asked %d times, want 1; the first got %v", i.asked, results[0])
		}
		for _, err := range results[1:] {
			if err != nil {
				t.Errorf("a use failed with the first one: %v", err)
			}
		}
	})
}

func TestAPanicOfTheExchangeIsAnError(t *testing.T) {
	c := auth.NewTokenCache(func(context.Context, string) (auth.Principal, error) { panic("nil map") })
	if _, err := c.Principal(t.Context(), "nc_good"); err == nil || !strings.Contains(err.Error(), "nil map") || strings.Contains(err.Error(), "nc_good") {
		t.Errorf("%v", err)
	}
}

func TestAnIdentityServiceGoneWrongMakesNoServices(t *testing.T) {
	c := auth.NewTokenCache(func(context.Context, string) (auth.Principal, error) { return auth.ServicePrincipal("gateway"), nil })
	if p, err := c.Principal(t.Context(), "nc_good"); rpcerr.From(err).Code() != codes.Internal || p.Kind != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

func FuzzToken(f *testing.F) {
	for _, seed := range []string{"", "nc_", "nc_a", "sk-123", "nc_a b", "nc_\x00", "nc_é", "nc_" + strings.Repeat("x", 509), "nc_" + strings.Repeat("x", 510)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		asked := false
		c := auth.NewTokenCache(func(_ context.Context, got string) (auth.Principal, error) {
			asked = got == token
			return auth.UserPrincipal("u1"), nil
		})
		_, err := c.Principal(t.Context(), token)
		plain := len(token) > 3 && len(token) <= 512 && strings.HasPrefix(token, "nc_") &&
			!strings.ContainsFunc(token, func(r rune) bool { return r < '!' || r > '~' })
		if asked != plain || (err == nil) != plain {
			t.Errorf("%q: asked %v, %v", token, asked, err)
		}
	})
}
