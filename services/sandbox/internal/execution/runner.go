// Package execution runs programs: it waits for a turn, gives the program its
// workspace and its sandbox, takes what it writes, and says how it ended in
// words. Executions with a key are remembered and run once.
package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/admission"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/artifact"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/filetype"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

const (
	// maxArtifacts are listed.
	maxArtifacts = 100
	// answerTime is left of a deadline for the answer, when the program has been
	// stopped.
	answerTime = time.Second
	// noticeableWait is how long a program is held up by its readers before its
	// result tells.
	noticeableWait = time.Second
	// minWall is the least time that a program is given.
	minWall = 100 * time.Millisecond
	// minFileBytes and minFiles may be written also where a workspace is full, so
	// that a program can tidy up.
	minFileBytes = 64 << 10
	minFiles     = 16
)

// Request is a program to run.
type Request struct {
	// User is the id of its user.
	User     string
	Language string
	Code     string
	Stdin    []byte
	// Workspace is the id of the workspace that it works in; empty: a folder in
	// memory.
	Workspace string
	// Timeout is the time that it may take; the configured limit when 0 or over
	// it.
	Timeout time.Duration
}

// Workspaces has the folders that programs work in.
type Workspaces interface {
	// Use gives the host folder of a user's workspace, which it makes if need be.
	// done is called when the program that uses it has ended.
	Use(user, workspace string) (dir string, done func(), err error)
}

// NoLanguageError says that a language cannot be run on this machine.
type NoLanguageError struct{ Language string }

func (e *NoLanguageError) Error() string { return e.Language + " is not installed on this machine" }

// Runner runs programs. It is safe for concurrent use.
type Runner struct {
	Driver     isolate.Driver
	Machine    *Machine
	Queue      *admission.Queue
	Workspaces Workspaces
	// Limits of every program. FileBytes and Files are what a workspace may hold.
	Limits isolate.Limits
	// Roots are host folders that programs may read.
	Roots []string

	Log    *slog.Logger
	Tracer trace.Tracer
	// Count counts executions by language and status.
	Count metric.Int64Counter
}

// Events are told of a running program; each may be nil.
type Events struct {
	// Started is called when it starts, with the time in the queue and the time
	// to make the sandbox.
	Started func(queue, start time.Duration)
}

// Run runs a program to its end. What it writes goes to out, which is ended
// when Run returns.
//
// An error means that it was not run: [*isolate.Unavailable],
// [*NoLanguageError], [*admission.FullError], that of ctx when it ended in the
// queue, or one of the workspace. A sandbox that fails is a result.
func (r *Runner) Run(ctx context.Context, req Request, out *output.Capture, events Events) (result Result, err error) {
	defer out.End()
	defer context.AfterFunc(ctx, out.Rush)()
	ctx, span := r.Tracer.Start(ctx, "sandbox exec", trace.WithAttributes(attribute.String("nanoclaw.sandbox.language", req.Language)))
	defer func() {
		status := result.Status
		if err != nil {
			status = "refused"
			span.RecordError(err)
			span.SetStatus(codes.Error, "not run")
		} else if result.Failed() {
			span.SetStatus(codes.Error, status)
		}
		span.SetAttributes(attribute.String("nanoclaw.sandbox.status", status))
		span.End()
		r.Count.Add(context.WithoutCancel(ctx), 1, metric.WithAttributes(
			attribute.String("language", req.Language), attribute.String("status", status)))
	}()
	if err := r.check(ctx, req); err != nil {
		return Result{}, err
	}
	begun := time.Now()
	leave, err := r.Queue.Enter(ctx, req.User, req.place())
	if err != nil {
		return Result{}, err
	}
	defer leave()
	queue := time.Since(begun)
	span.SetAttributes(attribute.Int64("nanoclaw.sandbox.queue_ms", queue.Milliseconds()))
	if events.Started == nil {
		events.Started = func(_, _ time.Duration) {}
	}
	result, err = r.admitted(ctx, req, out, func(s isolate.Start) { events.Started(queue, s.Took) })
	result.Queue = queue
	return result, err
}

// place is the name of the workspace among those of all users. Programs take
// turns in one, so that each artifact is of the program that made it.
func (q Request) place() string {
	if q.Workspace == "" {
		return ""
	}
	return q.User + "/" + q.Workspace
}

// check refuses what this machine cannot run, before it waits.
func (r *Runner) check(ctx context.Context, req Request) error {
	caps := r.Machine.Capabilities(ctx)
	if missing := caps.Missing(); len(missing) > 0 {
		return &isolate.Unavailable{Missing: missing}
	}
	if caps.Languages[req.Language] == "" {
		return &NoLanguageError{req.Language}
	}
	return nil
}

// admitted runs a program whose turn it is.
func (r *Runner) admitted(ctx context.Context, req Request, out *output.Capture, started func(isolate.Start)) (Result, error) {
	limits := r.Limits
	if req.Timeout > 0 {
		limits.Wall = min(limits.Wall, req.Timeout)
	}
	if deadline, ok := ctx.Deadline(); ok {
		limits.Wall = max(min(limits.Wall, time.Until(deadline)-answerTime), minWall)
	}
	p := newProgram(req.Language, req.Code)
	spec := isolate.Spec{
		Argv: p.argv, Files: p.files, Env: environment, ReadOnly: existing(r.Roots),
		Stdout: out.Stdout(), Stderr: out.Stderr(), Started: started, Ended: out.Rush, Limits: limits,
	}
	if len(req.Stdin) > 0 {
		spec.Stdin = bytes.NewReader(req.Stdin)
	}
	if req.Workspace == "" {
		return r.run(ctx, spec, out)
	}
	return r.inWorkspace(ctx, req, spec, out)
}

// inWorkspace runs a program on a folder of the host, and tells which files it
// made or changed.
func (r *Runner) inWorkspace(ctx context.Context, req Request, spec isolate.Spec, out *output.Capture) (Result, error) {
	dir, done, err := r.Workspaces.Use(req.User, req.Workspace)
	if err != nil {
		return Result{}, err
	}
	defer done()
	reopen(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	before, err := artifact.Take(root)
	if err != nil {
		return Result{}, err
	}
	spec.Workspace = dir
	spec.Limits.FileBytes = max(spec.Limits.FileBytes-before.Bytes, minFileBytes)
	spec.Limits.Files = max(spec.Limits.Files-before.Files, minFiles)
	result, err := r.run(ctx, spec, out)
	if err != nil {
		return result, err
	}
	reopen(dir)
	after, err := artifact.Take(root)
	if errors.Is(err, fs.ErrNotExist) {
		result.Message = strings.TrimSpace(result.Message + " " + workspaceGone)
		return result, nil
	}
	if err != nil { // the program may have taken its own folder away from us
		r.Log.WarnContext(ctx, "the files of a program cannot be listed", "error", err)
		result.ArtifactsTruncated = true
		return result, nil
	}
	var more bool
	result.Artifacts, more = artifact.Describe(root, after.Since(before), maxArtifacts, filetype.Detect)
	result.ArtifactsTruncated = more || after.Partial || before.Partial
	return result, nil
}

// folderMode is that of workspaces.
const folderMode = 0o700

// reopen undoes that a program has closed its own folder to everybody. It could
// not put anything else in the place of that folder.
func reopen(dir string) { _ = os.Chmod(dir, folderMode) } // a folder that is gone is told by whoever opens it

// run gives the program its sandbox.
func (r *Runner) run(ctx context.Context, spec isolate.Spec, out *output.Capture) (Result, error) {
	end, err := r.Driver.Run(ctx, spec)
	if unavailable, ok := errors.AsType[*isolate.Unavailable](err); ok {
		return Result{}, unavailable
	}
	if errors.Is(err, isolate.ErrClosed) {
		return Result{}, err
	}
	if err != nil {
		r.Log.ErrorContext(ctx, "sandbox failed", "error", err)
		return broken(), nil
	}
	result := Result{
		Status: end.Status, ExitCode: end.ExitCode, Signal: end.Signal,
		Wall: end.Wall, CPU: end.CPU, Start: end.Start,
		MaxMemoryBytes: end.MaxMemoryBytes, Enforcement: end.Enforcement,
	}
	result.Stdout, result.Stderr = out.Texts()
	result.Message = message(end, result.Stdout.String()+result.Stderr.String() == "")
	if waited := out.Waited(); end.Status == isolate.StatusTimeoutWall && waited >= noticeableWait {
		result.Message += fmt.Sprintf(" For %s of it, its output was not read and it had to wait.", waited.Round(time.Second))
	}
	return result, nil
}

// existing are the folders that are there: one that is not is no reason to run
// nothing.
func existing(roots []string) []string {
	var out []string
	for _, dir := range roots {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			out = append(out, dir)
		}
	}
	return out
}
