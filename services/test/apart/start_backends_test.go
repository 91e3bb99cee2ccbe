//go:build backends

package apart

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// The first commit of a run stores the message and the run. Whoever loses its
// answer cannot know what is stored.
func TestAMessageWhoseFirstCommitLostItsAnswerIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]time.Duration{
		"and the database answers at once":                        0,
		"and the database is away for longer than a caller waits": 8 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, hands, l := overALine(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			b := d.backend("orchestrator")
			runs := make([]*asked, crowd)
			for i := range runs {
				made, err := b.conversations.CreateConversation(ctx, &pb.CreateConversationRequest{})
				if err != nil {
					t.Fatal(err)
				}
				runs[i] = &asked{name: fmt.Sprint("start ", i), conversation: made.Conversation.Id, by: b}
			}
			// Of the commits that follow, the first ones are all of this kind.
			var lost, unclear atomic.Int32
			var all sync.WaitGroup
			const losses = crowd / 2
			l.set(faults{lose: func(packet []byte) bool {
				if statement(packet) != "COMMIT" || lost.Add(1) > losses {
					return false
				}
				if down > 0 && lost.Load() == losses {
					all.Go(func() { l.cut(); time.Sleep(down); l.mend() })
				}
				return true
			}})
			readers := make([]reader, crowd)
			for i, a := range runs {
				all.Go(func() {
					ctx := metadata.AppendToOutgoingContext(ctx, "idempotency-key", a.conversation)
					for a.run == "" && ctx.Err() == nil {
						id, err := begin(ctx, b, a, i%2 == 0)
						delay, hinted := rpcerr.RetryDelay(err)
						if err != nil && (status.Code(err) != codes.Unavailable || !hinted) {
							t.Errorf("%s: %v", a.name, err)
							return
						}
						if a.run = id; id == "" {
							unclear.Add(1)
							time.Sleep(min(delay, time.Second))
						}
					}
					readers[i].watch(ctx, a, b)
				})
			}
			all.Wait()
			l.set(faults{})
			if ctx.Err() != nil {
				t.Fatalf("not all runs ended:\n%s", d.procs["orchestrator"].Stderr())
			}
			c := d.client()
			for i, a := range runs {
				checkEnded(t, c, hands, a, &readers[i])
			}
			t.Logf("%d of %d commits lost their answer; %d times a caller was told to try again", min(lost.Load(), losses), lost.Load(), unclear.Load())
			if down == 0 && unclear.Load() > 0 {
				t.Error("what was stored could have been found out")
			}
			d.stop()
		})
	}
}

// begin asks by StreamMessage or by SendMessage and answers the id of the run.
func begin(ctx context.Context, b *backend, a *asked, streamed bool) (run string, err error) {
	if !streamed {
		res, err := b.conversations.SendMessage(ctx, &pb.SendMessageRequest{ConversationId: a.conversation, Content: a.name})
		return res.GetMessage().GetRunId(), err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // cutting the stream does not end the run
	stream, err := b.conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: a.conversation, Content: a.name})
	for err == nil && run == "" {
		var e *pb.RunEvent
		if e, err = stream.Recv(); err == nil {
			run = e.GetRunStarted().GetRunId()
		}
	}
	return run, err
}
