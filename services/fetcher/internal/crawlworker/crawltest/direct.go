package crawltest

import (
	"context"

	"google.golang.org/grpc"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// Direct is a client of the manager without a connection between, for tests
// whose time is not the clock's.
type Direct struct{ Manager *Manager }

// LeaseBatch implements CrawlWorkServiceClient.
func (d Direct) LeaseBatch(ctx context.Context, req *taskmanagerv1.LeaseBatchRequest, _ ...grpc.CallOption) (*taskmanagerv1.LeaseBatchResponse, error) {
	return d.Manager.LeaseBatch(ctx, req)
}

// ExtendLease implements CrawlWorkServiceClient.
func (d Direct) ExtendLease(ctx context.Context, req *taskmanagerv1.ExtendLeaseRequest, _ ...grpc.CallOption) (*taskmanagerv1.ExtendLeaseResponse, error) {
	return d.Manager.ExtendLease(ctx, req)
}

// CommitBatch implements CrawlWorkServiceClient.
func (d Direct) CommitBatch(ctx context.Context, req *taskmanagerv1.CommitBatchRequest, _ ...grpc.CallOption) (*taskmanagerv1.CommitBatchResponse, error) {
	return d.Manager.CommitBatch(ctx, req)
}
