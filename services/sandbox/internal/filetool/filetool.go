// Package filetool has the tools that work on files: read_file, read_document,
// write_file, list_files, delete_file and count_top_k. They work in the workspace of the
// conversation; those that only read can also read under the folders of the
// machine that the operator opened for them.
package filetool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/hostroot"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/workspace"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

const (
	// defaultWorkspace is that of calls without a conversation.
	defaultWorkspace = "default"
	// mount is where a program in a sandbox sees its workspace.
	mount = "/workspace"

	timeout      = 15 * time.Second
	countTimeout = 60 * time.Second
	maxPathChars = 4096
)

// Tools are the file tools of one provider.
type Tools struct {
	// Workspaces have the files.
	Workspaces *workspace.Store
	// Roots are folders of the machine that may be read.
	Roots hostroot.Roots
	// Fetcher leads to FetcherService, which reads documents; nil: there is no
	// read_document.
	Fetcher grpc.ClientConnInterface

	counts chan struct{} // one token a running count
}

// maxCounts is how many files are counted at a time: each count remembers a
// million lines.
const maxCounts = 2

// Add adds the tools to a provider, which must have a key store.
func (t Tools) Add(p *toolkit.Provider) error {
	t.counts = make(chan struct{}, maxCounts)
	return errors.Join(t.addRead(p), t.addDocument(p), t.addWrite(p), t.addList(p), t.addDelete(p), t.addCount(p))
}

// place is where a path of a call leads.
type place struct {
	user, workspace string
	// path in the workspace, or absolute under a root.
	path string
	// outside says that it is a path of the machine.
	outside bool
}

// find reads a path as a model writes it: relative, from ./ on, or as programs
// see it, below /workspace.
func find(ctx context.Context, call *toolkit.Call, name string) (place, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return place{}, err
	}
	at := place{user: p.UserID, workspace: call.Conversation}
	if at.workspace == "" {
		at.workspace = defaultWorkspace
	}
	switch {
	case name == mount:
		name = ""
	case strings.HasPrefix(name, mount+"/"):
		name = strings.TrimPrefix(name, mount+"/")
	case strings.HasPrefix(name, "/"):
		at.outside = true
	case name == ".":
		name = ""
	}
	if !at.outside {
		name = strings.TrimPrefix(name, "./")
	}
	at.path = name
	return at, nil
}

// own is find for tools that change something: never outside the workspace.
func own(ctx context.Context, call *toolkit.Call, name string) (place, error) {
	at, err := find(ctx, call, name)
	if err == nil && at.outside {
		err = rpcerr.New(codes.PermissionDenied, hostroot.ReasonNotAllowed,
			"%q is outside the workspace: only files of the workspace can be changed, give a path without / at its beginning", name)
	}
	return at, err
}

// open opens the file at a place to be read.
func (t Tools) open(at place) (*workspace.File, error) {
	if !at.outside {
		return t.Workspaces.Open(at.user, at.workspace, at.path)
	}
	f, info, err := t.Roots.OpenFile(at.path)
	if err != nil {
		return nil, err
	}
	entry := workspace.Describe(at.path, info)
	if entry.MIME, err = workspace.TypeOf(f, path.Base(at.path)); err != nil {
		return nil, errors.Join(fmt.Errorf("read %q: %w", at.path, err), f.Close())
	}
	return &workspace.File{File: f, Entry: entry}, nil
}

// openFolder opens a folder of the machine.
func (t Tools) openFolder(at place) (*os.File, error) { return t.Roots.OpenFolder(at.path) }

// origin names a file as the source of what is read from it.
func origin(at place) string {
	if at.outside {
		return "file:" + strings.ToValidUTF8(at.path, "\uFFFD")
	}
	return "file:" + mount + "/" + strings.ToValidUTF8(at.path, "\uFFFD")
}

// failed is the result of a call that failed in the tool's own terms. What is
// not for the model to know stays an error.
func failed(err error) (toolkit.Result, error) {
	e, ok := rpcerr.As(err)
	if !ok || e.Code() == codes.Unauthenticated || e.Reason() == auth.ReasonUserRequired {
		return toolkit.Result{}, err
	}
	if e.Code() == codes.NotFound && strings.HasPrefix(e.Message(), "workspace") {
		return toolkit.Fail(e.Reason(), "the workspace has no files yet", false), nil
	}
	return toolkit.Fail(e.Reason(), e.Message(), e.Code() == codes.Aborted || e.Code() == codes.Unavailable), nil
}

// answered is a result, without escaping <, > and &, which would cost the model's
// window five characters each.
func answered(v any, origins ...string) (toolkit.Result, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return toolkit.Result{}, err
	}
	return toolkit.Result{RawJSON: bytes.TrimRight(b.Bytes(), "\n"), Origins: origins}, nil
}

// bound gives a number its limits and its default.
func bound(s *jsonschema.Schema, low, high float64, value int) {
	s.Minimum, s.Maximum = &low, &high
	s.Default = json.RawMessage(fmt.Sprint(value))
}

func pathSchema(s *jsonschema.Schema) { s.MaxLength = jsonschema.Ptr(maxPathChars) }
