package resulttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/result"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/run"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/taint"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is the tool behind a server with the whole interceptor chain.
type world struct {
	t      *testing.T
	db     *store.DB
	keeper *result.Keeper
	client toolv1.ToolProviderServiceClient
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
	keeper := &result.Keeper{Bucket: bucket}
	provider, err := New(&run.Store{DB: db, Now: time.Now}, keeper, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server, err := rpc.NewServer(rpc.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	provider.Register(server)
	if err := server.SetReady(); err != nil {
		t.Fatal(err)
	}
	conn, err := server.DialInProcess(rpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeInProcess() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(conn.Close(), server.Drain(ctx), <-served, provider.Close(), db.Close(), bucket.Close()); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, db: db, keeper: keeper, client: toolv1.NewToolProviderServiceClient(conn)}
}

// keep stores a result of ann's as a call has it.
func (w *world) keep(id, content string, change ...func(*schema.ToolCall)) schema.ToolCall {
	w.t.Helper()
	c := schema.ToolCall{ID: id, UserID: "usr_ann", Name: "fetch_page", EffectKey: id, State: schema.CallDone, Origins: taint.New("fetch_page:a.org")}
	if err := w.keeper.Keep(w.t.Context(), &c, content, 1000); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range change {
		f(&c)
	}
	err := w.db.Write(w.t.Context(), func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&c).Exec(ctx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) call(p auth.Principal, args string) (toolkit.Outcome, error) {
	ctx := w.t.Context()
	if p.ID() != (auth.Principal{}).ID() {
		ctx = auth.NewContext(ctx, p)
	}
	return toolkit.Invoke(ctx, w.client, &toolv1.CallToolRequest{Name: Name, ArgumentsJson: args}, toolkit.InvokeOptions{})
}

var ann = auth.UserPrincipal("usr_ann", "tools")

// read calls the tool as ann.
func (w *world) read(args string) (a answer, reason string, out toolkit.Outcome) {
	w.t.Helper()
	out, err := w.call(ann, args)
	if err != nil {
		w.t.Fatal(err)
	}
	var failed struct{ Error struct{ Reason string } }
	if err := errors.Join(json.Unmarshal([]byte(out.ContentJSON), &a), json.Unmarshal([]byte(out.ContentJSON), &failed)); err != nil {
		w.t.Fatal(err)
	}
	return a, failed.Error.Reason, out
}

// away is a blob store that cannot be reached.
type away struct{ blob.Bucket }

func (away) Get(context.Context, string) ([]byte, error) {
	return nil, fmt.Errorf("dial: %w", blob.ErrUnavailable)
}

func TestWithoutTheBlobStoreTheModelIsToldToTryAgain(t *testing.T) {
	w := newWorld(t)
	w.keep("call_long", `"`+strings.Repeat("tea ", 20_000)+`"`)
	w.keeper.Bucket = away{w.keeper.Bucket}
	if _, reason, out := w.read(`{"result_id":"call_long"}`); reason != "RESULT_STORE_UNAVAILABLE" || !strings.Contains(out.ContentJSON, `"retryable":true`) {
		t.Errorf("the model is told %s", out.ContentJSON)
	}
}

func TestReadingOnGivesTheWholeText(t *testing.T) {
	w := newWorld(t)
	cases := []struct{ name, text string }{
		{"short", "tea"},
		{"long", strings.Repeat("All about tea. ", 5000)},
		{"long and Chinese", strings.Repeat("茶是一种饮料。", 8000)},
		{"of exactly one page", strings.Repeat("x", defaultChars)},
		{"of exactly two pages", strings.Repeat("é", 2*defaultChars)},
	}
	for i, c := range cases {
		for _, markdown := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, markdown %t", c.name, markdown), func(t *testing.T) {
				id := fmt.Sprintf("call_%d_%t", i, markdown)
				b, err := json.Marshal(c.text)
				want := string(b)
				if markdown {
					b, err = json.Marshal(map[string]any{"success": true, "markdown": c.text})
					want = c.text
				}
				if err != nil {
					t.Fatal(err)
				}
				w.keep(id, string(b))
				var whole strings.Builder
				for offset := 0; ; {
					a, reason, out := w.read(fmt.Sprintf(`{"result_id":%q,"offset":%d}`, id, offset))
					if reason != "" || !a.Success || a.Offset != offset || a.Tool != "fetch_page" || a.ResultID != id || len(out.Origins) != 1 {
						t.Fatalf("at %d: %s", offset, out.ContentJSON)
					}
					page, _, cut := strings.Cut(a.Markdown, "\n\n[Cut: ")
					whole.WriteString(page)
					if cut != (a.NextOffset != 0) || cut && !strings.Contains(a.Markdown, fmt.Sprintf("offset=%d", a.NextOffset)) {
						t.Fatalf("at %d the next offset is %d: %q", offset, a.NextOffset, a.Markdown[len(page):])
					}
					if offset = a.NextOffset; offset == 0 {
						break
					}
				}
				if whole.String() != want {
					t.Errorf("read %d characters, want %d", len(whole.String()), len(want))
				}
			})
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.keep("call_ann", `{"markdown":"tea"}`)
	w.keep("call_bob", `{"markdown":"secret"}`, func(c *schema.ToolCall) { c.UserID = "usr_bob" })
	w.keep("call_running", ``, func(c *schema.ToolCall) { c.State = schema.CallDispatching })
	gone := w.keep("call_gone", `"`+strings.Repeat("x", 50_000)+`"`)
	if err := w.keeper.Delete(t.Context(), []string{gone.ResultBlob}); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, args, reason string }{
		{"of nobody", `{"result_id":"call_none"}`, "RESULT_NOT_FOUND"},
		{"of somebody else", `{"result_id":"call_bob"}`, "RESULT_NOT_FOUND"},
		{"of a call that goes on", `{"result_id":"call_running"}`, "RESULT_NOT_FOUND"},
		{"without an id", `{"result_id":""}`, "RESULT_NOT_FOUND"},
		{"not stored any more", `{"result_id":"call_gone"}`, "RESULT_GONE"},
		{"beyond the end", `{"result_id":"call_ann","offset":3}`, "OFFSET_BEYOND_END"},
		{"without any arguments", `{}`, "INVALID_ARGUMENTS"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, reason, out := w.read(c.args)
			if reason != c.reason || !out.IsError || strings.Contains(out.ContentJSON, "secret") {
				t.Errorf("%s", out.ContentJSON)
			}
		})
	}
}

func TestTheLengthOfAPageIsBounded(t *testing.T) {
	w := newWorld(t)
	b, _ := json.Marshal(map[string]any{"markdown": strings.Repeat("x", 50_000)})
	w.keep("call_1", string(b))
	for asked, want := range map[int]int{1: minChars, 500: 500, 1 << 20: maxChars} {
		a, _, _ := w.read(fmt.Sprintf(`{"result_id":"call_1","max_chars":%d}`, asked))
		page, _, _ := strings.Cut(a.Markdown, "\n\n[Cut: ")
		if len(page) != want || a.NextOffset != want || a.TotalChars != 50_000 {
			t.Errorf("%d asked, %d read, next %d", asked, len(page), a.NextOffset)
		}
	}
}

func TestOnlyUsersRead(t *testing.T) {
	w := newWorld(t)
	w.keep("call_1", `{"markdown":"tea"}`)
	const args = `{"result_id":"call_1"}`
	if _, err := w.call(auth.Principal{}, args); status.Code(err) != codes.Unauthenticated {
		t.Errorf("nobody: %v", err)
	}
	if _, err := w.call(auth.ServicePrincipal("search"), args); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a service for itself: %v", err)
	}
	if _, err := w.call(auth.UserPrincipal("usr_ann", "chat"), args); status.Code(err) != codes.PermissionDenied {
		t.Errorf("without the scope: %v", err)
	}
}
