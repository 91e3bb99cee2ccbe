package gateway

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/nanoclaw/nanoclaw/services/gateway/internal/envelope"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	healthTimeout    = 2 * time.Second
	retryWhenDrained = time.Second
	// reasonAbsent is how calls of a service end that the deployment does without.
	reasonAbsent = "SERVICE_ABSENT"
)

// healthz says that the process lives.
func healthz(w http.ResponseWriter, r *http.Request) {
	envelope.WriteData(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

// readyz says that requests are taken and every service behind serves.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	if g.streams.Drain.Err() != nil {
		draining().Write(w, r)
		return
	}
	ctx := auth.NewContext(r.Context(), auth.ServicePrincipal("gateway"))
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	for _, conn := range g.conns {
		if !serves(ctx, conn) {
			envelope.New(http.StatusServiceUnavailable, "NOT_READY", "a service behind the gateway does not take calls just now").Write(w, r)
			return
		}
	}
	envelope.WriteData(w, r, http.StatusOK, map[string]string{"status": "ready"})
}

func serves(ctx context.Context, conn grpc.ClientConnInterface) bool {
	res, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if rpcerr.Reason(err) == reasonAbsent {
		return true // a deployment without this service is as ready as it will be
	}
	return err == nil && res.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING
}

// draining is the answer to what would only be cut off.
func draining() envelope.Problem {
	p := envelope.New(http.StatusServiceUnavailable, "DRAINING", "this server is going down: ask again, another one answers")
	p.RetryAfter, p.HasRetry = retryWhenDrained, true
	return p
}
