package toolkit

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
)

// watcher is a stream to a provider without a network, so that a test can own
// the clock.
type watcher struct {
	grpc.ServerStream
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	progress []string
	result   *toolv1.Result
	err      error
	done     chan struct{}
}

func (w *watcher) Context() context.Context { return w.ctx }

func (w *watcher) Send(msg *toolv1.CallToolResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := msg.GetProgress(); p != nil && !isFirstMessage(p) {
		w.progress = append(w.progress, p.GetMessage())
	}
	if r := msg.GetResult(); r != nil {
		w.result = r
	}
	return nil
}

// watchCall calls the tool "echo" for a user in a goroutine.
func watchCall(p *Provider, user, args, key string) *watcher {
	ctx, stop := context.WithCancel(metadata.NewIncomingContext(context.Background(), metadata.Pairs(MetadataUser, user)))
	w := &watcher{ctx: ctx, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer stop()
		w.err = p.CallTool(request(args, key), w)
	}()
	return w
}

// end waits for the stream to end and gives its result's text, or its error.
func (w *watcher) end() (string, error) {
	<-w.done
	return w.result.GetContentJson(), w.err
}

// gated is a tool that works until it is let go, and counts its runs.
type gated struct {
	runs atomic.Int32
	gate chan struct{}
	seen chan error // what ended each run
}

func (g *gated) run(ctx context.Context, call *Call, in echoIn) (Result, error) {
	g.runs.Add(1)
	call.Progress("at work", 1, 2)
	select {
	case <-g.gate:
		return JSON(in.Text), nil
	case <-ctx.Done():
		g.seen <- ctx.Err()
		return Result{}, ctx.Err()
	}
}

// bubble runs a test on its own clock with a provider of one tool: run, or a
// gated one.
func bubble(t *testing.T, tool Tool, run handler, test func(t *testing.T, p *Provider, g *gated)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &gated{gate: make(chan struct{}), seen: make(chan error, 8)}
		if run == nil {
			run = g.run
		}
		p := New(Config{Logger: quiet(), KeyStore: NewMemoryKeyStore(MemoryKeyStoreConfig{}), MaxCalls: 3})
		if err := Add(p, tool, run); err != nil {
			t.Fatal(err)
		}
		test(t, p, g)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

func asUser(user string) context.Context {
	return metadata.NewIncomingContext(context.Background(), metadata.Pairs(MetadataUser, user))
}

func stateOf(t *testing.T, p *Provider, user, key string) *toolv1.GetCallResponse {
	t.Helper()
	got, err := p.GetCall(asUser(user), &toolv1.GetCallRequest{Name: "echo", EffectKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAKeyedCallOutlivesItsStreamAndIsAttachedTo(t *testing.T) {
	bubble(t, echoTool(EffectKeyed), nil, func(t *testing.T, p *Provider, g *gated) {
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "unknown" {
			t.Errorf("state before is %q", got.GetState())
		}
		first := watchCall(p, "ann", `{"text":"a"}`, "k")
		synctest.Wait()
		first.stop()
		if _, err := first.end(); status.Code(err) != codes.Canceled {
			t.Errorf("the stopped stream ends with %v", err)
		}
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "running" {
			t.Errorf("state after the stream is %q, want running", got.GetState())
		}

		second := watchCall(p, "ann", `{ "text" : "a" }`, "k") // the same arguments, written otherwise
		third := watchCall(p, "ann", `{"text":"a"}`, "k")
		synctest.Wait()
		close(g.gate)
		for _, w := range []*watcher{second, third} {
			if got, err := w.end(); got != `"a"` || err != nil {
				t.Errorf("an attached stream gets %s, %v", got, err)
			}
			if strings.Join(w.progress, "|") != "at work" {
				t.Errorf("an attached stream sees progress %q", w.progress)
			}
		}
		if got, err := watchCall(p, "ann", `{"text":"a"}`, "k").end(); got != `"a"` || err != nil {
			t.Errorf("a later call gets %s, %v; want the stored result", got, err)
		}
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "finished" || got.GetResult().GetContentJson() != `"a"` {
			t.Errorf("state at the end is %v", got)
		}
		if g.runs.Load() != 1 {
			t.Errorf("the tool ran %d times, want once", g.runs.Load())
		}
	})
}

func TestOtherArgumentsUnderOneKeyAreAborted(t *testing.T) {
	bubble(t, echoTool(EffectKeyed), nil, func(t *testing.T, p *Provider, g *gated) {
		first := watchCall(p, "ann", `{"text":"a"}`, "k")
		synctest.Wait()
		_, err := watchCall(p, "ann", `{"text":"b"}`, "k").end()
		wantStatus(t, err, codes.Aborted, ReasonKeyReused) // while it runs
		close(g.gate)
		if got, err := first.end(); got != `"a"` || err != nil {
			t.Errorf("the first call gets %s, %v", got, err)
		}
		_, err = watchCall(p, "ann", `{"text":"b"}`, "k").end()
		wantStatus(t, err, codes.Aborted, ReasonKeyReused) // and after it
	})
}

func TestOneKeyOfTwoCallersIsTwoCalls(t *testing.T) {
	bubble(t, echoTool(EffectKeyed), nil, func(t *testing.T, p *Provider, g *gated) {
		close(g.gate)
		for _, user := range []string{"ann", "bob"} {
			if got, err := watchCall(p, user, `{"text":"`+user+`"}`, "k").end(); got != `"`+user+`"` || err != nil {
				t.Errorf("%s gets %s, %v", user, got, err)
			}
		}
		if g.runs.Load() != 2 {
			t.Errorf("the tool ran %d times, want twice", g.runs.Load())
		}
	})
}

func TestAKeyedCallNeedsItsKey(t *testing.T) {
	bubble(t, echoTool(EffectQueryable), echo, func(t *testing.T, p *Provider, _ *gated) {
		for _, key := range []string{"", strings.Repeat("k", 129)} {
			_, err := watchCall(p, "ann", `{}`, key).end()
			wantStatus(t, err, codes.InvalidArgument, ReasonEffectKeyRequired)
		}
	})
}

func TestCancelCallEndsAKeyedCall(t *testing.T) {
	bubble(t, echoTool(EffectQueryable), nil, func(t *testing.T, p *Provider, g *gated) {
		w := watchCall(p, "ann", `{}`, "k")
		synctest.Wait()
		cancel := func(user string) {
			if _, err := p.CancelCall(asUser(user), &toolv1.CancelCallRequest{Name: "echo", EffectKey: "k"}); err != nil {
				t.Fatal(err)
			}
		}
		cancel("bob") // not his
		synctest.Wait()
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "running" {
			t.Errorf("another caller's cancel changed the state to %q", got.GetState())
		}
		cancel("ann")
		_, err := w.end()
		if reason, _ := failureOf(t, outcomeOf(w.result)); err != nil || reason != ReasonCancelled {
			t.Errorf("got %s, %v", reason, err)
		}
		cancel("ann") // finished: no error
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "finished" || !got.GetResult().GetIsError() {
			t.Errorf("state after the cancel is %v", got)
		}
	})
}

func outcomeOf(r *toolv1.Result) Outcome {
	return Outcome{ContentJSON: r.GetContentJson(), IsError: r.GetIsError()}
}

func TestTheTimeoutIsAResult(t *testing.T) {
	for _, c := range []struct {
		effect    Effect
		retryable bool
	}{{EffectPure, true}, {EffectOpaque, false}, {EffectKeyed, false}} {
		t.Run(string(c.effect), func(t *testing.T) {
			tool := echoTool(c.effect)
			tool.Timeout = 40 * time.Second
			bubble(t, tool, nil, func(t *testing.T, p *Provider, g *gated) {
				start := time.Now()
				w := watchCall(p, "ann", `{}`, "k")
				if _, err := w.end(); err != nil {
					t.Fatal(err)
				}
				reason, retryable := failureOf(t, outcomeOf(w.result))
				if reason != ReasonTimeout || retryable != c.retryable || time.Since(start) != 40*time.Second {
					t.Errorf("got %s retryable %t after %s", reason, retryable, time.Since(start))
				}
			})
		})
	}
}

func TestADeadlineOfTheCallerIsTheTimeout(t *testing.T) {
	bubble(t, echoTool(EffectKeyed), nil, func(t *testing.T, p *Provider, g *gated) {
		ctx, stop := context.WithTimeout(asUser("ann"), 3*time.Minute)
		w := &watcher{ctx: ctx, stop: stop}
		defer stop()
		err := p.CallTool(request(`{}`, "k"), w)
		synctest.Wait()
		if err != nil && status.Code(err) != codes.DeadlineExceeded {
			t.Fatal(err)
		}
		got := stateOf(t, p, "ann", "k")
		if reason, _ := failureOf(t, outcomeOf(got.GetResult())); reason != ReasonTimeout {
			t.Errorf("the call ended with %s", reason)
		}
	})
}

func TestAToolThatDoesNotStopIsNotWaitedFor(t *testing.T) {
	var gate chan struct{}
	deaf := func(context.Context, *Call, echoIn) (Result, error) { <-gate; return JSON(1), nil }
	bubble(t, echoTool(EffectPure), deaf, func(t *testing.T, p *Provider, _ *gated) {
		gate = make(chan struct{}) // of the bubble
		for range 3 {              // MaxCalls of the provider
			w := watchCall(p, "ann", `{}`, "")
			if _, err := w.end(); err != nil {
				t.Fatal(err)
			}
			if reason, _ := failureOf(t, outcomeOf(w.result)); reason != ReasonTimeout {
				t.Errorf("got %s", reason)
			}
		}
		_, err := watchCall(p, "ann", `{}`, "").end()
		wantStatus(t, err, codes.ResourceExhausted, ReasonTooManyCalls) // each still holds its place
		close(gate)
		synctest.Wait()
		if got, err := watchCall(p, "ann", `{}`, "").end(); got != "1" || err != nil {
			t.Errorf("after they are back: %s, %v", got, err)
		}
	})
}

func TestAPureCallEndsWithItsStream(t *testing.T) {
	bubble(t, echoTool(EffectPure), nil, func(t *testing.T, p *Provider, g *gated) {
		w := watchCall(p, "ann", `{}`, "k")
		synctest.Wait()
		w.stop()
		if err := <-g.seen; !errors.Is(err, context.Canceled) {
			t.Errorf("the tool saw %v", err)
		}
		<-w.done
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "unknown" {
			t.Errorf("a pure call has state %q", got.GetState())
		}
	})
}

func TestProgressIsCoalesced(t *testing.T) {
	run := func(_ context.Context, call *Call, _ echoIn) (Result, error) {
		for range 1000 {
			call.Progress("early", 0, 0)
		}
		call.Progress("middle", 0, 0)
		time.Sleep(progressInterval)
		call.Progress("late\xff", 0, 0)
		time.Sleep(progressInterval)
		return JSON(1), nil
	}
	bubble(t, echoTool(EffectPure), run, func(t *testing.T, p *Provider, _ *gated) {
		w := watchCall(p, "ann", `{}`, "")
		if _, err := w.end(); err != nil {
			t.Fatal(err)
		}
		if n := len(w.progress); n < 2 || n > 3 || w.progress[n-1] != "late\uFFFD" {
			t.Errorf("progress is %q", w.progress)
		}
	})
}

func TestAStatusFreesTheKeyAndAPanicLosesTheCall(t *testing.T) {
	answers := []func() (Result, error){
		func() (Result, error) { return Result{}, StatusError(codes.Unavailable, "BUSY", "later") },
		func() (Result, error) { panic("boom") },
	}
	run := func(context.Context, *Call, echoIn) (Result, error) {
		next := answers[0]
		answers = answers[1:]
		return next()
	}
	bubble(t, echoTool(EffectKeyed), run, func(t *testing.T, p *Provider, _ *gated) {
		_, err := watchCall(p, "ann", `{}`, "k").end()
		wantStatus(t, err, codes.Unavailable, "BUSY")
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "unknown" {
			t.Errorf("after a status the state is %q", got.GetState())
		}
		_, err = watchCall(p, "ann", `{}`, "k").end()
		wantStatus(t, err, codes.Internal, ReasonInternal)
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "lost" {
			t.Errorf("after a panic the state is %q", got.GetState())
		}
		_, err = watchCall(p, "ann", `{}`, "k").end()
		wantStatus(t, err, codes.Aborted, ReasonCallLost)
	})
}

func TestCloseEndsCallsAndRefusesNewOnes(t *testing.T) {
	bubble(t, echoTool(EffectKeyed), nil, func(t *testing.T, p *Provider, g *gated) {
		w := watchCall(p, "ann", `{}`, "k")
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := w.end()
		wantStatus(t, err, codes.Unavailable, ReasonShuttingDown)
		if got := stateOf(t, p, "ann", "k"); got.GetState() != "lost" {
			t.Errorf("state is %q, want lost", got.GetState())
		}
		_, err = watchCall(p, "ann", `{}`, "k2").end()
		wantStatus(t, err, codes.Unavailable, ReasonShuttingDown)
	})
}

// stubStore answers as a store that several processes share.
type stubStore struct {
	KeyStore
	known Record
	err   error
}

func (s stubStore) Begin(context.Context, Key, string) (Record, bool, error) {
	return s.known, false, s.err
}
func (s stubStore) Get(context.Context, Key) (Record, error) { return s.known, s.err }

func TestWhatTheStoreKnowsDecides(t *testing.T) {
	hash := Hash([]byte(`{}`))
	for _, c := range []struct {
		name   string
		store  stubStore
		code   codes.Code
		reason string
	}{
		{"runs elsewhere", stubStore{known: Record{State: StateRunning, ArgsHash: hash}}, codes.Unavailable, ReasonCallRunsElsewhere},
		{"lost", stubStore{known: Record{State: StateLost, ArgsHash: hash}}, codes.Aborted, ReasonCallLost},
		{"other arguments", stubStore{known: Record{State: StateRunning, ArgsHash: "x"}}, codes.Aborted, ReasonKeyReused},
		{"fails", stubStore{err: errors.New("disk on fire")}, codes.Unavailable, ReasonKeyStore},
		{"is full", stubStore{err: ErrKeyStoreFull}, codes.ResourceExhausted, ReasonKeyStore},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, client := serve(t, Config{KeyStore: c.store}, echoTool(EffectKeyed), func(context.Context, *Call, echoIn) (Result, error) {
				t.Error("the tool ran")
				return JSON(1), nil
			})
			_, err := Invoke(t.Context(), client, request(`{}`, "k"), InvokeOptions{})
			wantStatus(t, err, c.code, c.reason)
			if strings.Contains(err.Error(), "fire") {
				t.Errorf("the store's words leak: %v", err)
			}
		})
	}
}

func TestMemoryKeyStoreForgetsAfterItsTimeAndNotBefore(t *testing.T) {
	now := time.Unix(0, 0)
	m := NewMemoryKeyStore(MemoryKeyStoreConfig{MaxEntries: 2, MaxBytes: 10, Now: func() time.Time { return now }})
	ctx := t.Context()
	begin := func(key string) error {
		_, _, err := m.Begin(ctx, Key{EffectKey: key}, "h")
		return err
	}
	finish := func(key, content string) {
		if err := m.Finish(ctx, Key{EffectKey: key}, Record{State: StateFinished, Result: &StoredResult{ContentJSON: content}}); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(begin("a"), begin("b")); err != nil {
		t.Fatal(err)
	}
	if err := begin("c"); !errors.Is(err, ErrKeyStoreFull) {
		t.Errorf("a third key: %v", err)
	}
	finish("a", "1")
	now = now.Add(DefaultKeyTTL)
	if rec, _ := m.Get(ctx, Key{EffectKey: "a"}); rec.State != StateFinished || rec.ArgsHash != "h" {
		t.Errorf("at 7 days: %+v", rec)
	}
	now = now.Add(1)
	if rec, _ := m.Get(ctx, Key{EffectKey: "a"}); rec.State != StateUnknown {
		t.Errorf("after 7 days: %+v", rec)
	}
	if rec, _ := m.Get(ctx, Key{EffectKey: "b"}); rec.State != StateRunning {
		t.Errorf("a running call is %+v; it never expires", rec)
	}
	finish("b", "0123456789")
	if err := begin("d"); !errors.Is(err, ErrKeyStoreFull) {
		t.Errorf("over MaxBytes: %v", err)
	}
	now = now.Add(DefaultKeyTTL + 1)
	if err := begin("d"); err != nil {
		t.Errorf("after all is forgotten: %v", err)
	}
	if err := m.Finish(ctx, Key{EffectKey: "nobody"}, Record{State: StateLost}); err == nil {
		t.Error("finishing what was not begun is no error")
	}
}
