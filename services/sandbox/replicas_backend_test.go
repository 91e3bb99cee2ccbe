//go:build backends

package sandbox

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
)

func TestTwoReplicasRunTheProgramOfAKeyOnce(t *testing.T) {
	free, begun := make(chan struct{}), make(chan struct{}, 1)
	d := &executiontest.Driver{Program: func(ctx context.Context, s isolate.Spec) (isolate.Result, error) {
		begun <- struct{}{}
		<-free
		return prints(ctx, s)
	}}
	var shared store.Config
	first := newWorld(t, d, func(_ *Config, deps *Deps) { shared = deps.Database })
	second := newWorld(t, d, func(_ *Config, deps *Deps) { deps.Database = shared })
	req := &sandboxv1.ExecuteRequest{Language: "bash", Code: "x", EffectKey: "k"}
	ended := make(chan heard)
	go func() { ended <- first.run(req) }()
	<-begun
	_, err := second.execute(second.as("ann"), req)
	if _, told := rpcerr.RetryDelay(err); status.Code(err) != codes.Unavailable || rpcerr.Reason(err) != ReasonElsewhere || !told {
		t.Errorf("while another replica runs it: %v", err)
	}
	close(free)
	want := (<-ended).result.Stdout
	if got := second.run(req).result.Stdout; got != want || len(d.Specs()) != 1 {
		t.Errorf("%q, want %q; %d programs were run", got, want, len(d.Specs()))
	}
}
