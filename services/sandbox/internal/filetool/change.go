package filetool

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// maxContentChars is the longest text that one call writes.
const maxContentChars = 1_000_000

type writeIn struct {
	Path    string `json:"path" jsonschema:"path of the file in the workspace; folders on the way are made"`
	Content string `json:"content" jsonschema:"the whole text of the file"`
}

type writeOut struct {
	Success   bool     `json:"success"`
	Path      string   `json:"path"`
	SizeBytes int64    `json:"size_bytes"`
	SHA256    string   `json:"sha256"`
	Replaced  bool     `json:"replaced"`
	Notes     []string `json:"notes,omitempty"`
}

func (t Tools) addWrite(p *toolkit.Provider) error {
	return toolkit.Add(p, toolkit.Tool{
		Name: "write_file", Title: "Write a file", Version: "1",
		Description: "Writes a text file into the workspace, where programs that run_code and run_shell start find it in their current folder. " +
			"A file that is there already is replaced as a whole.",
		Effect: toolkit.EffectKeyed, Sink: toolkit.SinkWrite, Timeout: timeout,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["path"].MinLength = jsonschema.Ptr(1)
			s.Properties["content"].MaxLength = jsonschema.Ptr(maxContentChars)
		},
	}, t.write)
}

func (t Tools) write(ctx context.Context, call *toolkit.Call, in writeIn) (toolkit.Result, error) {
	at, err := own(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	w, err := t.Workspaces.Create(ctx, workspace.Target{User: at.user, Workspace: at.workspace, Path: at.path})
	if err != nil {
		return failed(err)
	}
	defer w.Abort()
	if _, err := io.WriteString(w, in.Content); err != nil {
		return failed(err)
	}
	done, err := w.Commit(ctx)
	if err != nil {
		return failed(err)
	}
	return answered(writeOut{true, done.Path, done.Size, done.SHA256, done.Replaced, call.Changes})
}

type deleteIn struct {
	Path      string `json:"path" jsonschema:"path of the file or folder in the workspace"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"delete a folder with all that is in it"`
}

type deleteOut struct {
	Success bool     `json:"success"`
	Path    string   `json:"path"`
	Message string   `json:"message"`
	Notes   []string `json:"notes,omitempty"`
}

func (t Tools) addDelete(p *toolkit.Provider) error {
	return toolkit.Add(p, toolkit.Tool{
		Name: "delete_file", Title: "Delete a file", Version: "1",
		Description: "Deletes a file of the workspace, or a folder: an empty one, or with recursive one with all that is in it. It cannot be undone.",
		Effect:      toolkit.EffectKeyed, Sink: toolkit.SinkWrite, Timeout: timeout,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["path"].MinLength = jsonschema.Ptr(1)
			s.Properties["recursive"].Default = json.RawMessage(`false`)
		},
	}, t.remove)
}

func (t Tools) remove(ctx context.Context, call *toolkit.Call, in deleteIn) (toolkit.Result, error) {
	at, err := own(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	if err := t.Workspaces.Delete(ctx, at.user, at.workspace, at.path, in.Recursive); err != nil {
		return failed(err)
	}
	return answered(deleteOut{true, at.path, "deleted", call.Changes})
}
