package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	orchestratorv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

type eventServer = grpc.ServerStreamingServer[orchestratorv1.RunEvent]

// event is one parsed server-sent event.
type event struct {
	id         int
	name, data string
}

// events reads a stream event by event. It fails on anything that is not whole:
// an event is an optional id line, an event line, one data line of JSON and an
// empty line.
type events struct {
	t testing.TB
	*bufio.Scanner
}

func readEvents(t testing.TB, body io.Reader) *events {
	s := bufio.NewScanner(body)
	s.Buffer(nil, 1<<22)
	return &events{t, s}
}

// next is the next event; false at the end of the stream.
func (e *events) next() (event, bool) {
	e.t.Helper()
	var ev event
	if !e.Scan() {
		return ev, false
	}
	line := e.Text()
	if id, ok := strings.CutPrefix(line, "id: "); ok {
		n, err := strconv.Atoi(id)
		if err != nil {
			e.t.Fatalf("id line %q", line)
		}
		ev.id = n
		if !e.Scan() {
			return ev, false
		}
		line = e.Text()
	}
	var ok bool
	if ev.name, ok = strings.CutPrefix(line, "event: "); !ok {
		e.t.Fatalf("line %q, want an event line", line)
	}
	if !e.Scan() {
		return ev, false
	}
	if ev.data, ok = strings.CutPrefix(e.Text(), "data: "); !ok || !json.Valid([]byte(ev.data)) {
		e.t.Fatalf("line %q, want a data line of JSON", e.Text())
	}
	if !e.Scan() {
		return ev, false
	}
	if e.Text() != "" {
		e.t.Fatalf("line %q, want the end of the event", e.Text())
	}
	return ev, true
}

// open starts a stream and checks that it is one.
func open(t testing.TB, r *http.Request) *http.Response {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		t.Fatalf("answer = %d %s %s", res.StatusCode, res.Header.Get("Content-Type"), b)
	}
	return res
}

func TestFramesOfAStream(t *testing.T) {
	b := &backend{stream: func(r *orchestratorv1.StreamMessageRequest, s eventServer) error {
		if r.GetConversationId() != "c1" || r.GetContent() != "hi" {
			return rpcerr.InvalidArgument("content", "unexpected")
		}
		return errors.Join(
			s.Send(startedEvent(1)),
			s.Send(textEvent(0, "a\n<b>\u2028 \"q\"", 0)),
			s.Send(&orchestratorv1.RunEvent{Seq: 2, Event: &orchestratorv1.RunEvent_ToolCall{ToolCall: &orchestratorv1.ToolCalls{
				Calls: []*orchestratorv1.ToolCall{{Id: "k", Type: "function", Function: &orchestratorv1.FunctionCall{Name: "web_search", Arguments: `{"query":"x"}`}}}, Round: 1,
			}}}),
			s.Send(&orchestratorv1.RunEvent{Seq: 3}), // an event that this gateway does not know
			s.Send(doneEvent(4)),
		)
	}}
	f := newFixture(t, b)
	const golden = "id: 1\nevent: run_started\ndata: " + `{"run_id":"r1","conversation_id":"","user_message_id":"","model":"","trace_id":""}` + "\n\n" +
		"event: message\ndata: " + `{"content":"a\n<b>` + "\u2028" + ` \"q\"","round":1,"offset":0}` + "\n\n" +
		"id: 2\nevent: tool_call\ndata: " + `{"calls":[{"id":"k","type":"function","function":{"name":"web_search","arguments":"{\"query\":\"x\"}"}}],"round":1}` + "\n\n" +
		"id: 4\nevent: done\ndata: " + `{"message_id":"m1","finish_reason":"stop","run_id":"r1","model":"glm-5"}` + "\n\n"
	for _, tc := range []struct{ name, path, body, accept string }{
		{"stream is the default", "/messages", `{"content":"hi"}`, ""},
		{"whatever the caller accepts", "/messages", `{"content":"hi","stream":true}`, "application/json"},
		{"also several types in one header", "/messages", `{"content":"hi","stream":null}`, "text/event-stream, */*"},
		{"the route of the contract itself", "/messages:stream", `{"content":"hi"}`, "text/event-stream"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := f.request(t, "POST", "/api/conversations/c1"+tc.path, tc.body)
			if tc.accept != "" {
				r.Header.Set("Accept", tc.accept)
			}
			res := open(t, r)
			got, err := io.ReadAll(res.Body)
			if err != nil || string(got) != golden {
				t.Errorf("stream =\n%s\nwant\n%s\n(%v)", got, golden, err)
			}
			for name, want := range map[string]string{"Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
				if res.Header.Get(name) != want {
					t.Errorf("%s = %q", name, res.Header.Get(name))
				}
			}
		})
	}
}

func TestAStreamThatFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		send    int
		err     error
		status  int
		reason  string
		last    string
		matters string
	}{
		{"before its first event is an ordinary failure", 0, rpcerr.New(codes.FailedPrecondition, "RUN_IN_PROGRESS", "a run lives").WithMeta("run_id", "r7"), 409, "RUN_IN_PROGRESS", "", `"run_id":"r7"`},
		{"also when nobody is to be found", 0, rpcerr.NotFound("run", "r1"), 404, "NOT_FOUND", "", ""},
		{"also when there is too much", 0, rpcerr.New(codes.ResourceExhausted, "QUEUE_FULL", "20 wait").WithRetry(3 * time.Second), 429, "QUEUE_FULL", "", ""},
		{"afterwards for good is the event error", 2, rpcerr.New(codes.PermissionDenied, "SCOPE_MISSING", "no"), 200, "", "error", `{"code":403,"reason":"SCOPE_MISSING","message":"no","retryable":false,"trace_id":""}`},
		{"afterwards for a while is bye", 2, rpcerr.New(codes.Unavailable, "DRAINING", "going down"), 200, "", "bye", `{"reason":"unavailable","resume":true}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
				for i := range tc.send {
					if err := s.Send(textEvent(0, "x", int32(i))); err != nil {
						return err
					}
				}
				return tc.err
			}}
			f := newFixture(t, b)
			r := f.request(t, "GET", "/api/runs/r1/events", "")
			if tc.status != 200 {
				got := do(t, r)
				mustFail(t, got, tc.status, tc.reason)
				if !strings.Contains(got.body, tc.matters) {
					t.Errorf("answer = %s, want %s in it", got.body, tc.matters)
				}
				if tc.status == 429 && got.Header.Get("Retry-After") != "3" {
					t.Errorf("Retry-After = %q", got.Header.Get("Retry-After"))
				}
				return
			}
			in := readEvents(t, open(t, r).Body)
			var last event
			n := 0
			for ev, ok := in.next(); ok; ev, ok = in.next() {
				last = ev
				n++
			}
			if n != tc.send+1 || last.name != tc.last || last.data != tc.matters || last.id != 0 {
				t.Errorf("%d events, the last %+v", n, last)
			}
		})
	}
}

func TestAStreamWithoutEventsIsStillAStream(t *testing.T) {
	f := newFixture(t, &backend{watch: func(*orchestratorv1.WatchRunRequest, eventServer) error { return nil }})
	res := open(t, f.request(t, "GET", "/api/runs/r1/events", ""))
	if b, err := io.ReadAll(res.Body); err != nil || len(b) != 0 {
		t.Errorf("body = %q, %v", b, err)
	}
}

func TestLastEventIDReachesTheService(t *testing.T) {
	f := newFixture(t, nil)
	for sent, want := range map[string]string{"17": "17", "0": "0", "": ""} {
		r := f.request(t, "GET", "/api/runs/r1/events?after_seq=3", "")
		r.Header.Set("Last-Event-ID", sent)
		_, _ = io.Copy(io.Discard, open(t, r).Body)
		if got := strings.Join(f.lastCall(t).md.Get("last-event-id"), "|"); got != want {
			t.Errorf("last-event-id for %q = %q", sent, got)
		}
	}
}

func TestARunReadOverTwentyDroppedConnections(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const total = 300
	var all strings.Builder
	for i := range total {
		fmt.Fprintf(&all, "piece %d; ", i)
	}
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		after := 0
		if md, ok := metadata.FromIncomingContext(s.Context()); ok && len(md.Get("last-event-id")) > 0 {
			after, _ = strconv.Atoi(md.Get("last-event-id")[0])
		}
		for i := after; i < total; i++ {
			if err := s.Send(textEvent(int32(i+1), fmt.Sprintf("piece %d; ", i), 0)); err != nil {
				return err
			}
		}
		return s.Send(doneEvent(total + 1))
	}}
	f := newFixture(t, b)
	var text strings.Builder
	last, drops := 0, 0
	for done := false; !done; {
		r := f.request(t, "GET", "/api/runs/r1/events", "")
		if last > 0 {
			r.Header.Set("Last-Event-ID", strconv.Itoa(last))
		}
		res := open(t, r)
		in := readEvents(t, res.Body)
		stopAfter := total * 2
		if drops < 20 {
			stopAfter = rng.IntN(total/20) + 1
		}
		for n := 0; n < stopAfter; n++ {
			ev, ok := in.next()
			if !ok {
				break
			}
			if ev.name == "done" {
				done = true
				break
			}
			if ev.id != last+1 {
				t.Fatalf("event %d follows event %d", ev.id, last)
			}
			last = ev.id
			var piece struct{ Content string }
			if err := json.Unmarshal([]byte(ev.data), &piece); err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Content)
		}
		res.Body.Close()
		if !done {
			drops++
		}
	}
	if drops < 20 {
		t.Fatalf("only %d drops", drops)
	}
	if text.String() != all.String() {
		t.Error("the text read over the drops is not the text that was written")
	}
}

func TestClosingAStreamEndsTheCallOfTheService(t *testing.T) {
	ended := make(chan error, 1)
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		if err := s.Send(startedEvent(1)); err != nil {
			return err
		}
		<-s.Context().Done()
		ended <- s.Context().Err()
		return s.Context().Err()
	}}
	f := newFixture(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	res := open(t, f.request(t, "GET", "/api/runs/r1/events", "").WithContext(ctx))
	if ev, ok := readEvents(t, res.Body).next(); !ok || ev.name != "run_started" {
		t.Fatalf("first event = %+v", ev)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestPingsComeInSilenceAndNeverInsideAnEvent(t *testing.T) {
	const sent = 200
	quiet := make(chan struct{})
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		for i := range sent {
			if err := s.Send(textEvent(int32(i+1), strings.Repeat("x", 5000), 0)); err != nil {
				return err
			}
		}
		<-quiet
		return s.Send(doneEvent(sent + 1))
	}}
	f := newFixture(t, b, func(c *gateway.Config, _ *gateway.Deps) { c.PingInterval = 20 * time.Microsecond })
	in := readEvents(t, open(t, f.request(t, "GET", "/api/runs/r1/events", "")).Body)
	pieces, pings, afterAll, last := 0, 0, 0, 0
	for ev, ok := in.next(); ok; ev, ok = in.next() { // next fails on anything torn
		last = max(last, ev.id)
		switch ev.name {
		case "ping":
			pings++
			if want := fmt.Sprintf(`{"last_seq":%d}`, last); ev.data != want || ev.id != 0 {
				t.Fatalf("ping = %+v, want %s", ev, want)
			}
			if pieces == sent {
				if afterAll++; afterAll == 3 {
					close(quiet)
				}
			}
		case "message":
			pieces++
		}
	}
	if pieces != sent || pings < 3 {
		t.Errorf("%d pieces, %d pings", pieces, pings)
	}
}

func TestAnEventIsSentAtOnce(t *testing.T) {
	next := make(chan struct{})
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		for i := range 5 {
			if err := s.Send(textEvent(int32(i+1), "x", 0)); err != nil {
				return err
			}
			<-next // the next is only sent when the reader has this one
		}
		return nil
	}}
	f := newFixture(t, b)
	in := readEvents(t, open(t, f.request(t, "GET", "/api/runs/r1/events", "")).Body)
	for i := range 5 {
		if ev, ok := in.next(); !ok || ev.id != i+1 {
			t.Fatalf("event %d = %+v", i, ev)
		}
		next <- struct{}{}
	}
}

func TestDrainSaysByeAndEndsStreams(t *testing.T) {
	var ended sync.WaitGroup
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		defer ended.Done()
		if err := s.Send(startedEvent(1)); err != nil {
			return err
		}
		<-s.Context().Done()
		return s.Context().Err()
	}}
	f := newFixture(t, b)
	const readers = 5
	ended.Add(readers)
	var streams []*events
	for range readers {
		in := readEvents(t, open(t, f.request(t, "GET", "/api/runs/r1/events", "")).Body)
		if ev, ok := in.next(); !ok || ev.name != "run_started" {
			t.Fatalf("first event = %+v", ev)
		}
		streams = append(streams, in)
	}
	f.gw.Drain()
	f.gw.Drain()
	for _, in := range streams {
		if ev, ok := in.next(); !ok || ev.name != "bye" || ev.data != `{"reason":"drain","resume":true}` {
			t.Errorf("last event = %+v, %v", ev, ok)
		}
		if ev, ok := in.next(); ok {
			t.Errorf("an event follows bye: %+v", ev)
		}
	}
	ended.Wait()
	got := do(t, f.request(t, "GET", "/api/runs/r1/events", ""))
	mustFail(t, got, 503, "DRAINING")
	if got.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After = %q", got.Header.Get("Retry-After"))
	}
	mustFail(t, do(t, f.request(t, "GET", "/readyz", "")), 503, "DRAINING")
	if got := do(t, f.request(t, "GET", "/healthz", "")); got.StatusCode != 200 {
		t.Errorf("healthz while draining = %d", got.StatusCode)
	}
	if got := do(t, f.request(t, "GET", "/api/conversations", "")); got.StatusCode != 200 {
		t.Errorf("an ordinary request while draining = %d", got.StatusCode)
	}
}

func TestAReaderThatDoesNotReadIsCutOff(t *testing.T) {
	ended := make(chan struct{})
	b := &backend{watch: func(_ *orchestratorv1.WatchRunRequest, s eventServer) error {
		defer close(ended)
		big := strings.Repeat("x", 1<<20)
		for i := 0; ; i++ {
			if err := s.Send(textEvent(int32(i+1), big, 0)); err != nil {
				return err
			}
		}
	}}
	f := newFixture(t, b, func(c *gateway.Config, _ *gateway.Deps) { c.EventWriteTimeout = 500 * time.Millisecond })
	res := open(t, f.request(t, "GET", "/api/runs/r1/events", ""))
	<-ended // although nobody reads
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the connection of a reader that was cut off ended well")
	}
}
