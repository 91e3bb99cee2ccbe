package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
)

// beViewer watches a run many times over SSE, prints a line when all streams are
// open, and holds them until it is told to end.
func beViewer(ctx context.Context, args []string) error {
	ctx, cancel := untilStdinEnds(ctx)
	defer cancel()
	flags := flag.NewFlagSet("view", flag.ContinueOnError)
	web := flags.String("web", "", "the suite's HTTP address")
	runID := flags.String("run", "", "the run to watch")
	token := flags.String("token", "", "whose it is")
	streams := flags.Int("streams", 1, "how many")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &reader{web: *web, http: &http.Client{Transport: &http.Transport{}}}
	failed := make(chan error, *streams)
	var opened, all sync.WaitGroup
	opened.Add(*streams)
	pace := time.NewTicker(viewEvery)
	defer pace.Stop()
	for range *streams {
		<-pace.C
		all.Go(func() {
			res, err := r.do(ctx, http.MethodGet, "/api/runs/"+*runID+"/events", *token, "")
			if err != nil {
				failed <- err
				cancel()
				return
			}
			defer res.Body.Close()
			lines := bufio.NewReaderSize(res.Body, 1<<10)
			if _, err := lines.ReadSlice('\n'); err != nil {
				failed <- err
				cancel()
				return
			}
			opened.Done()
			_, _ = io.Copy(io.Discard, lines)
		})
	}
	go func() {
		opened.Wait()
		fmt.Println("open")
	}()
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// viewEvery keeps a user below the limit of calls a second.
const viewEvery = time.Second / 90

// viewing measures what a stream costs whose reader only waits: memory and
// goroutines, with many that watch one run over SSE.
func (b *bench) viewing(ctx context.Context) error {
	provider, err := startProvider(ctx)
	if err != nil {
		return err
	}
	defer provider.stop()
	s, err := b.serve(ctx, provider.url()+"/v1")
	if err != nil {
		return err
	}
	defer s.stop()
	tokens, err := readTokens(s.tokenFile)
	if err != nil {
		return err
	}
	conn, err := dial(s.grpc)
	if err != nil {
		return err
	}
	defer conn.Close()
	r := &reader{conn: conn, tokens: tokens}
	runID, err := r.startRun(ctx)
	if err != nil {
		return err
	}
	if err := provider.await(ctx, 1); err != nil {
		return err
	}
	before, goroutinesBefore, err := s.idle(ctx)
	if err != nil {
		return err
	}
	n := b.plan.watchers
	v, err := role(ctx, "view", "-web", s.http, "-run", runID, "-token", tokens[0], "-streams", fmt.Sprint(n))
	if err != nil {
		return err
	}
	defer v.stop()
	after, goroutinesAfter, err := s.idle(ctx)
	if err != nil {
		return err
	}
	each := float64(after.rss-before.rss) / float64(n)
	return printAll(
		figure{Bench: fmt.Sprintf("sse viewers=%d", n), Metric: "rss a stream", Value: each / kibibyte, Unit: "KiB"},
		figure{Bench: fmt.Sprintf("sse viewers=%d", n), Metric: "streams", Value: gibibyte / each, Unit: "1/GiB"},
		figure{Bench: fmt.Sprintf("sse viewers=%d", n), Metric: "goroutines a stream", Value: float64(goroutinesAfter-goroutinesBefore) / float64(n), Unit: "goroutines"},
	)
}

// startRun starts a run of the first user and leaves it alone.
func (r *reader) startRun(ctx context.Context) (id string, err error) {
	conversation, token, err := r.conversation(ctx, 0)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := pb.NewConversationServiceClient(r.conn).StreamMessage(withToken(ctx, token), &pb.StreamMessageRequest{ConversationId: conversation, Content: "Begin."})
	if err != nil {
		return "", err
	}
	e, err := s.Recv()
	if err == nil && e.GetRunStarted() == nil {
		err = fmt.Errorf("a run begins with %v", e)
	}
	return e.GetRunStarted().GetRunId(), err
}
