package watch

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/uptrace/bun"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/peer"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

// ownerAddr is where the replica is that owns the run.
const ownerAddr = "owner:3001"

// replica serves the watches of the replica that owns the run.
type replica struct {
	pb.UnimplementedRunServiceServer
	watch func(req *pb.WatchRunRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error
}

func (r replica) WatchRun(req *pb.WatchRunRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
	return r.watch(req, stream)
}

// elsewhere is the world as another replica sees it, which does not own the run.
// Whoever asks the owner gets answer.
func (w *world) elsewhere(answer func(*pb.WatchRunRequest, grpc.ServerStreamingServer[pb.RunEvent]) error) *world {
	w.t.Helper()
	err := w.Runs.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewUpdate().Model((*schema.Run)(nil)).Set("lease_addr = ?", ownerAddr).Where("id = ?", w.id()).Exec(ctx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	lis := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	pb.RegisterRunServiceServer(server, replica{watch: answer})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	peers := &peer.Peers{Self: "other:3001", Dial: func(addr string) (*grpc.ClientConn, error) {
		if addr != ownerAddr {
			return nil, errors.New("nobody is at " + addr)
		}
		return grpc.NewClient("passthrough:owner", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	}}
	w.t.Cleanup(func() {
		peers.Close()
		server.Stop()
		<-served
	})
	other := *w
	other.Watcher = &Watcher{Runs: w.Runs, Hub: &live.Hub{}, Draining: w.draining, Peers: peers}
	return &other
}

// asOwner answers as the owner does.
func (w *world) asOwner(req *pb.WatchRunRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
	return w.Watch(stream.Context(), "ann", req.RunId, int(req.AfterSeq), stream.Send)
}

func TestWhatTheOwnerWritesIsSeenLiveOnAnotherReplica(t *testing.T) {
	w := newWorld(t, false)
	s := w.elsewhere(w.asOwner).watch(0)
	s.want("1 run_started")
	w.live.Write(1, "half ")
	s.want("message")
	w.live.Write(1, "and half")
	s.want("message")
	w.commit(said(1, "half and half"), note())
	s.want("3 notice") // its text is spared
	w.end()
	s.want("4 done")
	s.ends(nil)
}

func TestAnOwnerThatCannotBeReachedIsReadFromSQL(t *testing.T) {
	w := newWorld(t, false)
	s := w.elsewhere(func(*pb.WatchRunRequest, grpc.ServerStreamingServer[pb.RunEvent]) error {
		return errors.New("gone")
	}).watch(0)
	s.want("1 run_started")
	w.commit(note())
	s.want("2 notice")
	w.end()
	s.want("3 done")
	s.ends(nil)
}

func TestAnOwnerThatHangsIsLeftWhenTheRunIsTakenOverHere(t *testing.T) {
	w := newWorld(t, false)
	hangs := make(chan struct{})
	here := w.elsewhere(func(_ *pb.WatchRunRequest, stream grpc.ServerStreamingServer[pb.RunEvent]) error {
		close(hangs)
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	s := here.watch(1)
	s.want("ping")
	<-hangs
	if _, err := w.Runs.FreeAll(ctx); err != nil {
		t.Fatal(err)
	}
	here.Hub.Open("run_another", 0) // not the one that is waited for
	here.claim()
	here.live.Write(1, "from here")
	s.want("message")
	here.end()
	s.want("2 done")
	s.ends(nil)
}

func TestAWatchIsPassedOnOnce(t *testing.T) {
	w := newWorld(t, false)
	other := w.elsewhere(func(*pb.WatchRunRequest, grpc.ServerStreamingServer[pb.RunEvent]) error {
		t.Error("asked for a watch that another replica had passed on")
		return nil
	})
	hopped := metadata.NewIncomingContext(ctx, metadata.Pairs("x-peer-hop", "1"))
	var got []string
	done := make(chan error, 1)
	go func() {
		done <- other.Watch(hopped, "ann", w.id(), 0, func(e *pb.RunEvent) error {
			got = append(got, run.TypeOf(e))
			return nil
		})
	}()
	w.end()
	if err := <-done; err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
}
