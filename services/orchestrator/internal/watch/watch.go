// Package watch lets anybody who may see a run read its events: those that are
// logged from SQL, then what is being written from its owner, without a gap and
// without anything twice.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/peer"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

const (
	// pollEvery is how often SQL is asked about a run that this process does
	// not own.
	pollEvery = time.Second
	// pageEvents are read from SQL at once.
	pageEvents = 200
	// ownerEvery is how often SQL is asked whether a run is still owned by the
	// process that shows it.
	ownerEvery = 5 * time.Second
)

// Watcher reads runs.
type Watcher struct {
	Runs *run.Store
	Hub  *live.Hub
	// Draining is closed when this process is about to end: readers are told
	// to come back.
	Draining <-chan struct{}
	// Peers are the replicas that may own what this one does not; nil: none.
	Peers *peer.Peers
}

// errEnded ends a watch: the run's last event was sent.
var errEnded = errors.New("the run has ended")

// AheadError says that somebody wants to go on after an event that the run never
// had. They have mixed up two runs, and what they hold is not this one's.
type AheadError struct{ LastSeq int }

func (e *AheadError) Error() string {
	return fmt.Sprintf("watch: the run has %d events by now", e.LastSeq)
}

// Watch sends the events of a run after a sequence number, until the run has
// ended. It sends something at once: a ping when there is nothing else. An error
// of send ends the watch, and a number beyond the log is an *AheadError.
func (w *Watcher) Watch(ctx context.Context, userID, runID string, after int, send func(*pb.RunEvent) error) error {
	r, err := w.Runs.Get(ctx, userID, runID)
	if err != nil {
		return err
	}
	if after > r.LastSeq {
		return &AheadError{LastSeq: r.LastSeq}
	}
	if after == r.LastSeq {
		if err := send(&pb.RunEvent{Event: &pb.RunEvent_Ping{Ping: &pb.Ping{LastSeq: int32(after)}}}); err != nil {
			return err
		}
		if r.Ended() {
			return nil
		}
	}
	return w.Follow(ctx, userID, runID, after, send)
}

// Follow is Watch for a run that is known to be the user's and about to have
// events after the sequence number.
func (w *Watcher) Follow(ctx context.Context, userID, runID string, after int, send func(*pb.RunEvent) error) error {
	f := &follower{w: w, userID: userID, runID: runID, seq: after, send: send}
	for {
		var err error
		opened := w.Hub.Opened() // before looking, so that no opening is missed
		if lr := w.Hub.Get(runID); lr != nil {
			err = f.live(ctx, lr)
		} else {
			err = f.poll(ctx, opened)
		}
		switch {
		case errors.Is(err, errEnded):
			return nil
		case err != nil:
			return err
		}
	}
}

type follower struct {
	w             *Watcher
	userID, runID string
	seq           int // last logged event that was passed
	send          func(*pb.RunEvent) error
}

// live follows the run in its owner until that lets it go.
func (f *follower) live(ctx context.Context, lr *live.Run) error {
	reader := lr.Follow(f.seq)
	defer reader.Stop()
	for {
		events, err := reader.Next()
		if errors.Is(err, live.ErrBehind) {
			if err := f.catchUp(ctx); err != nil {
				return err
			}
			reader.Skip(f.seq)
			continue
		}
		for _, e := range events {
			if err := f.pass(e); err != nil {
				return err
			}
		}
		f.seq = reader.Seq()
		if errors.Is(err, io.EOF) {
			return nil
		}
		select {
		case <-reader.Changed():
		case <-f.w.Draining:
			return f.bye()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// catchUp sends what only SQL has. That it has nothing means that the run is
// gone while its owner does not know it yet.
func (f *follower) catchUp(ctx context.Context) error {
	before := f.seq
	if err := f.log(ctx); err != nil || f.seq > before {
		return err
	}
	if _, err := f.w.Runs.Get(ctx, f.userID, f.runID); err != nil {
		return err
	}
	return fmt.Errorf("events of run %s after %d are missing", f.runID, f.seq)
}

// bye ends the stream, not the run.
func (f *follower) bye() error {
	if err := f.send(&pb.RunEvent{Event: &pb.RunEvent_Bye{Bye: &pb.Bye{Reason: "drain", Resume: true}}}); err != nil {
		return err
	}
	return errEnded
}

// poll reads the log of a run that is owned elsewhere, or by nobody yet.
func (f *follower) poll(ctx context.Context, opened <-chan struct{}) error {
	r, err := f.w.Runs.Get(ctx, f.userID, f.runID)
	if err != nil {
		return err
	}
	if r.Status == schema.RunRunning {
		if ctx, owner, ok := f.w.Peers.Owner(ctx, r.LeaseAddr); ok {
			if err := f.forward(ctx, owner, r.LeaseAddr, opened); err != nil {
				return err
			}
		}
	}
	if err := f.log(ctx); err != nil {
		return err
	}
	if r.Ended() {
		return errEnded // an ended run's log was complete before it was read
	}
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-opened:
		return nil
	case <-f.w.Draining:
		return f.bye()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forward passes on what the owner in another process shows. It returns nil when
// that cannot be reached or lets the run go: SQL has the rest.
func (f *follower) forward(ctx context.Context, owner pb.RunServiceClient, addr string, opened <-chan struct{}) error {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := owner.WatchRun(call, &pb.WatchRunRequest{RunId: f.runID, AfterSeq: int32(f.seq)})
	if err != nil {
		return ctx.Err()
	}
	go func() { // Recv knows no channel
		f.whileOwned(call, addr, opened)
		cancel()
	}()
	for {
		e, err := stream.Recv()
		if err != nil {
			select {
			case <-f.w.Draining:
				return f.bye()
			default:
				return ctx.Err()
			}
		}
		switch e.Event.(type) {
		case *pb.RunEvent_Ping:
			continue
		case *pb.RunEvent_Bye:
			return nil
		}
		if err := f.pass(e); err != nil {
			return err
		}
		f.seq = max(f.seq, int(e.Seq))
	}
}

// whileOwned returns when the process at the address owns the run no more, this
// one drains or opens a run, or ctx ends. An owner that hangs says nothing, and
// its connection may take long to break.
func (f *follower) whileOwned(ctx context.Context, addr string, opened <-chan struct{}) {
	tick := time.NewTicker(ownerEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-opened:
			opened = f.w.Hub.Opened() // before looking
			if f.w.Hub.Get(f.runID) != nil {
				return
			}
			continue
		case <-f.w.Draining:
			return
		case <-ctx.Done():
			return
		}
		if r, err := f.w.Runs.Get(ctx, f.userID, f.runID); err == nil && (r.LeaseAddr != addr || r.Status != schema.RunRunning) {
			return
		}
	}
}

// log sends what SQL has.
func (f *follower) log(ctx context.Context) error {
	for {
		events, err := f.w.Runs.Events(ctx, f.runID, f.seq, pageEvents)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := f.pass(e); err != nil {
				return err
			}
			f.seq = int(e.Seq)
		}
		if len(events) < pageEvents {
			return nil
		}
	}
}

func (f *follower) pass(e *pb.RunEvent) error {
	if err := f.send(e); err != nil {
		return err
	}
	switch e.Event.(type) {
	case *pb.RunEvent_Done, *pb.RunEvent_Error:
		return errEnded
	}
	return nil
}
