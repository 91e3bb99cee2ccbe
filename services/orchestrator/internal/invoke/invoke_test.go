package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/idempotency"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = auth.UserPrincipal("usr_ann", "tools")

// world is an invoker over a real database and a provider with the tools read,
// send (egress), write (asks), run (executes, approved), off and hang.
type world struct {
	*Invoker
	t     *testing.T
	calls atomic.Int32
	// do is what every tool does; nil: it echoes.
	do tooltest.Run
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Service: "orchestrator", Path: filepath.Join(t.TempDir(), "o.db"), Migrations: schema.Migrations()})
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(db.Close(), bucket.Close()); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t}
	p := tooltest.Provider(t)
	for name, sink := range map[string]toolkit.Sink{
		"read": toolkit.SinkRead, "off": toolkit.SinkRead, "send": toolkit.SinkEgress, "write": toolkit.SinkWrite, "run": toolkit.SinkExec,
	} {
		tool := tooltest.Tool(name)
		tool.Sink = sink
		if sink != toolkit.SinkRead {
			tool.Effect = toolkit.EffectKeyed
		}
		tooltest.Add(t, p, tool, func(ctx context.Context, call *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
			w.calls.Add(1)
			if w.do != nil {
				return w.do(ctx, call, in)
			}
			return tooltest.Echo(ctx, call, in)
		})
	}
	tools := registry.New([]*registry.Provider{{Name: "own", Client: tooltest.Serve(t, p)}},
		registry.Policy{Enabled: []string{"read", "send", "write", "run"}, AutoApprove: []string{"run"}}, slog.New(slog.DiscardHandler))
	if err := tools.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Invoker = &Invoker{
		Runs: &run.Store{DB: db, Now: time.Now}, Results: &result.Keeper{Bucket: bucket}, Tools: tools, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	return w
}

const tea = `{"text":"tea"}`

func key(k string) idempotency.Key {
	return idempotency.Key{Route: "invoke/x", Key: k, BodySHA256: "body"}
}

// stored reads a call as it is in the database.
func (w *world) stored(id string) schema.ToolCall {
	w.t.Helper()
	c, err := w.Runs.Call(context.Background(), ann.UserID, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestACallIsMadeAndRecorded(t *testing.T) {
	w := newWorld(t)
	c, err := w.Do(t.Context(), ann, Request{Name: "read", Arguments: ` {"top":2, "text":"tea"} `})
	if err != nil {
		t.Fatal(err)
	}
	if c.State != schema.CallDone || c.IsError || !strings.Contains(c.Result, `"text":"tea"`) || c.RunID != "" || c.ArgsCanonical != `{"text":"tea","top":2}` || c.ArgsSHA256 != toolkit.Hash([]byte(c.ArgsCanonical)) {
		t.Errorf("%+v", c)
	}
	if got := w.stored(c.ID); got.Result != c.Result || got.State != c.State || got.EndedAt == 0 || got.Attempt != 1 || got.Decision != "allow" || got.EffectKey == "" {
		t.Errorf("stored %+v", got)
	}
	if _, err := w.Runs.Call(t.Context(), "usr_bob", c.ID); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("another user reads it: %v", err)
	}
}

func TestAFailureOfTheToolIsAResult(t *testing.T) {
	w := newWorld(t)
	w.do = func(context.Context, *toolkit.Call, tooltest.Input) (toolkit.Result, error) {
		return toolkit.Fail("NO_TEA", "out of tea", false), nil
	}
	c, err := w.Do(t.Context(), ann, Request{Name: "read", Arguments: tea})
	if err != nil || !c.IsError || c.State != schema.CallDone || !strings.Contains(c.Result, "NO_TEA") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestCallsThatAreRefused(t *testing.T) {
	cases := []struct {
		name   string
		req    Request
		code   codes.Code
		reason string
		field  string
		words  string
	}{
		{"an unknown tool", Request{Name: "reed", Arguments: tea}, codes.NotFound, "UNKNOWN_TOOL", "", "Did you mean read?"},
		{"a tool that is turned off", Request{Name: "off", Arguments: tea}, codes.FailedPrecondition, "TOOL_DISABLED", "", "tools.enabled"},
		{"a value of another type", Request{Name: "read", Arguments: `{"text":"tea","top":"2"}`}, codes.InvalidArgument, "BAD_ARGUMENTS", "arguments.top", "integer"},
		{"a value that is missing", Request{Name: "read", Arguments: `{}`}, codes.InvalidArgument, "BAD_ARGUMENTS", "arguments.text", "required"},
		{"a value that nobody asked for", Request{Name: "read", Arguments: `{"text":"tea","milk":true}`}, codes.InvalidArgument, "BAD_ARGUMENTS", "arguments.milk", "milk"},
		{"arguments that are no object", Request{Name: "read", Arguments: `[]`}, codes.InvalidArgument, "BAD_ARGUMENTS", "arguments", "object"},
		{"arguments that are not JSON", Request{Name: "read", Arguments: `{"text":`}, codes.InvalidArgument, "BAD_ARGUMENTS", "arguments", "JSON"},
		{"an effect without a key", Request{Name: "send", Arguments: tea}, codes.InvalidArgument, "IDEMPOTENCY_KEY_REQUIRED", "Idempotency-Key", "(egress)"},
		{"an approved effect without a key", Request{Name: "run", Arguments: tea}, codes.InvalidArgument, "IDEMPOTENCY_KEY_REQUIRED", "Idempotency-Key", "(exec)"},
		{"a tool that asks", Request{Name: "write", Arguments: tea, Key: key("k")}, codes.Aborted, "APPROVAL_REQUIRED", "", "confirm_args_sha256"},
		{"a yes to other arguments", Request{Name: "write", Arguments: tea, Key: key("k"), Confirm: toolkit.Hash([]byte(`{"text":"milk"}`))}, codes.Aborted, "APPROVAL_REQUIRED", "", ""},
	}
	w := newWorld(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Do(t.Context(), ann, c.req)
			s := rpcerr.From(err)
			if s.Code() != c.code || rpcerr.Reason(err) != c.reason || !strings.Contains(s.Message(), c.words) {
				t.Fatalf("%v", err)
			}
			if got := fieldOf(s); got != c.field {
				t.Errorf("field %q, want %q", got, c.field)
			}
		})
	}
	if n := w.calls.Load(); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

func fieldOf(s *status.Status) string {
	for _, d := range s.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok && len(bad.FieldViolations) == 1 {
			return bad.FieldViolations[0].Field
		}
	}
	return ""
}

func metaOf(err error, name string) string {
	for _, d := range rpcerr.From(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.Metadata[name]
		}
	}
	return ""
}

func TestAYesIsToExactlyTheseArguments(t *testing.T) {
	w := newWorld(t)
	req := Request{Name: "write", Arguments: tea, Key: key("k")}
	_, err := w.Do(t.Context(), ann, req)
	hash := metaOf(err, "args_sha256")
	if hash != toolkit.Hash([]byte(tea)) {
		t.Fatalf("args_sha256 %q of %v", hash, err)
	}
	req.Confirm, req.Arguments = hash, ` { "text" : "tea" } ` // the same, written otherwise
	c, err := w.Do(t.Context(), ann, req)
	if err != nil || c.State != schema.CallDone || c.Decision != "ask" {
		t.Errorf("%+v, %v", c, err)
	}
	req.Arguments, req.Key = `{"text":"milk"}`, key("l")
	if _, err := w.Do(t.Context(), ann, req); rpcerr.Reason(err) != "APPROVAL_REQUIRED" {
		t.Errorf("a yes was taken for other arguments: %v", err)
	}
	if n := w.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestARepeatedRequestHasItsEffectOnce(t *testing.T) {
	w := newWorld(t)
	first, err := w.Do(t.Context(), ann, Request{Name: "send", Arguments: tea, Key: key("k")})
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.Do(t.Context(), ann, Request{Name: "send", Arguments: tea, Key: key("k")})
	if err != nil || again.ID != first.ID || again.Result != first.Result {
		t.Errorf("%+v, %v", again, err)
	}
	other := key("k")
	other.BodySHA256 = "other body"
	if _, err := w.Do(t.Context(), ann, Request{Name: "send", Arguments: `{"text":"milk"}`, Key: other}); !errors.Is(err, idempotency.ErrReused) {
		t.Errorf("another body: %v", err)
	}
	if c, err := w.Do(t.Context(), auth.UserPrincipal("usr_bob"), Request{Name: "send", Arguments: tea, Key: key("k")}); err != nil || c.ID == first.ID {
		t.Errorf("another user with the same key: %+v, %v", c, err)
	}
	if n := w.calls.Load(); n != 2 {
		t.Errorf("%d calls", n)
	}
}

func TestARepeatedRequestWaitsForTheRunningCall(t *testing.T) {
	w := newWorld(t)
	begun, go_ := make(chan struct{}), make(chan struct{})
	w.do = func(ctx context.Context, call *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
		close(begun)
		<-go_
		return tooltest.Echo(ctx, call, in)
	}
	req := Request{Name: "send", Arguments: tea, Key: key("k")}
	type answer struct {
		c   schema.ToolCall
		err error
	}
	ask := func() chan answer {
		out := make(chan answer, 1)
		go func() {
			c, err := w.Do(context.Background(), ann, req)
			out <- answer{c, err}
		}()
		return out
	}
	first := ask()
	<-begun
	second := ask()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Do(impatient, ann, req); !errors.Is(err, context.Canceled) {
		t.Errorf("who attaches and leaves: %v", err)
	}
	close(go_)
	a, b := <-first, <-second
	if a.err != nil || b.err != nil || a.c.ID != b.c.ID || b.c.State != schema.CallDone || b.c.Result != a.c.Result {
		t.Errorf("%+v and %+v", a, b)
	}
	if n := w.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestACallWithAKeyGoesOnWhenItsCallerLeaves(t *testing.T) {
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	w.do = func(inner context.Context, call *toolkit.Call, in tooltest.Input) (toolkit.Result, error) {
		leave()
		select {
		case <-inner.Done():
			return toolkit.Result{}, inner.Err()
		case <-time.After(50 * time.Millisecond):
		}
		return tooltest.Echo(inner, call, in)
	}
	req := Request{Name: "send", Arguments: tea, Key: key("k")}
	first, _ := w.Do(ctx, ann, req)
	if got := w.stored(first.ID); got.State != schema.CallDone || got.IsError || !strings.Contains(got.Result, "tea") {
		t.Errorf("stored %+v", got)
	}
	if again, err := w.Do(t.Context(), ann, req); err != nil || again.ID != first.ID || again.IsError {
		t.Errorf("asked again: %+v, %v", again, err)
	}
}

func TestACallWithoutAKeyEndsWithItsCaller(t *testing.T) {
	w := newWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	w.do = func(inner context.Context, _ *toolkit.Call, _ tooltest.Input) (toolkit.Result, error) {
		leave()
		<-inner.Done()
		return toolkit.Result{}, inner.Err()
	}
	c, _ := w.Do(ctx, ann, Request{Name: "read", Arguments: tea})
	if got := w.stored(c.ID); got.State != schema.CallCancelled || !got.IsError || got.EndedAt == 0 {
		t.Errorf("stored %+v", got)
	}
}

func TestALongResultIsStoredWhole(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("茶", 50_000)
	w.do = func(context.Context, *toolkit.Call, tooltest.Input) (toolkit.Result, error) {
		return toolkit.JSON(map[string]any{"success": true, "text": long}), nil
	}
	c, err := w.Do(t.Context(), ann, Request{Name: "read", Arguments: tea})
	if err != nil || !c.Truncated || c.ResultBlob == "" || !json.Valid([]byte(c.Result)) {
		t.Fatalf("%+v, %v", c, err)
	}
	if whole, err := w.Results.Whole(t.Context(), w.stored(c.ID)); err != nil || !strings.Contains(whole, long) {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
}

// full is a bucket whose disk is full.
type full struct{ blob.Bucket }

func (full) Put(context.Context, string, []byte, string) error { return errors.New("disk is full") }

func TestAResultThatCannotBeStoredEndsTheCallNevertheless(t *testing.T) {
	w := newWorld(t)
	w.Results = &result.Keeper{Bucket: full{}}
	w.do = func(context.Context, *toolkit.Call, tooltest.Input) (toolkit.Result, error) {
		return toolkit.JSON(strings.Repeat("x", 50_000)), nil
	}
	req := Request{Name: "send", Arguments: tea, Key: key("k")}
	c, err := w.Do(t.Context(), ann, req)
	if err != nil || !c.IsError || c.Reason != "RESULT_NOT_STORED" || strings.Contains(c.Result, "disk is full") {
		t.Errorf("%v", err)
	}
	again, err := w.Do(t.Context(), ann, req)
	if err != nil || again.ID != c.ID || !again.IsError || again.State != schema.CallDone || !strings.Contains(again.Result, "RESULT_NOT_STORED") {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestACallThatADeadProcessHadBegunIsUnknown(t *testing.T) {
	w := newWorld(t)
	c := schema.ToolCall{ID: "call_dead", UserID: ann.UserID, Name: "send", EffectKey: "e"}
	if _, err := w.Runs.BeginInvoke(t.Context(), &c, key("k")); err != nil {
		t.Fatal(err)
	}
	if err := w.Runs.LoseInvokes(t.Context(), w.Now()); err != nil {
		t.Fatal(err)
	}
	got, err := w.Do(t.Context(), ann, Request{Name: "send", Arguments: tea, Key: key("k")})
	if err != nil || got.ID != "call_dead" || got.State != schema.CallUnknown || !got.IsError {
		t.Errorf("%+v, %v", got, err)
	}
	if n := w.calls.Load(); n != 0 {
		t.Errorf("it was made again")
	}
}

func TestPointersAreWrittenAsFields(t *testing.T) {
	for pointer, want := range map[string]string{
		"": "", "/query": ".query", "/urls/3": ".urls[3]", "/a/b~1c/0/d~0": ".a.b/c[0].d~",
	} {
		if got := path(pointer); got != want {
			t.Errorf("%s is written %s, want %s", pointer, got, want)
		}
	}
}
