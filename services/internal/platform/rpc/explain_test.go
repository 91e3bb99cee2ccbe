package rpc_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestErrorsThatNobodyShapedAreExplained(t *testing.T) {
	away := errors.New("dial tcp 10.0.0.7:3306: connection refused")
	for _, tc := range []struct {
		name   string
		err    error
		code   codes.Code
		reason string
		retry  bool
	}{
		{"a known one gets its words", away, codes.Unavailable, "STORAGE_UNAVAILABLE", true},
		{"an unknown one is ours", errors.New("nil map"), codes.Internal, "INTERNAL", false},
		{"one with words keeps them", rpcerr.New(codes.Aborted, "KEY_REUSED", "another body").WithCause(away), codes.Aborted, "KEY_REUSED", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lines
			failing := &handlers{unary: func(context.Context) error { return tc.err }}
			r := start(t, failing, func(c *rpc.ServerConfig) {
				c.Logger = log.logger()
				c.Explain = func(err error) *rpcerr.Error {
					if errors.Is(err, away) {
						return rpcerr.New(codes.Unavailable, "STORAGE_UNAVAILABLE", "try again").WithRetry(2 * time.Second)
					}
					return nil
				}
			})
			err := call(auth.NewContext(t.Context(), auth.UserPrincipal("u1", "*")), r.inside(), wantChat)
			requireStatus(t, err, tc.code, tc.reason)
			if _, ok := rpcerr.RetryDelay(err); ok != tc.retry {
				t.Errorf("a time to try again: %v, want %v", ok, tc.retry)
			}
			if strings.Contains(err.Error(), "10.0.0.7") {
				t.Errorf("the caller reads %v", err)
			}
			if tc.retry && !strings.Contains(log.String(), "10.0.0.7") {
				t.Errorf("the log lacks the cause:\n%s", log.String())
			}
		})
	}
}
