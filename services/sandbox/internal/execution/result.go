package execution

import (
	"fmt"
	"strings"
	"time"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/artifact"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/isolate"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/output"
)

// Statuses beside those of package isolate.
const (
	// StatusLost: the service ended before the program.
	StatusLost = "lost"
	// StatusSandboxError: the sandbox failed, not the program.
	StatusSandboxError = "sandbox_error"
)

// Result is how a program ended.
type Result struct {
	Status             string              `json:"status"`
	ExitCode           int                 `json:"exit_code"`
	Signal             string              `json:"signal,omitempty"`
	Stdout             output.Text         `json:"stdout"`
	Stderr             output.Text         `json:"stderr"`
	Artifacts          []artifact.Artifact `json:"artifacts,omitempty"`
	ArtifactsTruncated bool                `json:"artifacts_truncated,omitempty"`
	Wall               time.Duration       `json:"wall_ns"`
	CPU                time.Duration       `json:"cpu_ns"`
	Queue              time.Duration       `json:"queue_ns"`
	Start              time.Duration       `json:"start_ns"`
	MaxMemoryBytes     int64               `json:"max_memory_bytes,omitempty"`
	Enforcement        map[string]string   `json:"enforcement,omitempty"`
	// Message says in words what happened and what to do.
	Message string `json:"message"`
}

// Failed says that the sandbox failed, or nobody knows how the program ended.
func (r Result) Failed() bool { return r.Status == StatusLost || r.Status == StatusSandboxError }

// lost is the result of an execution whose process has ended.
func lost() Result {
	return Result{Status: StatusLost, Message: "The service ended before the program did, so how far it came is not known. " +
		"Look at the files of the workspace before you run it again under another key."}
}

// broken is the result of an execution whose sandbox failed.
func broken() Result {
	return Result{Status: StatusSandboxError, Message: "The sandbox failed, not the program, and the log of the server has the cause. " +
		"The program may have run in part. Try it once more; if it fails again, say that code cannot be run now."}
}

// workspaceGone is said of a program whose workspace is not there any more.
const workspaceGone = "The workspace was deleted while the program ran, and what it wrote there with it."

// message says what happened and what to do, to a model or a person.
func message(r isolate.Result, silent bool) string {
	switch r.Status {
	case isolate.StatusOK:
		if silent {
			return "The program ended well and printed nothing; print what you want to see."
		}
		return ""
	case isolate.StatusNonzeroExit:
		return fmt.Sprintf("The program ended with exit code %d; its standard error should tell why.", r.ExitCode)
	case isolate.StatusSignaled:
		return fmt.Sprintf("The program was ended by %s.", r.Signal)
	}
	end := endings[r.Status]
	if r.Detail != "" {
		end.why = sentence(r.Detail)
	}
	return strings.TrimSpace(end.why + " " + end.advice)
}

// endings are the words for a program that a limit ended: why, where the driver
// does not say it better, and what to do.
var endings = map[string]struct{ why, advice string }{
	isolate.StatusTimeoutWall: {"The time of the program was over.",
		"Do less in one run, or keep steps in files of the workspace and go on in the next run. There is no network, and nobody answers a prompt."},
	isolate.StatusTimeoutCPU: {"The program had used its time on processors.",
		"Look for a loop without end, or work on less data at a time."},
	isolate.StatusOOM: {"The program used too much memory.",
		"Read files in pieces and keep less at a time."},
	isolate.StatusPidsLimit: {"The program wanted more processes and threads than it may have.",
		"Start fewer at a time."},
	isolate.StatusOutputLimit: {"The program printed too much.",
		"Write long output to a file and print a summary."},
	isolate.StatusDiskLimit: {"The files of the program grew too large or too many.",
		"Delete what is not needed, or write less."},
	isolate.StatusDeniedSyscall: {"The program made a system call that is never allowed in the sandbox.",
		"Find a way without it."},
	isolate.StatusCancelled: {"The run was cancelled.", ""},
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
