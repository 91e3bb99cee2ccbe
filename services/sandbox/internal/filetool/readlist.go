package filetool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	readDefault = 2000
	readMin     = 100
	readMax     = 20_000
	listLimit   = 100
)

type readIn struct {
	Path     string `json:"path" jsonschema:"path of the file in the workspace"`
	Offset   int    `json:"offset,omitempty" jsonschema:"where to read on: next_offset of the answer before"`
	MaxChars int    `json:"max_chars,omitempty" jsonschema:"most characters of text in one answer"`
}

type readOut struct {
	Success    bool     `json:"success"`
	Path       string   `json:"path"`
	Text       string   `json:"text"`
	Truncated  bool     `json:"truncated"`
	NextOffset int64    `json:"next_offset,omitempty"`
	SizeBytes  int64    `json:"size_bytes"`
	MIMEType   string   `json:"mime_type"`
	Notes      []string `json:"notes,omitempty"`
}

func (t Tools) addRead(p *toolkit.Provider) error {
	return toolkit.Add(p, toolkit.Tool{
		Name: "read_file", Title: "Read a file", Version: "1",
		Description: "Reads a text file of the workspace: its first 2,000 characters. " +
			"When truncated is true, call again with offset set to next_offset to read on. " +
			"For the most frequent lines of a long log use count_top_k instead of reading it.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead, OutputUntrusted: true, Timeout: timeout,
		// Not KindDocument: the text itself is paged, and the rest comes on top.
		ResultKind: toolkit.KindData,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["path"].MinLength = jsonschema.Ptr(1)
			bound(s.Properties["offset"], 0, 1<<53, 0)
			bound(s.Properties["max_chars"], readMin, readMax, readDefault)
		},
	}, t.read)
}

func (t Tools) read(ctx context.Context, call *toolkit.Call, in readIn) (toolkit.Result, error) {
	at, err := find(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	f, err := t.open(at)
	if err != nil {
		return failed(err)
	}
	defer f.Close()
	page, err := workspace.ReadText(f.File, f.Entry, int64(in.Offset), in.MaxChars)
	if err != nil {
		return failed(err)
	}
	out := readOut{Success: true, Path: f.Entry.Path, Text: page.Text, SizeBytes: f.Entry.Size, MIMEType: f.Entry.MIME, Notes: call.Changes}
	if page.Next < f.Entry.Size {
		out.Truncated, out.NextOffset = true, page.Next
	}
	return answered(out, origin(at))
}

type listIn struct {
	Path   string `json:"path,omitempty" jsonschema:"folder in the workspace; left out: the workspace itself"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
}

type listOut struct {
	Success    bool        `json:"success"`
	Path       string      `json:"path"`
	Files      []listEntry `json:"files"`
	Truncated  bool        `json:"truncated"`
	NextCursor string      `json:"next_cursor,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

type listEntry struct {
	Path       string `json:"path"`
	Type       string `json:"type"`
	SizeBytes  int64  `json:"size_bytes"`
	ModifiedAt string `json:"modified_at"`
}

func (t Tools) addList(p *toolkit.Provider) error {
	return toolkit.Add(p, toolkit.Tool{
		Name: "list_files", Title: "List files", Version: "1",
		Description: "Lists a folder of the workspace by name: path, type (file, folder, link, other), size and time of each entry, " +
			"at most 100 in one answer. When truncated is true, call again with cursor set to next_cursor.",
		Effect: toolkit.EffectPure, Sink: toolkit.SinkRead, OutputUntrusted: true, Timeout: timeout, ResultKind: toolkit.KindData,
		Schema: func(s *jsonschema.Schema) {
			pathSchema(s.Properties["path"])
			s.Properties["path"].Default = json.RawMessage(`""`)
			s.Properties["cursor"].MaxLength = jsonschema.Ptr(1024)
		},
	}, t.list)
}

func (t Tools) list(ctx context.Context, call *toolkit.Call, in listIn) (toolkit.Result, error) {
	at, err := find(ctx, call, in.Path)
	if err != nil {
		return failed(err)
	}
	after, err := workspace.DecodeCursor(in.Cursor)
	if err != nil {
		return failed(err)
	}
	page, err := t.listing(ctx, at, after)
	if err != nil {
		return failed(err)
	}
	out := listOut{Success: true, Path: at.path, Files: []listEntry{}, Truncated: page.More, Notes: call.Changes}
	for _, e := range page.Entries {
		out.Files = append(out.Files, listEntry{e.Path, e.Type, e.Size, e.Modified.UTC().Format(time.RFC3339)})
	}
	if page.More {
		out.NextCursor = workspace.EncodeCursor(page.Last)
	}
	return answered(out, origin(at))
}

func (t Tools) listing(ctx context.Context, at place, after string) (workspace.Listing, error) {
	if !at.outside {
		return t.Workspaces.List(ctx, at.user, at.workspace, at.path, after, listLimit)
	}
	dir, err := t.openFolder(at)
	if err != nil {
		return workspace.Listing{}, err
	}
	page, err := workspace.ListFolder(ctx, dir, at.path, after, listLimit)
	return page, errors.Join(err, dir.Close())
}
