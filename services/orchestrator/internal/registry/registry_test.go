package registry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what a provider says when it is asked.
type answer func(ctx context.Context) (*toolv1.ListToolsResponse, error)

// provider answers without a connection, so that time can be tested.
type provider struct {
	toolv1.ToolProviderServiceClient
	mu  sync.Mutex
	now answer
}

func (p *provider) ListTools(ctx context.Context, _ *toolv1.ListToolsRequest, _ ...grpc.CallOption) (*toolv1.ListToolsResponse, error) {
	p.mu.Lock()
	now := p.now
	p.mu.Unlock()
	return now(ctx)
}

// change makes p answer like another provider from now on.
func (p *provider) change(to *provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = to.now
}

func offers(tools ...*toolv1.Tool) *provider {
	return &provider{now: func(context.Context) (*toolv1.ListToolsResponse, error) {
		return &toolv1.ListToolsResponse{Tools: tools}, nil
	}}
}

func fails(err error) *provider {
	return &provider{now: func(context.Context) (*toolv1.ListToolsResponse, error) { return nil, err }}
}

func wire(name string, change ...func(*toolv1.Tool)) *toolv1.Tool {
	t := &toolv1.Tool{Name: name, Description: "Does " + name + ".", Effect: "pure", Sink: "read", Version: "1"}
	for _, c := range change {
		c(t)
	}
	return t
}

func sink(s string) func(*toolv1.Tool) { return func(t *toolv1.Tool) { t.Sink = s } }

// lines is what a logger wrote.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take gives the lines since the last time.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// logs gives a logger and what it wrote.
func logs() (*slog.Logger, *lines) {
	var l lines
	return slog.New(slog.NewTextHandler(&l, nil)), &l
}

func load(t *testing.T, policy Policy, providers ...*Provider) *Snapshot {
	t.Helper()
	log, _ := logs()
	r := New(providers, policy, log)
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Snapshot()
}

func TestToolsOfARealProviderAreRegistered(t *testing.T) {
	p := tooltest.Provider(t)
	tooltest.Add(t, p, tooltest.Tool("count"), tooltest.Echo)
	tooltest.Add(t, p, tooltest.Tool("add"), tooltest.Echo)
	s := load(t, Policy{}, &Provider{Name: "own", Client: tooltest.Serve(t, p)})
	if names := s.EnabledNames(); !slices.Equal(names, []string{"add", "count"}) {
		t.Fatalf("tools %v", names)
	}
	got := s.Get("count")
	if got.RemoteName != "count" || got.Effect != "pure" || got.Sink != "read" || got.Timeout != 5*time.Second || got.Asks || !strings.Contains(string(got.Parameters), `"text"`) {
		t.Errorf("%+v", got)
	}
	if s.Get("Count") != nil {
		t.Error("names are compared without regard to case")
	}
}

func TestWhatStopsTheStart(t *testing.T) {
	down := errors.New("connection refused")
	own := func(name string, c toolv1.ToolProviderServiceClient) *Provider {
		return &Provider{Name: name, Client: c}
	}
	cases := []struct {
		name      string
		providers []*Provider
		words     []string
	}{
		{"a provider of our own that is down", []*Provider{own("search", fails(down))}, []string{"tools of search", "connection refused"}},
		{"two own providers with one name", []*Provider{own("a", offers(wire("x"))), own("b", offers(wire("x")))}, []string{"tool x is offered by a and by b"}},
		{"one provider with a name twice", []*Provider{own("a", offers(wire("x"), wire("x")))}, []string{"tool x"}},
		{"a name with a dot", []*Provider{own("a", offers(wire("a.b")))}, []string{`"a.b"`, "letters"}},
		{"an empty name", []*Provider{own("a", offers(wire("")))}, []string{"letters"}},
		{"a name that is too long", []*Provider{own("a", offers(wire(strings.Repeat("n", 65))))}, []string{"1 to 64"}},
		{"a name in other letters", []*Provider{own("a", offers(wire("搜索")))}, []string{"letters"}},
		{"no description", []*Provider{own("a", offers(wire("x", func(w *toolv1.Tool) { w.Description = "" })))}, []string{"description"}},
		{"an endless description", []*Provider{own("a", offers(wire("x", func(w *toolv1.Tool) { w.Description = strings.Repeat("d", 4097) })))}, []string{"4096"}},
		{"an unknown effect", []*Provider{own("a", offers(wire("x", func(w *toolv1.Tool) { w.Effect = "magic" })))}, []string{`effect "magic"`}},
		{"an unknown sink", []*Provider{own("a", offers(wire("x", sink("drain"))))}, []string{`sink "drain"`}},
		{"a schema that is too big", []*Provider{own("a", offers(wire("x", func(w *toolv1.Tool) {
			w.Parameters, _ = structpb.NewStruct(map[string]any{"type": "object", "description": strings.Repeat("s", 300<<10)})
		})))}, []string{"parameters", "limit"}},
		{"a schema of a list", []*Provider{own("a", offers(wire("x", func(w *toolv1.Tool) {
			w.Parameters, _ = structpb.NewStruct(map[string]any{"type": "array"})
		})))}, []string{"parameters", "object"}},
		{"more tools than anybody needs", []*Provider{own("a", offers(make([]*toolv1.Tool, 257)...))}, []string{"257 tools"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log, _ := logs()
			r := New(c.providers, Policy{}, log)
			err := r.Load(t.Context())
			if err == nil {
				t.Fatal("it started")
			}
			for _, w := range c.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not name %q", err, w)
				}
			}
			if len(r.Snapshot().All()) != 0 {
				t.Error("there are tools nevertheless")
			}
		})
	}
}

func TestAForeignProviderStopsNothing(t *testing.T) {
	log, out := logs()
	bad := &Provider{Name: "far", Foreign: true, Client: offers(wire("good"), wire("b.d"), wire(strings.Repeat("n", 60)))}
	down := &Provider{Name: "down", Foreign: true, Client: fails(errors.New("no route"))}
	r := New([]*Provider{{Name: "own", Client: offers(wire("x"))}, bad, down}, Policy{}, log)
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.Snapshot()
	if s.Get("x") == nil || s.Get("far__good") == nil || len(s.All()) != 2 {
		t.Errorf("tools %v", s.All())
	}
	said := out.take()
	for _, w := range []string{"no route", "b.d", "far__nnn"} {
		if !strings.Contains(said, w) {
			t.Errorf("the log does not name %q: %s", w, said)
		}
	}
}

func TestForeignClaimsOnlyRaiseTheRisk(t *testing.T) {
	trusted := Trust{Effect: "pure", Sink: "read", Trusted: true}
	cases := []struct {
		name      string
		claim     *toolv1.Tool
		trust     Trust
		effect    string
		sink      string
		untrusted bool
	}{
		{"harmless by its own word", wire("x"), Trust{}, "opaque", "write", true},
		{"nothing claimed", wire("x", func(w *toolv1.Tool) { w.Effect, w.Sink = "", "" }), Trust{}, "opaque", "write", true},
		{"executing by its own word", wire("x", sink("exec")), Trust{}, "opaque", "exec", true},
		{"harmless by the operator's word", wire("x"), trusted, "pure", "read", false},
		{"the operator says reading, it says executing", wire("x", sink("exec")), trusted, "pure", "exec", false},
		{"the operator says reading, it says writing", wire("x", sink("write")), trusted, "pure", "write", false},
		{"the operator says pure, it says opaque", wire("x", func(w *toolv1.Tool) { w.Effect = "opaque" }), trusted, "opaque", "read", false},
		{"the operator trusts it, it does not", wire("x", func(w *toolv1.Tool) { w.OutputUntrusted = true }), trusted, "pure", "read", true},
		{"a claim of no class", wire("x", func(w *toolv1.Tool) { w.Effect, w.Sink = "none", "none" }), trusted, "pure", "read", false},
		{"the operator raises", wire("x"), Trust{Effect: "keyed", Sink: "exec"}, "keyed", "exec", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := load(t, Policy{Enabled: []string{"*"}}, &Provider{
				Name: "far", Foreign: true, Client: offers(c.claim), Trust: map[string]Trust{"x": c.trust},
			})
			got := s.Get("far__x")
			if got == nil || got.Effect != c.effect || got.Sink != c.sink || got.Untrusted != c.untrusted || got.RemoteName != "x" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhichToolsAreEnabledAndWhichAsk(t *testing.T) {
	own := &Provider{Name: "own", Client: offers(wire("r"), wire("e", sink("egress")), wire("w", sink("write")), wire("x", sink("exec")))}
	far := &Provider{Name: "far", Foreign: true, Client: offers(wire("r")), Trust: map[string]Trust{"r": {Sink: "read"}}}
	cases := []struct {
		name    string
		policy  Policy
		enabled string
		asks    string
	}{
		{"by default what is ours and reads", Policy{}, "r", "w x"},
		{"what is named", Policy{Enabled: []string{"w", "far__r"}}, "far__r w", "w x"},
		{"everything", Policy{Enabled: []string{"*"}}, "e far__r r w x", "w x"},
		{"without asking", Policy{Enabled: []string{"*"}, AutoApprove: []string{"w"}}, "e far__r r w x", "x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := load(t, c.policy, own, far)
			var asks []string
			for _, tool := range s.All() {
				if tool.Asks {
					asks = append(asks, tool.Name)
				}
			}
			if got := strings.Join(s.EnabledNames(), " "); got != c.enabled {
				t.Errorf("enabled %q, want %q", got, c.enabled)
			}
			if got := strings.Join(asks, " "); got != c.asks {
				t.Errorf("asks %q, want %q", got, c.asks)
			}
		})
	}
}

func TestTimeoutsOfTools(t *testing.T) {
	seconds := func(d time.Duration) func(*toolv1.Tool) {
		return func(w *toolv1.Tool) { w.DefaultTimeout = durationpb.New(d) }
	}
	s := load(t, Policy{Timeouts: map[string]time.Duration{"set": time.Second, "far__x": 3 * time.Second}},
		&Provider{Name: "own", Client: offers(
			wire("none"), wire("own", seconds(time.Minute)), wire("endless", seconds(time.Hour)),
			wire("negative", seconds(-time.Second)), wire("set", seconds(time.Minute)))},
		&Provider{Name: "far", Foreign: true, Client: offers(wire("x"))})
	for name, want := range map[string]time.Duration{
		"none": DefaultTimeout, "own": time.Minute, "endless": MaxTimeout, "negative": DefaultTimeout, "set": time.Second, "far__x": 3 * time.Second,
	} {
		if got := s.Get(name).Timeout; got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
}

func TestASchemaIsAlwaysOfAnObject(t *testing.T) {
	schema, err := structpb.NewStruct(map[string]any{"properties": map[string]any{"b": map[string]any{"type": "string"}, "a": map[string]any{"type": "number"}}})
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, Policy{}, &Provider{Name: "own", Client: offers(wire("none"), wire("some", func(w *toolv1.Tool) { w.Parameters = schema }))})
	if got := string(s.Get("none").Parameters); got != `{"properties":{},"type":"object"}` {
		t.Errorf("no schema became %s", got)
	}
	if got := string(s.Get("some").Parameters); got != `{"properties":{"a":{"type":"number"},"b":{"type":"string"}},"type":"object"}` {
		t.Errorf("a schema without a type became %s", got)
	}
	if s.Get("none").Schema == nil {
		t.Error("readers of the API get no schema")
	}
}

func TestNamesOfTheConfigurationThatNobodyHasAreNamed(t *testing.T) {
	log, out := logs()
	r := New([]*Provider{
		{Name: "own", Client: offers(wire("web_search"))},
		{Name: "far", Foreign: true, Client: offers(wire("x")), Trust: map[string]Trust{"x": {}, "gone": {}}},
		{Name: "down", Foreign: true, Client: fails(errors.New("no")), Trust: map[string]Trust{"y": {}}},
	}, Policy{
		Enabled: []string{"*", "web_search", "web_serach", "down__y"}, AutoApprove: []string{"web_serach", "run_code"},
		Timeouts: map[string]time.Duration{"slow": time.Second},
	}, log)
	if err := r.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want, said := `tools="[far__gone run_code slow web_serach (did you mean web_search?)]"`, out.take(); !strings.Contains(said, want) {
		t.Errorf("want %s in %s", want, said)
	}
}

func TestNamesThatAreNear(t *testing.T) {
	s := load(t, Policy{Enabled: []string{"web_search", "fetch_page", "read_file", "write_file"}}, &Provider{Name: "own", Client: offers(
		wire("web_search"), wire("fetch_page"), wire("read_file"), wire("write_file"), wire("run_code", sink("exec")))})
	cases := []struct{ asked, want string }{
		{"web-search", "web_search"},
		{"WebSearch", "web_search"},
		{"functions.web_search", "web_search"},
		{"search", "web_search"},
		{"web_serach", "web_search"},
		{"fetch", "fetch_page"},
		{"fetch_pages", "fetch_page"},
		{"file", "read_file write_file"},
		{"read_fille", "read_file"},
		{"raed_file", "read_file"},
		{"write_flie", "write_file"},
		{"run_code", ""}, // known, but turned off
		{"weather", ""},
		{"a", ""},
		{"", ""},
		{"___", ""},
		{strings.Repeat("web_search", 1000), ""},
	}
	for _, c := range cases {
		if got := strings.Join(s.Near(c.asked), " "); got != c.want {
			t.Errorf("near %.40q is %q, want %q", c.asked, got, c.want)
		}
	}
}

func TestRefreshKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := logs()
		moody := offers(wire("a"))
		r := New([]*Provider{{Name: "steady", Client: offers(wire("x"))}, {Name: "moody", Client: moody}}, Policy{}, log)
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		cases := []struct {
			name   string
			answer *provider
			want   string
			warns  string
		}{
			{"a new tool is taken", offers(wire("a"), wire("b")), "a b x", ""},
			{"silence changes nothing", fails(errors.New("down")), "a b x", "down"},
			{"and is told once", fails(errors.New("down")), "a b x", ""},
			{"a taken name changes nothing", offers(wire("x")), "a b x", "offered by"},
			{"a bad tool changes nothing", offers(wire("a"), wire("c", sink("drain"))), "a b x", "drain"},
			{"a tool can go", offers(wire("b")), "b x", ""},
		}
		for _, c := range cases {
			moody.change(c.answer)
			_ = out.take()
			time.Sleep(refreshEvery) // of the test's own clock
			synctest.Wait()
			if got := strings.Join(r.Snapshot().EnabledNames(), " "); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			if said := out.take(); c.warns == "" && said != "" || !strings.Contains(said, c.warns) {
				t.Errorf("%s: warns %s", c.name, said)
			}
		}
		cancel()
		<-done
	})
}

func TestAProviderThatHangsHoldsNobodyUpForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := &provider{now: func(ctx context.Context) (*toolv1.ListToolsResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		log, _ := logs()
		r := New([]*Provider{
			{Name: "far", Foreign: true, Client: hangs}, {Name: "farther", Foreign: true, Client: hangs}, {Name: "own", Client: offers(wire("x"))},
		}, Policy{}, log)
		begun := time.Now()
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > listTimeout {
			t.Errorf("the start took %s", took)
		}
		if r.Snapshot().Get("x") == nil {
			t.Error("our own tool is not there")
		}
	})
}

func TestAProviderThatComesLaterIsSoonThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := fails(errors.New("down"))
		log, _ := logs()
		r := New([]*Provider{{Name: "late", Foreign: true, Client: late}}, Policy{}, log)
		if err := r.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		late.change(offers(wire("a")))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		time.Sleep(retryEvery) // of the test's own clock
		synctest.Wait()
		if r.Snapshot().Get("late__a") == nil {
			t.Errorf("it was not asked again within %s", retryEvery)
		}
		cancel()
		<-done
	})
}
