package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// healthService is grpc-go's health service whose watches end when the server
// drains: a graceful stop waits for every stream, and a watch never ends by
// itself.
type healthService struct {
	*health.Server
	over       context.Context
	endWatches context.CancelFunc
}

func newHealthService() *healthService {
	h := &healthService{Server: health.NewServer()}
	h.over, h.endWatches = context.WithCancel(context.Background())
	h.set("", false)
	return h
}

func (h *healthService) register(r grpc.ServiceRegistrar) { healthpb.RegisterHealthServer(r, h) }

func (h *healthService) set(service string, serving bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if serving {
		status = healthpb.HealthCheckResponse_SERVING
	}
	h.SetServingStatus(service, status)
}

// shutdown reports everything as NOT_SERVING, for good.
func (h *healthService) shutdown() { h.Server.Shutdown() }

// Watch is the watch of grpc.health.v1, ended by endWatches.
func (h *healthService) Watch(req *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	defer context.AfterFunc(h.over, cancel)()
	return h.Server.Watch(req, &watchStream{stream, ctx})
}

type watchStream struct {
	grpc.ServerStreamingServer[healthpb.HealthCheckResponse]
	ctx context.Context
}

func (s *watchStream) Context() context.Context { return s.ctx }
