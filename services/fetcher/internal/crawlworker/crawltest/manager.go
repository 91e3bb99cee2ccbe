// Package crawltest is a task manager for tests of crawl workers: it hands out
// the batches that a test offers, and holds workers to the contract.
package crawltest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	taskmanagerv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/taskmanager/v1"
)

// Manager is a CrawlWorkService.
type Manager struct {
	taskmanagerv1.UnimplementedCrawlWorkServiceServer
	t testing.TB

	mu      sync.Mutex
	offered []*taskmanagerv1.CrawlBatch
	changed chan struct{} // closed and replaced when something is offered
	leases  map[string]*Lease
	away    error
	refuse  func(*taskmanagerv1.CommitBatchRequest) error
	lost    func(*taskmanagerv1.CommitBatchRequest) error
	calls   map[string]int
	open    int
	most    int
}

// New makes a manager.
func New(t testing.TB) *Manager {
	return &Manager{t: t, changed: make(chan struct{}), leases: map[string]*Lease{}, calls: map[string]int{}}
}

// Conn serves the manager over gRPC in memory until the test ends.
func (m *Manager) Conn() *grpc.ClientConn {
	m.t.Helper()
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	taskmanagerv1.RegisterCrawlWorkServiceServer(server, m)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	conn, err := grpc.NewClient("passthrough:///manager", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return conn
}

// Batch makes a batch of addresses on one origin. Their keys are their paths.
func Batch(id, origin string, grant *taskmanagerv1.PolitenessGrant, paths ...string) *taskmanagerv1.CrawlBatch {
	b := &taskmanagerv1.CrawlBatch{LeaseId: id, TaskId: "task-" + id, UserId: "anna", Origin: origin, Grant: grant, ExtractType: "text"}
	for _, path := range paths {
		b.Targets = append(b.Targets, &taskmanagerv1.CrawlTarget{UrlKey: []byte(path), Url: origin + path})
	}
	return b
}

// Grant is a politeness grant.
func Grant(parallel int, gap time.Duration) *taskmanagerv1.PolitenessGrant {
	return &taskmanagerv1.PolitenessGrant{Parallel: int32(parallel), GapMs: int32(gap.Milliseconds()), RobotsDecided: true}
}

// Offer lets the next worker that asks have a batch.
func (m *Manager) Offer(b *taskmanagerv1.CrawlBatch) *Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := &Lease{Batch: b, Begun: make(chan struct{}), Finished: make(chan struct{}), m: m, partAdded: make(chan struct{})}
	m.leases[b.GetLeaseId()] = l
	m.offered = append(m.offered, b)
	close(m.changed)
	m.changed = make(chan struct{})
	return l
}

// Away lets every call fail with err; nil: the manager is back.
func (m *Manager) Away(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = err
}

// Refuse lets commits fail for which f has an error.
func (m *Manager) Refuse(f func(*taskmanagerv1.CommitBatchRequest) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = f
}

// Lost lets the answers of commits that were done be lost where f has an error.
func (m *Manager) Lost(f func(*taskmanagerv1.CommitBatchRequest) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = f
}

// Forget drops every batch of before, for tests that have many.
func (m *Manager) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.leases)
}

// Calls is how often a method was called.
func (m *Manager) Calls(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[method]
}

// Most is how many batches were out at once.
func (m *Manager) Most() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

func (m *Manager) called(method string, req proto.Message) error {
	m.calls[method]++
	if _, measuring := m.t.(*testing.B); measuring {
		return m.away
	}
	if err := protovalidate.Validate(req); err != nil {
		m.t.Errorf("%s: %v", method, err)
	}
	return m.away
}

// LeaseBatch implements CrawlWorkService.
func (m *Manager) LeaseBatch(ctx context.Context, req *taskmanagerv1.LeaseBatchRequest) (*taskmanagerv1.LeaseBatchResponse, error) {
	m.mu.Lock()
	err := m.called("LeaseBatch", req)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	enough := time.NewTimer(time.Duration(req.GetWaitMs()) * time.Millisecond)
	defer enough.Stop()
	for {
		b, changed := m.take()
		if b != nil {
			return &taskmanagerv1.LeaseBatchResponse{Batch: b}, nil
		}
		select {
		case <-changed:
		case <-enough.C:
			return &taskmanagerv1.LeaseBatchResponse{}, nil
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

func (m *Manager) take() (*taskmanagerv1.CrawlBatch, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.offered) == 0 || m.away != nil {
		return nil, m.changed
	}
	b := m.offered[0]
	m.offered = m.offered[1:]
	b.LeaseUntil = timestamppb.New(time.Now().Add(15 * time.Second))
	m.open++
	m.most = max(m.most, m.open)
	close(m.leases[b.GetLeaseId()].Begun)
	return b, nil
}

// ExtendLease implements CrawlWorkService.
func (m *Manager) ExtendLease(_ context.Context, req *taskmanagerv1.ExtendLeaseRequest) (*taskmanagerv1.ExtendLeaseResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.called("ExtendLease", req); err != nil {
		return nil, err
	}
	out := &taskmanagerv1.ExtendLeaseResponse{LeaseUntil: timestamppb.New(time.Now().Add(15 * time.Second))}
	for _, id := range req.GetLeaseIds() {
		l := m.leases[id]
		switch {
		case l == nil || l.state == "lost" || l.isFinished():
			out.Lost = append(out.Lost, id)
		case l.state == "cancelled":
			out.Cancelled = append(out.Cancelled, id)
		}
	}
	return out, nil
}

// CommitBatch implements CrawlWorkService.
func (m *Manager) CommitBatch(_ context.Context, req *taskmanagerv1.CommitBatchRequest) (*taskmanagerv1.CommitBatchResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, err := m.commit(req)
	if err == nil && m.lost != nil {
		err = m.lost(req)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (m *Manager) commit(req *taskmanagerv1.CommitBatchRequest) (*taskmanagerv1.CommitBatchResponse, error) {
	if err := m.called("CommitBatch", req); err != nil {
		return nil, err
	}
	l := m.leases[req.GetLeaseId()]
	if l == nil || l.state == "lost" {
		return nil, status.Error(codes.Aborted, "the lease is somebody else's")
	}
	if m.refuse != nil {
		if err := m.refuse(req); err != nil {
			return nil, err
		}
	}
	if l.state == "cancelled" {
		return &taskmanagerv1.CommitBatchResponse{Cancelled: true}, nil
	}
	if len(l.parts) > 0 && int(req.GetPart()) == len(l.parts) {
		if !proto.Equal(req, l.last) {
			m.t.Errorf("part %d of %s is not what it was", req.GetPart(), req.GetLeaseId())
		}
		return &taskmanagerv1.CommitBatchResponse{}, nil
	}
	if err := l.check(req); err != nil {
		m.t.Errorf("part %d of %s: %v", req.GetPart(), req.GetLeaseId(), err)
	}
	l.last = req
	l.parts = append(l.parts, req.GetPages())
	close(l.partAdded)
	l.partAdded = make(chan struct{})
	if req.GetFinal() {
		m.open--
		close(l.Finished)
	}
	return &taskmanagerv1.CommitBatchResponse{Recorded: int32(len(req.GetPages()))}, nil
}
