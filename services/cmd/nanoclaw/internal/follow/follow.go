// Package follow asks a question and follows its run to the end, through broken
// connections and restarts of the server.
package follow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/transcript"
)

const (
	// A lost connection is looked for again after firstWait, then after twice
	// as long, up to longestWait; maxFailures in a row are given up: about 30 s.
	firstWait   = 200 * time.Millisecond
	longestWait = 5 * time.Second
	maxFailures = 10
	// cancelTime is how long asking the server to cancel may take.
	cancelTime = 5 * time.Second

	idempotencyKey = "idempotency-key"
)

var (
	// ErrLeft says that the person left while the run went on.
	ErrLeft = errors.New("left while the run goes on")

	// ErrLost says that the server stayed away.
	ErrLost = errors.New("the connection broke and did not come back")

	errBye = errors.New("the server ended the stream early")
)

// Follower follows one run. It is used once.
type Follower struct {
	Conversations orchestratorv1.ConversationServiceClient
	Runs          orchestratorv1.RunServiceClient
	// Seen is called after each new event, with the transcript so far.
	Seen func(*orchestratorv1.RunEvent, *transcript.Transcript)
	// Note tells the person what happens to the connection.
	Note func(string)
	// Interrupts: the first cancels the run on the server, the second leaves.
	Interrupts <-chan struct{}

	// Interrupted says whether the person asked to cancel the run.
	Interrupted bool

	transcript transcript.Transcript
	cancelling chan error // answers of the server to being asked to cancel
	lost       bool
}

// Ask sends a question and follows its run. An ended run, also a failed one, is
// no error. When ctx ends, the run is cancelled.
func (f *Follower) Ask(ctx context.Context, req *orchestratorv1.StreamMessageRequest) (*transcript.Transcript, error) {
	key := rand.Text() // a question that has to be sent again is the same question
	return f.follow(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[orchestratorv1.RunEvent], error) {
		return f.Conversations.StreamMessage(metadata.AppendToOutgoingContext(ctx, idempotencyKey, key), req)
	})
}

// Watch follows a run that goes on already.
func (f *Follower) Watch(ctx context.Context, runID string) (*transcript.Transcript, error) {
	f.transcript.RunID = runID
	return f.follow(ctx, nil)
}

// begin opens a stream.
type begin func(context.Context) (grpc.ServerStreamingClient[orchestratorv1.RunEvent], error)

func (f *Follower) follow(ctx context.Context, ask begin) (*transcript.Transcript, error) {
	f.cancelling = make(chan error, 1)
	t := &f.transcript
	wait, failures := firstWait, 0
	for {
		progress, err := f.listen(ctx, ask)
		switch {
		case t.Ended():
			return t, nil
		case ctx.Err() != nil:
			f.cancelLate(ctx)
			return t, ctx.Err()
		case !transient(err):
			return t, err
		}
		if progress {
			wait, failures = firstWait, 0
		}
		if failures++; failures > maxFailures {
			return t, fmt.Errorf("%w: %s", ErrLost, status.Convert(err).Message())
		}
		if !f.lost && !errors.Is(err, errBye) {
			f.lost = true
			f.Note("the connection is lost, looking for it again")
		}
		if err := f.pause(ctx, wait); err != nil {
			return t, err
		}
		wait = min(2*wait, longestWait)
	}
}

// transient says whether following again may help.
func transient(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, errBye) || errors.Is(err, transcript.ErrGap) ||
		status.Code(err) == codes.Unavailable
}

// pause waits before the next try.
func (f *Follower) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-f.Interrupts:
			if err := f.interrupt(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil // the next try says so
		}
	}
}

type received struct {
	event *orchestratorv1.RunEvent
	err   error
}

// listen reads one stream to its end. progress says that something new came.
//
// The stream does not get the deadline of ctx: the server would end it a moment
// before ctx does, and that could not be told from a failure.
func (f *Follower) listen(ctx context.Context, ask begin) (progress bool, err error) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	events := make(chan received)
	var reader sync.WaitGroup
	reader.Go(func() { f.read(inner, f.open(ask), events) })
	defer reader.Wait()
	defer stop()
	for {
		select {
		case r := <-events:
			if r.err != nil {
				return progress, r.err
			}
			fresh, err := f.apply(ctx, r.event)
			progress = progress || fresh
			if err != nil || f.transcript.Ended() {
				return progress, err
			}
		case <-f.Interrupts:
			if err := f.interrupt(ctx); err != nil {
				return progress, err
			}
		case err := <-f.cancelling:
			if err != nil {
				f.Note("the server did not cancel the run: " + status.Convert(err).Message())
			}
		case <-ctx.Done():
			return progress, ctx.Err()
		}
	}
}

// read passes the events of a stream on, its error last.
func (f *Follower) read(ctx context.Context, open begin, events chan<- received) {
	stream, err := open(ctx)
	for {
		var event *orchestratorv1.RunEvent
		if err == nil {
			event, err = stream.Recv()
		}
		select {
		case events <- received{event, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// open asks as long as the run has no id, then goes on after what is known.
func (f *Follower) open(ask begin) begin {
	if f.transcript.RunID == "" {
		return ask
	}
	req := &orchestratorv1.WatchRunRequest{RunId: f.transcript.RunID, AfterSeq: f.transcript.LastSeq}
	return func(ctx context.Context) (grpc.ServerStreamingClient[orchestratorv1.RunEvent], error) {
		return f.Runs.WatchRun(ctx, req)
	}
}

// apply takes an event in and tells about it, unless it is known already.
func (f *Follower) apply(ctx context.Context, event *orchestratorv1.RunEvent) (fresh bool, err error) {
	if event.GetBye() != nil {
		return false, errBye
	}
	if event.GetSeq() > 0 && event.GetSeq() <= f.transcript.LastSeq {
		return false, nil
	}
	hadID := f.transcript.RunID != ""
	if err := f.transcript.Apply(event); err != nil {
		return false, err
	}
	if f.lost = false; event.GetPing() != nil {
		return false, nil
	}
	f.Seen(event, &f.transcript)
	if f.Interrupted && !hadID && f.transcript.RunID != "" {
		f.cancelSoon(ctx) // the person was faster than the server
	}
	return true, nil
}

// interrupt is one Ctrl+C.
func (f *Follower) interrupt(ctx context.Context) error {
	if f.Interrupted {
		return ErrLeft
	}
	f.Interrupted = true
	f.Note("cancelling the run; once more to leave at once")
	if f.transcript.RunID != "" {
		f.cancelSoon(ctx)
	}
	return nil
}

// cancelSoon asks the server to cancel the run without waiting for it.
func (f *Follower) cancelSoon(ctx context.Context) {
	runID := f.transcript.RunID
	go func() { f.cancelling <- f.cancel(context.WithoutCancel(ctx), runID) }()
}

// cancelLate asks, and waits, although ctx is over.
func (f *Follower) cancelLate(ctx context.Context) {
	if f.transcript.RunID == "" || f.Interrupted {
		return
	}
	if err := f.cancel(context.WithoutCancel(ctx), f.transcript.RunID); err != nil {
		f.Note("the server did not cancel the run: " + status.Convert(err).Message())
	}
}

func (f *Follower) cancel(ctx context.Context, runID string) error {
	ctx, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	_, err := f.Runs.CancelRun(ctx, &orchestratorv1.CancelRunRequest{RunId: runID})
	return err
}
