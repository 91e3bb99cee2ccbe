package engine

import (
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

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

// world is a database, a tool provider and a scripted model; engines come and
// go in it.
type world struct {
	t        testing.TB
	dir      string
	sync     store.Synchronous
	db       *store.DB
	runs     *run.Store
	convs    *conversation.Store
	results  *result.Keeper
	tools    *registry.Registry
	provider *registry.Provider // of them
	cfg      Config

	models map[string]Model // beside "m", or in its place

	mu       sync.Mutex
	script   []reply            // by round of a turn, from 0
	scripts  map[string][]reply // of models that have one of their own
	requests []provider.Request
	asked    []string // the models of the requests

	corrector   reply // answers corrector passes; nil: it refuses them
	corrections []provider.Request
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
	w.provider = &registry.Provider{Name: "test", Client: toolv1.NewToolProviderServiceClient(conn)}
	w.approve()
}

// approve lets tools be called that would ask.
func (w *world) approve(names ...string) {
	w.t.Helper()
	w.tools = registry.New([]*registry.Provider{w.provider}, registry.Policy{Enabled: []string{"*"}, AutoApprove: names}, quiet())
	if err := w.tools.Load(w.t.Context()); err != nil {
		w.t.Fatal(err)
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

func roundOf(mc schema.ModelCall, tools ...schema.ToolCall) prompt.Round {
	return prompt.Round{Call: mc, Tools: tools}
}
