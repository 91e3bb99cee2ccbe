package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution/executiontest"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// fileAnswer is what the tests read of the results of file tools.
type fileAnswer struct {
	Success  bool
	Text     string
	Markdown string
	Files    []struct{ Path string }
	Error    struct{ Reason string }
}

func (w *world) fileTool(conversation, name, key string, in args) fileAnswer {
	w.t.Helper()
	out, err := w.call(toolkit.WithConversation(w.as("ann"), conversation), name, key, in)
	if err != nil {
		w.t.Fatal(err)
	}
	var got fileAnswer
	if err := json.Unmarshal([]byte(out.ContentJSON), &got); err != nil {
		w.t.Fatal(err)
	}
	return got
}

// What a model writes a program finds, what the program makes the model reads,
// and people see both.
func TestModelsProgramsAndPeopleShareFiles(t *testing.T) {
	w := newWorld(t, &executiontest.Driver{Program: prints})
	if got := w.fileTool("c1", "write_file", "k1", args{"path": "in/data.csv", "content": "a,b\n"}); !got.Success {
		t.Fatalf("%+v", got)
	}
	if _, err := w.call(toolkit.WithConversation(w.as("ann"), "c1"), ToolShell, "k2", args{"command": "total 7"}); err != nil {
		t.Fatal(err)
	}
	if got := w.fileTool("c1", "read_file", "", args{"path": "result.txt"}); got.Text != "total 7" {
		t.Errorf("%+v", got)
	}
	if got := w.fileTool("c1", "list_files", "", args{}); len(got.Files) != 2 || got.Files[0].Path != "in" || got.Files[1].Path != "result.txt" {
		t.Errorf("%+v", got)
	}
	page, err := w.files.ReadFile(w.as("ann"), &sandboxv1.ReadFileRequest{WorkspaceId: "c1", Path: "in/data.csv"})
	if err != nil || page.GetText() != "a,b\n" {
		t.Errorf("%v, %v", page, err)
	}
	if got := w.fileTool("c2", "read_file", "", args{"path": "result.txt"}); got.Error.Reason != "NOT_FOUND" {
		t.Errorf("of another conversation: %+v", got)
	}
}

// A change is made once for one key, whatever happens to the answer.
func TestAFileIsWrittenOnceForAKey(t *testing.T) {
	w := newWorld(t, &executiontest.Driver{})
	write := args{"path": "a", "content": "first"}
	w.fileTool("c1", "write_file", "k1", write)
	w.fileTool("c1", "write_file", "k2", args{"path": "a", "content": "second"})
	if got := w.fileTool("c1", "write_file", "k1", write); !got.Success {
		t.Errorf("%+v", got)
	}
	if got := w.fileTool("c1", "read_file", "", args{"path": "a"}); got.Text != "second" {
		t.Errorf("the file was written again: %q", got.Text)
	}
}

func TestFoldersOfTheConfigurationAreReadByTheFileTools(t *testing.T) {
	logs := t.TempDir()
	if err := os.WriteFile(filepath.Join(logs, "app.log"), []byte("x\ny\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := args{"path": logs + "/app.log"}
	closed := newWorld(t, &executiontest.Driver{})
	if got := closed.fileTool("c1", "count_top_k", "", count); got.Error.Reason != "PATH_NOT_ALLOWED" {
		t.Errorf("without a root: %+v", got)
	}
	open := newWorld(t, &executiontest.Driver{}, func(c *Config, _ *Deps) { c.Roots = []RootConfig{{Path: logs, Mode: "ro"}} })
	if got := open.fileTool("c1", "count_top_k", "", count); got.Markdown != "x (x2)\ny (x1)" {
		t.Errorf("%+v", got)
	}
	if got := open.fileTool("c1", "write_file", "k", args{"path": logs + "/new", "content": ""}); got.Error.Reason != "PATH_NOT_ALLOWED" {
		t.Errorf("a write: %+v", got)
	}
}
