package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/artifact"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/filetool"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/hostroot"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/toolkit"
)

// The tools by which models run code.
const (
	ToolCode  = "run_code"
	ToolShell = "run_shell"
)

const (
	toolTimeout = 60 * time.Second
	// defaultWorkspace is that of calls that are made for no conversation.
	defaultWorkspace = "default"
	// resultChars is the room of a result's JSON text, just under that at which
	// it would be cut in the middle of a word. artifactChars is what the list of
	// files may take of it.
	resultChars   = 23_800
	artifactChars = 6_000
	// quietShare of the room is kept for each stream, however long the other is.
	quietShare = 4
)

// Words for the models, which are part of every prompt.
const (
	codeDescription = "Runs a program and returns what it printed, its exit code and the files that it made or changed. %s " +
		"Print what you want to see. Python has what the machine has installed, often numpy, pandas and matplotlib; save charts as files. " +
		"In JavaScript, require files of the workspace by their whole path. " +
		"An exit code other than 0 is the program's own failure: read stderr, mend the code and run it again."
	shellDescription = "Runs a bash command or script and returns what it printed, its exit code and the files that it made or changed. %s " +
		"For calculations and data use run_code."
	placeDescription = "It runs in a sandbox of its own without a network, for at most %d seconds and with at most %d MiB of memory, " +
		"and is gone with all that it started when it ends. " +
		"The current folder is /workspace, the workspace of the conversation, on which the file tools work too: " +
		"files in it stay for the next call, variables and everything elsewhere do not.%s"
)

// describe puts the limits and folders of this machine into a description.
func (s *Service) describe(description string) string {
	roots := ""
	if len(s.cfg.Roots) > 0 {
		roots = " These folders of the machine can be read: " + strings.Join(s.cfg.roots(), ", ") + "."
	}
	place := fmt.Sprintf(placeDescription, int(s.cfg.Limits.Wall.Seconds()), s.cfg.Limits.MemoryMiB, roots)
	return fmt.Sprintf(description, place)
}

type codeInput struct {
	Language string `json:"language" jsonschema:"language of the code: python, javascript (Node.js) or bash"`
	Code     string `json:"code" jsonschema:"the whole program; it is run as a file and may have many lines"`
}

type shellInput struct {
	Command string `json:"command" jsonschema:"the bash command or script to run"`
}

// toolOutput is the result's JSON.
type toolOutput struct {
	Success            bool                `json:"success"`
	Status             string              `json:"status"`
	ExitCode           int                 `json:"exit_code"`
	Signal             string              `json:"signal,omitempty"`
	Stdout             string              `json:"stdout"`
	Stderr             string              `json:"stderr"`
	StdoutTruncated    bool                `json:"stdout_truncated,omitempty"`
	StderrTruncated    bool                `json:"stderr_truncated,omitempty"`
	Artifacts          []artifact.Artifact `json:"artifacts"`
	ArtifactsTruncated bool                `json:"artifacts_truncated,omitempty"`
	DurationMS         int64               `json:"duration_ms"`
	Message            string              `json:"message,omitempty"`
	Enforcement        map[string]string   `json:"enforcement,omitempty"`
}

// newTools makes the service's ToolProvider.
func (s *Service) newTools() (*toolkit.Provider, error) {
	p := toolkit.New(toolkit.Config{Name: "sandbox", Logger: s.log, Caller: callerID, KeyStore: s.keys})
	tool := toolkit.Tool{
		Name: ToolCode, Title: "Run code", Description: s.describe(codeDescription), Version: "1",
		Effect: toolkit.EffectQueryable, Sink: toolkit.SinkExec, OutputUntrusted: true,
		Timeout: toolTimeout, Schema: refineCode,
	}
	err := toolkit.Add(p, tool, func(ctx context.Context, call *toolkit.Call, in codeInput) (toolkit.Result, error) {
		return s.runTool(ctx, call, in.Language, in.Code)
	})
	if err != nil {
		return nil, err
	}
	tool.Name, tool.Title, tool.Description, tool.Schema = ToolShell, "Run a shell command", s.describe(shellDescription), refineShell
	err = toolkit.Add(p, tool, func(ctx context.Context, call *toolkit.Call, in shellInput) (toolkit.Result, error) {
		return s.runTool(ctx, call, execution.Bash, in.Command)
	})
	if err != nil {
		return nil, err
	}
	files := filetool.Tools{Workspaces: s.workspaces, Roots: hostroot.Roots(s.cfg.roots()), Fetcher: s.fetcher}
	return p, files.Add(p)
}

func callerID(ctx context.Context) string {
	p, _ := auth.FromContext(ctx)
	return p.ID()
}

// refineCode and refineShell put the limits into the schema that models see.
func refineCode(schema *jsonschema.Schema) {
	schema.Properties["language"].Enum = []any{execution.Python, execution.JavaScript, execution.Bash}
	schema.Properties["code"].MinLength = jsonschema.Ptr(1)
}

func refineShell(schema *jsonschema.Schema) {
	schema.Properties["command"].MinLength = jsonschema.Ptr(1)
}

// workspaceOf is the workspace that a call works in.
func workspaceOf(call *toolkit.Call) string {
	if call.Conversation == "" {
		return defaultWorkspace
	}
	return call.Conversation
}

// runTool runs a program for a model. However the program ends is an answer;
// only a program that was not run, or whose sandbox failed, is a failure.
func (s *Service) runTool(ctx context.Context, call *toolkit.Call, language, code string) (toolkit.Result, error) {
	p, err := auth.RequireUser(ctx)
	if err != nil {
		return toolkit.Result{}, err
	}
	x, err := s.executions.Start(ctx, p.ID(), "", execution.Request{
		User: p.UserID, Language: language, Code: code, Workspace: workspaceOf(call),
	})
	if err != nil {
		return toolFailure(err)
	}
	call.Progress("waiting for a turn", 0, 0)
	select {
	case <-x.Started():
		call.Progress("running", 0, 0)
	case <-x.Done():
	}
	<-x.Done() // soon after ctx ends
	r, err := x.Result()
	switch {
	case err != nil:
		return toolFailure(err)
	case r.Status == execution.StatusSandboxError:
		return toolkit.Fail(ReasonSandboxError, r.Message, true), nil
	case r.Status == isolate.StatusCancelled:
		return toolkit.Result{}, context.Cause(ctx)
	}
	out := toolResult(r)
	if len(call.Changes) > 0 {
		out.Message = strings.TrimSpace(out.Message + " Note on the arguments: " + strings.Join(call.Changes, "; "))
	}
	return toolkit.JSON(out), nil
}

// toolFailure turns a refusal into words for the model.
func toolFailure(err error) (toolkit.Result, error) {
	if errors.Is(err, context.DeadlineExceeded) { // a program that runs is given less time than its call
		return toolkit.Fail(ReasonBusy, "Programs of others were before this one until the time of the call was over: nothing was run. Try again later.", true), nil
	}
	refusal, ok := errors.AsType[*rpcerr.Error](shape(err))
	if !ok || refusal.Reason() == ReasonShuttingDown {
		return toolkit.Result{}, shape(err)
	}
	message, retryable := refusal.Message(), refusal.Code() == codes.Unavailable
	if wait, ok := rpcerr.RetryDelay(refusal); ok {
		message, retryable = message+fmt.Sprintf(" Wait about %d seconds.", int(wait/time.Second)+1), true
	}
	if refusal.Reason() == ReasonUnavailable || refusal.Reason() == ReasonNoLanguage {
		message += " Nothing was run. Go on without, and tell the user what is missing."
	}
	return toolkit.Fail(refusal.Reason(), message, retryable), nil
}

// toolResult brings a result into the room that a model gives it: files first,
// then the streams, of which the longer one is shortened in its middle.
func toolResult(r execution.Result) toolOutput {
	out := toolOutput{
		Success: true, Status: r.Status, ExitCode: r.ExitCode, Signal: r.Signal,
		Artifacts: r.Artifacts, ArtifactsTruncated: r.ArtifactsTruncated,
		DurationMS: r.Wall.Milliseconds(), Message: r.Message, Enforcement: r.Enforcement,
	}
	if out.Artifacts == nil {
		out.Artifacts = []artifact.Artifact{}
	}
	for jsonChars(out.Artifacts) > artifactChars {
		out.Artifacts, out.ArtifactsTruncated = out.Artifacts[:len(out.Artifacts)-1], true
	}
	room := resultChars - jsonChars(out)
	stdout, stderr := r.Stdout, r.Stderr
	stderr = stderr.Shorten(max(room/quietShare, room-stdout.JSONChars()))
	stdout = stdout.Shorten(room - stderr.JSONChars())
	out.Stdout, out.StdoutTruncated = stdout.String(), stdout.Truncated()
	out.Stderr, out.StderrTruncated = stderr.String(), stderr.Truncated()
	if (out.StdoutTruncated || out.StderrTruncated) && r.Status != isolate.StatusOutputLimit {
		out.Message = strings.TrimSpace(out.Message + " " + tooLong)
	}
	return out
}

// tooLong tells a model what to do about output that was cut. Room for it is
// kept below the limit.
const tooLong = "The output is too long to be shown whole: write it to a file, and read that in parts or search it."

// jsonChars is how many characters v takes as JSON.
func jsonChars(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and lists always encode
	}
	return utf8.RuneCount(text)
}
