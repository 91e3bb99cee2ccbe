package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/tooltest"
)

func TestAStartThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, databaseFile), []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	occupied := t.TempDir()
	if err := os.Mkdir(filepath.Join(occupied, localTokenFile), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		dir   string
		set   func(*Config, *Deps)
		words string
	}{
		{"a configuration that cannot be", t.TempDir(), func(c *Config, _ *Deps) { c.Runs.PerUser = 0 }, "runs.per_user"},
		{"a data folder that does not exist", filepath.Join(file, "data"), nil, "orchestrator.db"},
		{"a data folder that is read-only", "/proc/self", nil, "orchestrator.db"},
		{"a database that is none", broken, nil, "not an intact SQLite database"},
		{"a token that cannot be read", occupied, nil, "token for this machine"},
		{"a model that cannot be", t.TempDir(), func(c *Config, _ *Deps) {
			c.Models = []ModelConfig{{ID: "a", APIURL: "http://127.0.0.1:1"}, {ID: "b", APIURL: "http://user:hush@127.0.0.1:1"}}
		}, "models[1]"},
		{"a foreign provider with a name of ours", t.TempDir(), func(c *Config, d *Deps) {
			c.Providers, d.Providers = []ProviderConfig{{Name: "tests", Address: "127.0.0.1:1"}}, []Provider{{Name: "tests"}}
		}, "providers[0].name"},
		{"a foreign provider with an address that is none", t.TempDir(), func(c *Config, _ *Deps) {
			c.Providers = []ProviderConfig{{Name: "near", Address: "127.0.0.1:1"}, {Name: "far", Address: "no\x00where"}}
		}, "providers[1].address"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cfg, deps := DefaultConfig(), Deps{DataDir: c.dir}
			if c.set != nil {
				c.set(&cfg, &deps)
			}
			s, err := New(t.Context(), cfg, deps)
			if err == nil || s != nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "hush") {
				t.Fatalf("%v, %v", s, err)
			}
		})
	}
}

func TestAfterAFailedStartTheNextOneWorks(t *testing.T) {
	dir := t.TempDir()
	cfg := DefaultConfig()
	cfg.Models = []ModelConfig{{ID: "b", APIURL: "http://user:hush@127.0.0.1:1"}}
	if _, err := New(t.Context(), cfg, Deps{DataDir: dir}); err == nil {
		t.Fatal("it started")
	}
	var tokens []string
	for range 2 {
		s, err := New(t.Context(), DefaultConfig(), Deps{DataDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Tokens().Principal(t.Context(), s.LocalToken())
		if err != nil || p.UserID != s.Owner().UserID || !p.Has("anything") || s.HasModel() {
			t.Errorf("%+v, %v", p, err)
		}
		tokens = append(tokens, s.LocalToken())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if tokens[0] != tokens[1] {
		t.Error("a new token at each start")
	}
}

func TestAStartWithoutOneOfOurProvidersNamesIt(t *testing.T) {
	conn, stop := tooltest.Start(t, tooltest.Provider(t))
	stop()
	s, err := New(t.Context(), DefaultConfig(), Deps{DataDir: t.TempDir(), Providers: []Provider{{Name: "search", Conn: conn}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "tools of search") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s.Wait(ctx) // for no Run: returns at once
	if ctx.Err() != nil {
		t.Error("waited for what was never begun")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAForeignProviderIsServedUnderItsName(t *testing.T) {
	w := newWorld(t, "", func(b *bed) {
		b.cfg.Providers = []ProviderConfig{{Name: "far", Address: "127.0.0.1:1"}} // nobody listens there
		b.cfg.Tools.Enabled = []string{"count"}
	})
	res, err := w.Tools.ListTools(w.as("ann"), &pb.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range res.Tools {
		got = append(got, fmt.Sprintf("%s/%s/%s enabled=%t asks=%t", tool.Provider, tool.Name, tool.Sink, tool.Enabled, tool.Asks))
		if tool.Parameters.AsMap()["type"] != "object" {
			t.Errorf("parameters of %s: %v", tool.Name, tool.Parameters)
		}
	}
	want := `tests/count/read enabled=true asks=false
tests/long/read enabled=false asks=false
orchestrator/read_result/read enabled=true asks=false
tests/write/write enabled=false asks=true`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestWhatIsBeyondItsRetentionIsRemovedWithItsBlobs(t *testing.T) {
	w := newWorld(t, "")
	for range 2 {
		if _, err := w.Tools.InvokeTool(w.as("ann"), &pb.InvokeToolRequest{Name: "long", ArgumentsJson: `{"text":""}`}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (rows int, blobs []string) {
		err := w.svc.db.Write(t.Context(), func(ctx context.Context, tx bun.IDB) error {
			blobs = nil
			var err error
			if rows, err = countOf(ctx, tx); err != nil {
				return err
			}
			return tx.NewSelect().Model((*schema.ToolCall)(nil)).Column("result_blob").Scan(ctx, &blobs)
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows, blobs
	}
	_, before := count()
	if len(before) != 2 || before[0] == "" {
		t.Fatalf("stored results %v", before)
	}
	for _, c := range []struct {
		ahead time.Duration
		left  int
	}{{29 * 24 * time.Hour, 2}, {31 * 24 * time.Hour, 0}} {
		w.now.Store(c.ahead.Milliseconds())
		if err := w.svc.clean(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, _ := count(); rows != c.left {
			t.Errorf("after %s %d calls are left, want %d", c.ahead, rows, c.left)
		}
		for _, key := range before {
			if _, err := w.svc.results.Bucket.Get(t.Context(), key); errors.Is(err, blob.ErrNotFound) != (c.left == 0) {
				t.Errorf("after %s the stored result is %v", c.ahead, err)
			}
		}
	}
}

func countOf(ctx context.Context, tx bun.IDB) (int, error) {
	n, err := tx.NewSelect().Model((*schema.ToolCall)(nil)).Count(ctx)
	return int(n), err
}
