package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/conversation"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/live"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/prompt"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/registry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/watch"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// in runs a test in a bubble of fake time: waits cost nothing and are exact.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// arguments are what every tool of these tests takes.
type arguments struct {
	N    int    `json:"n,omitempty"`
	Text string `json:"text,omitempty"`
}

// tool is a tool of the provider.
type tool struct {
	name   string
	effect toolkit.Effect // pure when empty
	run    func(ctx context.Context, c *toolkit.Call, in arguments) (toolkit.Result, error)
	edit   func(*toolkit.Tool)
}

// reply is one model call.
type reply func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error)

// world is a database, a tool provider and a scripted model; engines come and
// go in it.
type world struct {
	t       testing.TB
	dir     string
	sync    store.Synchronous
	db      *store.DB
	runs    *run.Store
	convs   *conversation.Store
	results *result.Keeper
	tools   *registry.Registry
	cfg     Config

	mu       sync.Mutex
	script   []reply // by round of a turn, from 0
	requests []provider.Request
}

func newWorld(t testing.TB, tools ...tool) *world {
	t.Helper()
	return newWorldOn(t, store.SyncNormal, tools...)
}

func newWorldOn(t testing.TB, sync store.Synchronous, tools ...tool) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), sync: sync, cfg: DefaultConfig()}
	w.db = w.open()
	w.runs = &run.Store{DB: w.db, Now: time.Now}
	w.convs = &conversation.Store{DB: w.db, Now: time.Now}
	bucket, err := blob.Open(t.Context(), filepath.Join(w.dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	w.results = &result.Keeper{Bucket: bucket}
	w.serve(tools)
	return w
}

func (w *world) open() *store.DB {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), store.Config{Service: "orchestrator", Path: filepath.Join(w.dir, "o.db"), Synchronous: w.sync, Migrations: schema.Migrations()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// serve starts the provider behind a real gRPC connection.
func (w *world) serve(tools []tool) {
	w.t.Helper()
	p := toolkit.New(toolkit.Config{
		KeyStore: toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{}), Logger: quiet(),
		Caller: func(context.Context) string { return "ann" },
	})
	for _, t := range tools {
		def := toolkit.Tool{Name: t.name, Description: "A tool.", Effect: t.effect, Sink: toolkit.SinkRead, Version: "1"}
		if def.Effect == "" {
			def.Effect = toolkit.EffectPure
		}
		if t.edit != nil {
			t.edit(&def)
		}
		if err := toolkit.Add(p, def, t.run); err != nil {
			w.t.Fatal(err)
		}
	}
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	p.Register(s)
	go func() { _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:tools", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = conn.Close()
		_ = p.Close()
		s.Stop()
	})
	w.tools = registry.New([]*registry.Provider{{Name: "test", Client: toolv1.NewToolProviderServiceClient(conn)}},
		registry.Policy{Enabled: []string{"*"}}, quiet())
	if err := w.tools.Load(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// Model makes an engine its own models: there is one, "m".
func (e *engine) Model(id string) (Model, bool) {
	return Model{ID: id, Name: id, ContextWindow: 128_000, Streamer: e}, id == "m"
}

// callerKey has the engine that makes a model call.
type callerKey struct{}

// Stream plays the world's script.
func (e *engine) Stream(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
	return e.w.stream(context.WithValue(ctx, callerKey{}, e), req, yield)
}

// stream plays the reply for the round that the request asks for. Every request
// must be one that a strict provider takes.
func (w *world) stream(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
	if err := strict(req); err != nil {
		w.t.Errorf("a strict provider refuses the request: %v", err)
	}
	round := 0
	for _, m := range req.Messages {
		switch m.Role {
		case provider.RoleUser:
			round = 0
		case provider.RoleAssistant:
			round++
		}
	}
	w.mu.Lock()
	w.requests = append(w.requests, req)
	var r reply
	if round < len(w.script) {
		r = w.script[round]
	}
	w.mu.Unlock()
	if r == nil {
		return provider.Response{}, &provider.Error{Kind: provider.KindBadRequest, Message: fmt.Sprintf("nothing is scripted for round %d", round)}
	}
	return r(ctx, req, yield)
}

// strict refuses what strict providers refuse.
func strict(req provider.Request) error {
	var open []string
	for i, m := range req.Messages {
		switch {
		case len(open) > 0 && (m.Role != provider.RoleTool || m.CallID != open[0]):
			return fmt.Errorf("message %d is %s %q, want the result of call %s", i, m.Role, m.CallID, open[0])
		case len(open) == 0 && m.Role == provider.RoleTool:
			return fmt.Errorf("message %d is a result without a call", i)
		case m.Content == "" && len(m.Calls) == 0:
			return fmt.Errorf("message %d (%s) is empty", i, m.Role)
		case i > 0 && m.Role == provider.RoleUser && req.Messages[i-1].Role == provider.RoleUser:
			return fmt.Errorf("message %d: the user speaks twice in a row", i)
		}
		if m.Role == provider.RoleTool {
			open = open[1:]
		}
		for _, c := range m.Calls {
			if !json.Valid([]byte(c.Arguments)) {
				return fmt.Errorf("arguments of call %s are not JSON: %s", c.ID, c.Arguments)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without a result: %v", open)
	}
	return nil
}

// say answers with a text, in pieces.
func say(text string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		for _, p := range strings.SplitAfter(text, " ") {
			if p == "" {
				continue
			}
			if err := yield(provider.Delta{Kind: provider.Text, Text: p}); err != nil {
				return provider.Response{}, err
			}
		}
		return provider.Response{Text: text, Finish: provider.FinishStop, Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}, nil
	}
}

// call makes tool calls, told as "name {arguments}".
func call(calls ...string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp := provider.Response{Finish: provider.FinishToolCalls, Usage: provider.Usage{InputTokens: 10, OutputTokens: 2}}
		for i, c := range calls {
			name, args, _ := strings.Cut(c, " ")
			if args == "" {
				args = "{}"
			}
			id := fmt.Sprintf("c%d_%d", len(req.Messages), i)
			if err := yield(provider.Delta{Kind: provider.CallPiece, Call: provider.CallFragment{Ordinal: i, ID: id, Name: name, Arguments: args}}); err != nil {
				return resp, err
			}
			resp.Calls = append(resp.Calls, provider.Call{ID: id, Name: name, Arguments: args})
		}
		return resp, nil
	}
}

// fail breaks off after a text.
func fail(text string, err *provider.Error) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp, _ := say(text)(ctx, req, yield)
		if text == "" {
			resp = provider.Response{}
		}
		return resp, err
	}
}

// hang writes a text and then nothing until the call is given up.
func hang(text string) reply {
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		resp, _ := say(text)(ctx, req, yield)
		<-ctx.Done()
		return resp, &provider.Error{Kind: provider.KindCancelled, Message: "cancelled", Err: ctx.Err()}
	}
}

// tries plays one reply after another, one for each time it is called.
func tries(replies ...reply) reply {
	var mu sync.Mutex
	n := 0
	return func(ctx context.Context, req provider.Request, yield func(provider.Delta) error) (provider.Response, error) {
		mu.Lock()
		r := replies[min(n, len(replies)-1)]
		n++
		mu.Unlock()
		return r(ctx, req, yield)
	}
}

// engine is one owner: a process, for what the database can tell.
type engine struct {
	*Engine
	w    *world
	db   *store.DB
	stop func() // ends it in order; waits
}

// engine starts an owner with a database handle of its own.
func (w *world) engine(name string) *engine {
	w.t.Helper()
	return w.engineAt(name, time.Now)
}

// engineAt starts an owner with a clock of its own.
func (w *world) engineAt(name string, now func() time.Time) *engine {
	w.t.Helper()
	e := &engine{w: w, db: w.open()}
	e.Engine = New(w.cfg, Deps{
		Runs: &run.Store{DB: e.db, Now: now}, Conversations: &conversation.Store{DB: e.db, Now: time.Now},
		Results: w.results, Hub: &live.Hub{}, Tools: w.tools, Models: e, Owner: run.Owner{ID: "own_" + name}, Log: quiet(), Now: now,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = e.Run(ctx)
	}()
	e.stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(e.stop)
	return e
}

// crash takes the database away from the engine, as kill -9 does: nothing is
// written or given back any more.
func (e *engine) crash() { _ = e.db.Close() }

// recovered starts an engine as after a restart: the leases of the one before
// are freed.
func (w *world) recovered(name string) *engine {
	w.t.Helper()
	if _, err := w.runs.FreeAll(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.engine(name)
}

func (w *world) conversation(user string) string {
	w.t.Helper()
	c, err := w.convs.Create(w.t.Context(), user, "", "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	return c.ID
}

// ask starts a run of ann in a conversation, a new one when it is empty.
func (e *engine) ask(conv string) schema.Run {
	e.w.t.Helper()
	st, err := e.Start(context.Background(), e.w.question(conv))
	if err != nil {
		e.w.t.Fatal(err)
	}
	return st.Run
}

func (w *world) question(conv string) run.Request {
	w.t.Helper()
	if conv == "" {
		conv = w.conversation("ann")
	}
	return run.Request{UserID: "ann", ConversationID: conv, Content: "hello", Model: "m", ToolsEnabled: true}
}

// ended follows a run to its end, checks what a reader makes of its events, and
// returns it.
func (e *engine) ended(r schema.Run) schema.Run {
	e.w.t.Helper()
	p := e.w.page()
	err := (&watch.Watcher{Runs: e.w.runs, Hub: e.Hub}).Follow(context.Background(), r.UserID, r.ID, 0, p.read)
	if err != nil {
		e.w.t.Fatal(err)
	}
	r = e.w.run(r.ID)
	p.check(r)
	return r
}

// finish asks, and returns the run when it has ended.
func (e *engine) finish() schema.Run { e.w.t.Helper(); return e.ended(e.ask("")) }

func (w *world) run(id string) schema.Run {
	w.t.Helper()
	r, err := w.runs.Get(context.Background(), "ann", id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// page is what a reader makes of a run.
type page struct {
	w     *world
	seq   int32
	texts map[int32]string
	live  int // pieces that came live
}

func (w *world) page() *page { return &page{w: w, texts: map[int32]string{}} }

func (p *page) read(e *pb.RunEvent) error {
	if e.Seq > 0 {
		if e.Seq <= p.seq {
			p.w.t.Errorf("event %d after event %d", e.Seq, p.seq)
		}
		p.seq = e.Seq
	}
	if m := e.GetMessage(); m != nil {
		have := p.texts[m.Round]
		if int(m.Offset) > len(have) {
			p.w.t.Errorf("a gap in the text of round %d", m.Round)
			return nil
		}
		p.texts[m.Round] = have[:m.Offset] + m.Content
		if e.Seq == 0 {
			p.live++
		}
	}
	if r := e.GetRoundRestarted(); r != nil {
		delete(p.texts, r.Round)
	}
	return nil
}

// check compares the reader's last text with the stored answer, and the log
// with the rules of the contract.
func (p *page) check(r schema.Run) {
	p.w.t.Helper()
	content := p.w.answer(r)
	last := int32(0)
	for round := range p.texts {
		last = max(last, round)
	}
	if last > 0 && content != "" && p.texts[last] != content {
		p.w.t.Errorf("the reader has the text %q, the answer is %q", p.texts[last], content)
	}
	p.w.checkLog(r)
}

// checkLog checks that the log has no gaps, that every call has one result, in
// order, and that nothing is left open.
func (w *world) checkLog(r schema.Run) {
	w.t.Helper()
	var open []string
	events := w.events(r)
	for i, e := range events {
		if int(e.Seq) != i+1 {
			w.t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		for _, c := range e.GetToolCall().GetCalls() {
			open = append(open, c.Id)
		}
		for _, res := range e.GetToolResult().GetResults() {
			if len(open) == 0 || res.ToolCallId != open[0] {
				w.t.Errorf("event %d has the result of %s, waiting are %v", e.Seq, res.ToolCallId, open)
				continue
			}
			open = open[1:]
			if !json.Valid([]byte(res.Content)) {
				w.t.Errorf("result %s is not JSON: %s", res.ToolCallId, res.Content)
			}
		}
		if last := i == len(events)-1; last != (e.GetDone() != nil || e.GetError() != nil) {
			w.t.Errorf("event %d of %d is %s", e.Seq, len(events), run.TypeOf(e))
		}
	}
	if len(open) > 0 {
		w.t.Errorf("calls without a result: %v", open)
	}
	for table, where := range map[string]string{
		"model_calls": "state = 'started' AND run_id = '" + r.ID + "'",
		"tool_calls":  "state IN ('planned', 'dispatching') AND run_id = '" + r.ID + "'",
	} {
		if n := w.count(table, where); n != 0 {
			w.t.Errorf("%d %s were left where %s", n, table, where)
		}
	}
	if n := w.count("conversations", "live_run = '"+r.ID+"'"); n != 0 {
		w.t.Error("the conversation still has the live run")
	}
}

func (w *world) events(r schema.Run) []*pb.RunEvent {
	w.t.Helper()
	events, err := w.runs.Events(context.Background(), r.ID, 0, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	return events
}

// log is the logged events in short: "run_started tool_call tool_result ...";
// notices tell their kind, results that came in several events stand once.
func (w *world) log(r schema.Run) string {
	w.t.Helper()
	var out []string
	for _, e := range w.events(r) {
		s := run.TypeOf(e)
		if n := e.GetNotice(); n != nil {
			s += ":" + n.Kind
		}
		if n := len(out); s != "tool_result" || out[n-1] != s {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func (w *world) answer(r schema.Run) string {
	w.t.Helper()
	m, err := w.convs.Message(context.Background(), "ann", r.MessageID)
	if err != nil {
		w.t.Fatal(err)
	}
	return m.Content
}

// toolCalls are the calls of a run, in order.
func (w *world) toolCalls(r schema.Run) []schema.ToolCall {
	w.t.Helper()
	_, tools, err := w.runs.Rounds(context.Background(), true, r.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return tools
}

func (w *world) count(table, where string) int {
	w.t.Helper()
	n, err := w.db.Read().NewSelect().Table(table).Where(where).Count(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return int(n)
}

// outcome is how a run ended, in short.
func outcome(r schema.Run) string {
	return strings.Join(strings.Fields(r.Status+" "+r.FinishReason+" "+r.ErrorReason), " ")
}

// text is a result that says something.
func text(s string) toolkit.Result { return toolkit.JSON(map[string]any{"success": true, "text": s}) }

// echo answers its text.
var echo = tool{name: "echo", run: func(_ context.Context, _ *toolkit.Call, in arguments) (toolkit.Result, error) {
	return text(in.Text), nil
}}

// broken always fails.
var broken = tool{name: "broken", run: func(context.Context, *toolkit.Call, arguments) (toolkit.Result, error) {
	return toolkit.Fail("BROKEN", "It does not work.", false), nil
}}

// lastPrompt are the messages of the newest request, in short.
func (w *world) lastPrompt() []provider.Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[len(w.requests)-1].Messages[len(prompt.System("")):]
}

func roundOf(mc schema.ModelCall, tools ...schema.ToolCall) prompt.Round {
	return prompt.Round{Call: mc, Tools: tools}
}
