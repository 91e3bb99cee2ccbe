package rpc_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestRevokedTokenIsRefusedWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var revoked atomic.Bool
		r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
			c.Exchange = func(context.Context, string) (auth.Principal, error) {
				asked.Add(1)
				time.Sleep(2 * time.Second) // the minute counts from before this
				if revoked.Load() {
					return auth.Principal{}, rpcerr.New(codes.Unauthenticated, "TOKEN_REVOKED", "revoked")
				}
				return auth.UserPrincipal("u1", "*"), nil
			}
		})
		defer r.stop()
		conn := r.stranger()
		try := func() error { return call(with(t, "authorization", "Bearer nc_all"), conn, wantChat) }

		if err := try(); err != nil {
			t.Fatal(err)
		}
		revoked.Store(true)
		time.Sleep(57*time.Second + 999*time.Millisecond)
		if err := try(); err != nil || asked.Load() != 1 {
			t.Fatalf("within the minute: %v, asked %d times, want the cached answer", err, asked.Load())
		}
		time.Sleep(time.Millisecond)
		requireStatus(t, try(), codes.Unauthenticated, auth.ReasonUnauthenticated)
		if asked.Load() != 2 {
			t.Errorf("asked %d times, want 2", asked.Load())
		}
	})
}

func TestRefusalIsRememberedForSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var made atomic.Bool
		r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
			c.Exchange = func(context.Context, string) (auth.Principal, error) {
				asked.Add(1)
				if !made.Load() {
					return auth.Principal{}, rpcerr.NotFound("token", "")
				}
				return auth.UserPrincipal("u1", "*"), nil
			}
		})
		defer r.stop()
		conn := r.stranger()
		try := func() error { return call(with(t, "authorization", "Bearer nc_new"), conn, wantChat) }

		for range 3 {
			requireStatus(t, try(), codes.Unauthenticated, auth.ReasonUnauthenticated)
		}
		if asked.Load() != 1 {
			t.Errorf("asked %d times for one bad token, want 1", asked.Load())
		}
		made.Store(true)
		time.Sleep(5 * time.Second)
		if err := try(); err != nil {
			t.Errorf("a token made since: %v", err)
		}
	})
}

func TestFailureToAskIsNotRemembered(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
		c.Exchange = func(context.Context, string) (auth.Principal, error) {
			if down.Load() {
				return auth.Principal{}, rpcerr.New(codes.Unavailable, "DOWN", "down")
			}
			return auth.UserPrincipal("u1", "*"), nil
		}
	})
	conn := r.stranger()
	err := call(with(t, "authorization", "Bearer nc_all"), conn, wantChat)
	requireStatus(t, err, codes.Unavailable, rpc.ReasonIdentityUnavailable)
	if d, ok := rpcerr.RetryDelay(err); !ok || d != time.Second {
		t.Errorf("retry after %v, %v", d, ok)
	}
	down.Store(false)
	if err := call(with(t, "authorization", "Bearer nc_all"), conn, wantChat); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}

func TestManyCallsWithOneNewTokenAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
			c.Exchange = func(ctx context.Context, _ string) (auth.Principal, error) {
				asked.Add(1)
				select {
				case <-time.After(time.Second):
					return auth.UserPrincipal("u1", "*"), nil
				case <-ctx.Done():
					return auth.Principal{}, ctx.Err()
				}
			}
		})
		defer r.stop()
		conn := r.stranger()
		var calls sync.WaitGroup
		results := make([]error, 20)
		for i := range results {
			calls.Go(func() {
				ctx := with(t, "authorization", "Bearer nc_all")
				if i == 0 { // whoever comes first may also leave first
					c, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
					defer cancel()
					ctx = c
				} else {
					time.Sleep(time.Millisecond)
				}
				results[i] = call(ctx, conn, wantChat)
			})
		}
		calls.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times, want 1", asked.Load())
		}
		requireStatus(t, results[0], codes.DeadlineExceeded, rpcerr.Reason(results[0]))
		for _, err := range results[1:] {
			if err != nil {
				t.Errorf("a call failed with the first one: %v", err)
			}
		}
	})
}

func TestPanicOfTheExchangeDoesNotEndTheProcess(t *testing.T) {
	var log lines
	r := start(t, &handlers{}, func(c *rpc.ServerConfig) {
		c.Logger = log.logger()
		c.Exchange = func(context.Context, string) (auth.Principal, error) { panic("nil map") }
	})
	requireStatus(t, call(with(t, "authorization", "Bearer nc_all"), r.stranger(), wantChat), codes.Internal, "INTERNAL")
	if !strings.Contains(log.String(), "nil map") {
		t.Errorf("the panic is not in the log:\n%s", log.String())
	}
	if strings.Contains(log.String(), "nc_all") {
		t.Errorf("the token is in the log:\n%s", log.String())
	}
}
