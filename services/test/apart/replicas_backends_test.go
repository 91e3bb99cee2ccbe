//go:build backends

package apart

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// counting is the script of runs in which the model takes its time and its
// tools count. {{user}} is the name under which they do.
const counting = `
chunk: 8
turns:
  - when: {user_contains: "look up"}
    replies:
      - steps:
          - reasoning: "The web will know."
          - text: "I will search for that."
          - call: {name: web_search, arguments: {query: "nanoclaws size"}}
      - steps:
          - call: {name: fetch_page, arguments: {url: "{{url web_search 0}}"}}
      - steps:
          - text: "The page says: {{result fetch_page content.text}}"
  - when: {user_contains: "forever"}
    replies:
      - steps: [{text: "It begins."}, {silence: true}]
  - replies:
      - steps:
          - reasoning: "Where to begin?"
          - delay_ms: 200
          - text: "I will count, größer and 爪,"
          - delay_ms: 200
          - text: " once and again."
          - delay_ms: 200
          - call: {name: hands__tally, arguments: {name: "{{user}}/first"}}
          - call: {name: hands__look, arguments: {name: "{{user}}"}}
      - steps:
          - text: "Counted. Now again."
          - delay_ms: 400
          - text: " Slowly."
          - delay_ms: 400
          - call: {name: hands__tally, arguments: {name: "{{user}}/second"}}
      - steps:
          - reasoning: "That was all."
          - delay_ms: 300
          - text: "The answer is: "
          - delay_ms: 300
          - text: "forty nanometres, "
          - delay_ms: 300
          - text: "from tip to tip. 🦞"
`

const answer = "The answer is: forty nanometres, from tip to tip. 🦞"

// crowd is how many runs go on at once.
const crowd = 20

// backend is somebody who speaks gRPC with one replica.
type backend struct {
	name          string
	conversations pb.ConversationServiceClient
	runs          pb.RunServiceClient
}

func (d *deployment) backend(name string) *backend {
	conn := d.conn(name, d.token(name))
	return &backend{name, pb.NewConversationServiceClient(conn), pb.NewRunServiceClient(conn)}
}

// asked is a run that somebody asked for.
type asked struct {
	name, conversation, run string
	by                      *backend
}

// reader is one reader of a run, and what it saw before it was logged.
type reader struct {
	world.Transcript
	live   int // pieces of text without an id
	breaks int // connections that ended before the run
}

func (r *reader) take(e *pb.RunEvent) bool {
	if e.Seq == 0 && (e.GetMessage() != nil || e.GetThinking() != nil) {
		r.live++
	}
	return r.Take(eventOf(e))
}

// receive reads a stream until the run or the stream ends.
func (r *reader) receive(stream grpc.ServerStreamingClient[pb.RunEvent], err error) {
	for err == nil {
		var e *pb.RunEvent
		if e, err = stream.Recv(); err == nil && !r.take(e) {
			return
		}
	}
	r.breaks++
}

// watch follows a run at a replica, and at the others when that is gone.
func (r *reader) watch(ctx context.Context, a *asked, at ...*backend) {
	r.RunID = a.run
	for ; !r.Ended() && ctx.Err() == nil; at = append(at[1:], at[0]) {
		r.receive(at[0].runs.WatchRun(ctx, &pb.WatchRunRequest{RunId: a.run, AfterSeq: int32(r.LastID)}))
		if r.breaks > 0 && !r.Ended() {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// ask asks and returns when the run has begun; the rest is read by whoever
// watches.
func (b *backend) ask(ctx context.Context, t testing.TB, content string) *asked {
	t.Helper()
	made, err := b.conversations.CreateConversation(ctx, &pb.CreateConversationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	a := &asked{name: content, conversation: made.Conversation.Id, by: b}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, "idempotency-key", a.conversation))
	defer cancel() // cutting the stream does not end the run
	stream, err := b.conversations.StreamMessage(ctx, &pb.StreamMessageRequest{ConversationId: a.conversation, Content: content})
	if err != nil {
		t.Fatal(err)
	}
	for a.run == "" {
		e, err := stream.Recv()
		if err != nil {
			t.Fatalf("ask %s: %v", b.name, err)
		}
		a.run = e.GetRunStarted().GetRunId()
	}
	return a
}

// checkEnded checks a run that ended with its answer: one log without a gap,
// readers that were told the same, and each effect had once.
func checkEnded(t *testing.T, c *world.Client, hands *world.Hands, a *asked, readers ...*reader) *world.Transcript {
	t.Helper()
	log := c.Replay(t, a.run)
	for i, id := range log.IDs {
		if id != i+1 {
			t.Errorf("%s: event %d of the log has id %d", a.name, i, id)
		}
	}
	if log.Done["finish_reason"] != "stop" || log.Text(3) != answer {
		t.Errorf("%s ended with %v %v: %q", a.name, log.Done, log.Error, log.Text(3))
	}
	stored := c.Messages(t, a.conversation)
	if len(stored) != 2 || stored[1]["content"] != answer {
		t.Errorf("%s: the conversation has %d messages: %v", a.name, len(stored), stored)
	}
	for _, what := range []string{"/first", "/second"} {
		if n := hands.Count(a.name + what); n != 1 {
			t.Errorf("%s: the effect %s was had %d times", a.name, what, n)
		}
	}
	for i, r := range readers {
		if r.Err != nil {
			t.Errorf("%s, reader %d: %v", a.name, i, r.Err)
		}
		if fmt.Sprint(r.Rounds()) != fmt.Sprint(log.Rounds()) || fmt.Sprint(r.Calls, r.Results, r.Done) != fmt.Sprint(log.Calls, log.Results, log.Done) {
			t.Errorf("%s, reader %d has\n%v\nand the log\n%v", a.name, i, r, log)
		}
		if missed := missing(log, &r.Transcript); len(missed) > 0 {
			t.Errorf("%s, reader %d missed the events %v of %v", a.name, i, missed, log.IDs)
		}
	}
	return log
}

// missing are the logged events that a reader was not sent and does not have:
// only the text of a round that it took live is spared it.
func missing(log, r *world.Transcript) (ids []int) {
	for _, id := range log.IDs {
		if !slices.Contains(r.IDs, id) && !log.IsText(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// replicated is a world with two orchestrators on real backends.
func replicated(t *testing.T) (*deployment, *world.Hands) {
	t.Helper()
	w := world.New(t, counting)
	hands := w.StartHands(t)
	onBackends(t, w)
	w.Config.Runs.PerUser, w.Config.Runs.Queued = 2*crowd, 2*crowd
	d := deploy(t, w)
	d.replicas()
	d.startAll()
	for _, name := range []string{"orchestrator", "orchestrator2"} {
		until(t, "tools are known to "+name, func() bool {
			res, err := pb.NewToolServiceClient(d.conn(name, d.token(name))).ListTools(deadline(t), &pb.ListToolsRequest{})
			return err == nil && len(res.Tools) >= 5
		})
	}
	return d, hands
}

func TestTheStoryOnRealBackends(t *testing.T) {
	w := world.New(t, answering)
	w.StartHands(t)
	onBackends(t, w)
	d := deploy(t, w)
	d.startAll()
	c := d.client()
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	d.askOverGRPC(t)
	d.callTyped(t)

	// What is too large for a row is in the bucket alone, and read from there.
	run := c.Ask(t, c.Conversation(t), "recite, please")
	id, _ := run.Result(0)["result_id"].(string)
	if run.Done["finish_reason"] != "stop" || id == "" {
		t.Fatalf("a long result: %v %v %v", run.Result(0), run.Done, run.Error)
	}
	arguments := map[string]any{"result_id": id, "offset": 50_000}
	read := c.Data(t, "POST", "/api/tools/read_result/invoke", map[string]any{"arguments": arguments})
	if !strings.Contains(fmt.Sprint(read), "nanoclaw nanoclaw") {
		t.Errorf("a long result, read on: %v", read)
	}
	if _, err := os.Stat(filepath.Join(d.configs["orchestrator"].DataDir, "blobs")); err == nil {
		t.Error("there are blobs in the data folder")
	}
	d.stop()
}

func TestARunIsWatchedAndCancelledOnAnyReplica(t *testing.T) {
	d, hands := replicated(t)
	ctx, c := deadline(t), d.client()
	first, second := d.backend("orchestrator"), d.backend("orchestrator2")
	t.Run("the story through the gateway", func(t *testing.T) {
		checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	})
	t.Run("what one replica writes is seen live on the other", func(t *testing.T) {
		for _, pair := range [][2]*backend{{first, second}, {second, first}} {
			a := pair[0].ask(ctx, t, "live on the other than "+pair[0].name)
			var r reader
			r.watch(ctx, a, pair[1])
			log := checkEnded(t, c, hands, a, &r)
			if r.live < 5 || r.breaks > 0 {
				t.Errorf("%s: %d pieces live, %d breaks", a.name, r.live, r.breaks)
			}
			t.Logf("%s: %d pieces live, %d of %d logged events sent", a.name, r.live, len(r.IDs), len(log.IDs))
		}
	})
	t.Run("a run is cancelled through the other", func(t *testing.T) {
		a := first.ask(ctx, t, "talk forever")
		var here, there reader
		var reading sync.WaitGroup
		reading.Go(func() { here.watch(ctx, a, first) })
		reading.Go(func() { there.watch(ctx, a, second) })
		begun := time.Now()
		if _, err := second.runs.CancelRun(ctx, &pb.CancelRunRequest{RunId: a.run}); err != nil {
			t.Fatal(err)
		}
		reading.Wait()
		took := time.Since(begun)
		for i, r := range []*reader{&here, &there} {
			if r.Done["finish_reason"] != "cancelled" {
				t.Errorf("reader %d: %v %v", i, r.Done, r.Error)
			}
		}
		if took > 10*time.Second {
			t.Errorf("it ended %s after it was cancelled", took)
		}
		t.Logf("ended %s after it was cancelled through the other replica", took.Round(time.Millisecond))
	})
	d.stop()
}

func TestTwentyRunsGoOnWhenOneOfTwoReplicasIsKilled(t *testing.T) {
	d, hands := replicated(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, second := d.backend("orchestrator"), d.backend("orchestrator2")
	runs := make([]*asked, crowd)
	others, same := make([]reader, crowd), make([]reader, crowd)
	var asking, reading sync.WaitGroup
	for i := range runs {
		asking.Go(func() {
			by, other := first, second
			if i%2 == 1 {
				by, other = second, first
			}
			runs[i] = by.ask(ctx, t, fmt.Sprintf("run %d by %s", i, by.name))
			reading.Go(func() { others[i].watch(ctx, runs[i], other, by) })
			reading.Go(func() { same[i].watch(ctx, runs[i], by, other) })
		})
	}
	asking.Wait()
	until(t, "five runs have had their first effect", func() bool {
		n := 0
		for _, a := range runs {
			n += hands.Count(a.name + "/first")
		}
		return n >= 5
	})
	d.procs["orchestrator"].Kill()
	begun := time.Now()
	reading.Wait()
	took := time.Since(begun)
	if ctx.Err() != nil {
		t.Fatalf("not all runs ended within %s:\n%s", took, d.procs["orchestrator2"].Stderr())
	}
	// Who remains knows all.
	c := d.client()
	restarted, live, unbroken := 0, 0, 0
	for i, a := range runs {
		log := checkEnded(t, c, hands, a, &others[i], &same[i])
		restarted += len(log.Restarts)
		live += min(others[i].live, 1)
		if a.by == first && others[i].breaks == 0 {
			unbroken++
		}
	}
	if live != crowd {
		t.Errorf("%d of %d watchers on the other replica saw text live", live, crowd)
	}
	if unbroken != crowd/2 {
		t.Errorf("the connections of %d of %d watchers on the replica that lives held", unbroken, crowd/2)
	}
	t.Logf("all %d runs ended %s after one replica was killed; %d rounds begun anew", crowd, took.Round(100*time.Millisecond), restarted)
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	delete(d.procs, "orchestrator")
	d.stop()
}

// A process that is stopped holds its connections: who watches through it must
// not wait for them to break, and it must do no harm when it wakes up.
func TestAReplicaThatHangsIsTakenOverAndDoesNoHarmWhenItGoesOn(t *testing.T) {
	d, hands := replicated(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	first, second := d.backend("orchestrator"), d.backend("orchestrator2")
	runs, readers := make([]*asked, crowd/4), make([]reader, crowd/4)
	var reading sync.WaitGroup
	for i := range runs {
		runs[i] = first.ask(ctx, t, fmt.Sprint("run ", i))
		reading.Go(func() { readers[i].watch(ctx, runs[i], second) })
	}
	until(t, "a run has had its first effect", func() bool { return hands.Count(runs[0].name+"/first") == 1 })
	pid := d.procs["orchestrator"].Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	begun := time.Now()
	reading.Wait()
	if ctx.Err() != nil {
		t.Fatalf("not all runs ended:\n%s", d.procs["orchestrator2"].Stderr())
	}
	t.Logf("all %d runs ended %s after their owner was stopped", len(runs), time.Since(begun).Round(100*time.Millisecond))
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica that woke up gives its runs up", func() bool {
		return strings.Count(d.procs["orchestrator"].Stderr(), "its lease is lost") == len(runs)
	})
	c := d.client()
	for i, a := range runs {
		checkEnded(t, c, hands, a, &readers[i])
		if readers[i].breaks > 0 {
			t.Errorf("%s: the connection of its watcher broke", a.name)
		}
	}
	again := first.ask(ctx, t, "a run after it woke up")
	var r reader
	r.watch(ctx, again, second)
	checkEnded(t, c, hands, again, &r)
	d.stop()
}
