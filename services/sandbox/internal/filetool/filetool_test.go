package filetool

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"

	toolv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/tool/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/hostroot"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a provider with the file tools, called by a user in a conversation.
type bench struct {
	client  toolv1.ToolProviderServiceClient
	store   *workspace.Store
	userID  string
	talk    string
	nextKey int
}

func newBench(t *testing.T, roots ...string) *bench {
	t.Helper()
	return newBenchWith(t, nil, roots...)
}

// newBenchWith has a fetcher, too.
func newBenchWith(t *testing.T, fetcher grpc.ClientConnInterface, roots ...string) *bench {
	t.Helper()
	b := &bench{userID: "usr_ann", talk: "c1"}
	var err error
	b.store, err = workspace.Open(t.TempDir(), workspace.Quota{Bytes: 512 << 10, Files: 300})
	if err != nil {
		t.Fatal(err)
	}
	p := toolkit.New(toolkit.Config{Name: "sandbox", KeyStore: toolkit.NewMemoryKeyStore(toolkit.MemoryKeyStoreConfig{})})
	if err := (Tools{Workspaces: b.store, Roots: hostroot.Roots(roots), Fetcher: fetcher}).Add(p); err != nil {
		t.Fatal(err)
	}
	lis := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.StreamInterceptor(func(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return next(srv, principalStream{s})
	}))
	p.Register(server)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:///sandbox", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	b.client = toolv1.NewToolProviderServiceClient(conn)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = p.Close()
		server.Stop()
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// principalStream has the user that the metadata names.
type principalStream struct{ grpc.ServerStream }

func (s principalStream) Context() context.Context {
	ctx := s.ServerStream.Context()
	if user := metadata.ValueFromIncomingContext(ctx, "test-user"); len(user) > 0 {
		return auth.NewContext(ctx, auth.UserPrincipal(user[0], auth.ScopeAll))
	}
	return ctx
}

// call calls a tool and answers its result and whether it is a failure.
func (b *bench) call(t *testing.T, name string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	b.nextKey++
	ctx := metadata.AppendToOutgoingContext(t.Context(), "test-user", b.userID)
	if b.talk != "" {
		ctx = toolkit.WithConversation(ctx, b.talk)
	}
	got, err := toolkit.Invoke(ctx, b.client, &toolv1.CallToolRequest{Name: name, ArgumentsJson: string(raw), EffectKey: fmt.Sprint("k", b.nextKey)}, toolkit.InvokeOptions{})
	if err != nil {
		t.Fatalf("%s %s: %v", name, raw, err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(got.ContentJSON), &out); err != nil {
		t.Fatal(err)
	}
	if out["success"] == got.IsError {
		t.Errorf("success is %v and is_error %t in %s", out["success"], got.IsError, got.ContentJSON)
	}
	return out, got.IsError
}

func (b *bench) ok(t *testing.T, name string, args map[string]any) map[string]any {
	t.Helper()
	out, failed := b.call(t, name, args)
	if failed {
		t.Fatalf("%s %v: %v", name, args, out["error"])
	}
	return out
}

func (b *bench) fails(t *testing.T, name string, args map[string]any, reason string) string {
	t.Helper()
	out, failed := b.call(t, name, args)
	if !failed {
		t.Errorf("%s %.200v: %v, want a failure %s", name, args, out, reason)
		return ""
	}
	e := out["error"].(map[string]any)
	if e["reason"] != reason {
		t.Errorf("%s %.200v: %v, want %s", name, args, e, reason)
	}
	return e["message"].(string)
}

type m = map[string]any

func TestTheToolsAreDescribed(t *testing.T) {
	b := newBench(t)
	list, err := b.client.ListTools(t.Context(), &toolv1.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.GetTools() {
		got = append(got, fmt.Sprintf("%s %s %s %t", tool.GetName(), tool.GetEffect(), tool.GetSink(), tool.GetOutputUntrusted()))
	}
	want := []string{
		"count_top_k pure read true", "delete_file keyed write false", "list_files pure read true", "read_file pure read true", "write_file keyed write false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("tools %q", got)
	}
}

func TestAFileIsWrittenListedReadAndDeleted(t *testing.T) {
	b := newBench(t)
	if words := b.fails(t, "list_files", m{}, "NOT_FOUND"); words != "the workspace has no files yet" {
		t.Errorf("words %q", words)
	}
	out := b.ok(t, "write_file", m{"path": "notes/a.txt", "content": "a <b> & 国\n"})
	if out["path"] != "notes/a.txt" || out["size_bytes"] != 12.0 || out["replaced"] != false || len(out["sha256"].(string)) != 64 {
		t.Errorf("written %v", out)
	}
	for _, path := range []string{"notes/a.txt", "./notes/a.txt", "/workspace/notes/a.txt"} {
		if out = b.ok(t, "read_file", m{"path": path}); out["text"] != "a <b> & 国\n" || out["truncated"] != false || out["mime_type"] != "text/plain" || out["path"] != "notes/a.txt" {
			t.Errorf("%s: %v", path, out)
		}
	}
	for _, path := range []string{"notes", "/workspace/notes"} {
		out = b.ok(t, "list_files", m{"path": path})
		if files := out["files"].([]any); len(files) != 1 || files[0].(m)["path"] != "notes/a.txt" || files[0].(m)["type"] != "file" {
			t.Errorf("%s: %v", path, out)
		}
	}
	for _, args := range []m{{}, {"path": "."}, {"path": "/workspace"}, {"path": "/workspace/"}} {
		if files := b.ok(t, "list_files", args)["files"].([]any); len(files) != 1 || files[0].(m)["type"] != "folder" {
			t.Errorf("%v: %v", args, files)
		}
	}
	b.fails(t, "delete_file", m{"path": "notes"}, workspace.ReasonFolderNotEmpty)
	b.ok(t, "delete_file", m{"path": "notes/a.txt"})
	b.fails(t, "read_file", m{"path": "notes/a.txt"}, "NOT_FOUND")
	b.ok(t, "delete_file", m{"path": "notes", "recursive": true})
}

func TestALongFileIsReadPageByPage(t *testing.T) {
	b := newBench(t)
	text := strings.Repeat("国abc\n", 1000) // 5,000 characters
	b.ok(t, "write_file", m{"path": "long.txt", "content": text})
	var got strings.Builder
	pages := 0
	for args := (m{"path": "long.txt"}); ; pages++ {
		out := b.ok(t, "read_file", args)
		got.WriteString(out["text"].(string))
		if out["truncated"] == false {
			break
		}
		args["offset"] = out["next_offset"]
	}
	if got.String() != text || pages != 2 {
		t.Errorf("%d characters in %d more pages", got.Len(), pages)
	}
	b.fails(t, "read_file", m{"path": "long.txt", "offset": 8000}, "INVALID_ARGUMENT")
}

func TestAFolderWithManyFilesIsListedPageByPage(t *testing.T) {
	b := newBench(t)
	dir, done, err := b.store.Use(b.userID, b.talk)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for i := range 250 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for args := (m{}); ; {
		out := b.ok(t, "list_files", args)
		seen += len(out["files"].([]any))
		if out["truncated"] == false {
			break
		}
		args["cursor"] = out["next_cursor"]
	}
	if seen != 250 {
		t.Errorf("%d of 250 files", seen)
	}
	b.fails(t, "list_files", m{"cursor": "!"}, "INVALID_ARGUMENT")
}

func TestConversationsAndUsersHaveTheirOwnFiles(t *testing.T) {
	b := newBench(t)
	b.ok(t, "write_file", m{"path": "a", "content": "of c1"})
	b.talk = "c2"
	b.fails(t, "read_file", m{"path": "a"}, "NOT_FOUND")
	b.talk = ""
	b.ok(t, "write_file", m{"path": "a", "content": "of none"})
	if page, err := b.store.List(t.Context(), b.userID, "default", "", "", 10); err != nil || len(page.Entries) != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	b.talk, b.userID = "c1", "usr_bob"
	b.fails(t, "read_file", m{"path": "a"}, "NOT_FOUND")
	b.fails(t, "delete_file", m{"path": "a"}, "NOT_FOUND")
}

func TestWhatCannotBeDoneIsSaid(t *testing.T) {
	b := newBench(t)
	b.ok(t, "write_file", m{"path": "a.txt", "content": "x"})
	b.ok(t, "write_file", m{"path": "bin", "content": "\x01\x02"})
	for _, tc := range []struct {
		tool   string
		args   m
		reason string
	}{
		{"read_file", m{"path": "../x"}, "INVALID_ARGUMENT"},
		{"read_file", m{"path": "/workspace/../x"}, "INVALID_ARGUMENT"},
		{"read_file", m{"path": ".//etc/passwd"}, "INVALID_ARGUMENT"},
		{"read_file", m{"path": "/etc/passwd"}, hostroot.ReasonNotAllowed},
		{"list_files", m{"path": "/etc"}, hostroot.ReasonNotAllowed},
		{"count_top_k", m{"path": "/etc/passwd"}, hostroot.ReasonNotAllowed},
		{"write_file", m{"path": "/tmp/x", "content": ""}, hostroot.ReasonNotAllowed},
		{"delete_file", m{"path": "/etc/passwd"}, hostroot.ReasonNotAllowed},
		{"read_file", m{"path": "bin"}, workspace.ReasonNotText},
		{"write_file", m{"path": "a.txt/b", "content": ""}, workspace.ReasonNotFolder},
		{"delete_file", m{"path": "."}, "INVALID_ARGUMENT"},
		{"delete_file", m{"path": "/workspace", "recursive": true}, "INVALID_ARGUMENT"},
		{"write_file", m{"path": "big", "content": strings.Repeat("国", 200_000)}, workspace.ReasonQuotaExceeded},
		{"count_top_k", m{}, toolkit.ReasonInvalidArguments},
		{"count_top_k", m{"path": "a.txt", "text": "x"}, toolkit.ReasonInvalidArguments},
		{"count_top_k", m{"path": "a.txt", "pattern": "(?<x"}, "INVALID_PATTERN"},
		{"count_top_k", m{"path": "nothing"}, "NOT_FOUND"},
		{"read_file", m{"path": ""}, toolkit.ReasonInvalidArguments},
	} {
		if words := b.fails(t, tc.tool, tc.args, tc.reason); len(words) < 10 {
			t.Errorf("%s %v: only %q", tc.tool, tc.args, words)
		}
	}
	if raw, err := os.ReadFile("/tmp/x"); err == nil && len(raw) == 0 {
		t.Error("/tmp/x was written")
	}
}

func TestFrequentLinesAreCounted(t *testing.T) {
	b := newBench(t)
	log := "INFO start\nERROR disk\n\nERROR disk\n  ERROR net \nERROR net\nERROR disk\nINFO end\n"
	b.ok(t, "write_file", m{"path": "app.log", "content": log})
	for _, source := range []m{{"path": "app.log"}, {"text": log}} {
		out := b.ok(t, "count_top_k", source)
		if want := "ERROR disk (x3)\nERROR net (x2)\nINFO start (x1)"; out["markdown"] != want || out["exact"] != true || out["lines"] != 8.0 {
			t.Errorf("%v", out)
		}
		source["k"], source["pattern"] = 1, "^INFO"
		if out = b.ok(t, "count_top_k", source); out["markdown"] != "INFO start (x1)" || out["distinct"] != 2.0 {
			t.Errorf("%v", out)
		}
	}
	if out := b.ok(t, "count_top_k", m{"text": "a", "pattern": "b"}); out["markdown"] != "No lines were counted." {
		t.Errorf("%v", out)
	}
}

func TestFoldersOfTheMachineAreReadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	for _, err := range []error{
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "sys.log"), []byte("a\na\nb\n"), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(dir, "out")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, dir)
	if out := b.ok(t, "count_top_k", m{"path": dir + "/sys.log"}); out["markdown"] != "a (x2)\nb (x1)" {
		t.Errorf("%v", out)
	}
	if out := b.ok(t, "read_file", m{"path": dir + "/sys.log"}); out["text"] != "a\na\nb\n" || out["path"] != dir+"/sys.log" {
		t.Errorf("%v", out)
	}
	if files := b.ok(t, "list_files", m{"path": dir})["files"].([]any); len(files) != 2 || files[1].(m)["path"] != dir+"/sys.log" {
		t.Errorf("%v", files)
	}
	b.fails(t, "read_file", m{"path": dir + "/out"}, hostroot.ReasonLinkOut)
	b.fails(t, "read_file", m{"path": "/etc/passwd"}, hostroot.ReasonNotAllowed)
	b.fails(t, "write_file", m{"path": dir + "/sys.log", "content": "x"}, hostroot.ReasonNotAllowed)
	b.fails(t, "delete_file", m{"path": dir + "/sys.log"}, hostroot.ReasonNotAllowed)
	if raw, err := os.ReadFile(filepath.Join(dir, "sys.log")); err != nil || string(raw) != "a\na\nb\n" {
		t.Errorf("%q, %v", raw, err)
	}
}
