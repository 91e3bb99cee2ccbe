package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestExitCodesOfAProgram(t *testing.T) {
	for _, tc := range []struct {
		status string
		exit   int32
		want   int
		note   string
	}{
		{"ok", 0, exitOK, ""},
		{"nonzero_exit", 3, 3, ""},
		{"signaled", 139, 139, "signaled after 1.5s: why"},
		{"oom", 137, 137, "oom after 1.5s: why"},
		{"timeout_wall", 137, exitTimeout, "timeout_wall after 1.5s: why"},
		{"timeout_cpu", 137, exitTimeout, "timeout_cpu after 1.5s: why"},
		{"cancelled", 137, exitInterrupted, "cancelled after"},
		{"lost", 0, exitFailure, "lost after"},
		{"sandbox_error", 0, exitFailure, "sandbox_error after"},
	} {
		t.Run(tc.status, func(t *testing.T) {
			var stderr bytes.Buffer
			c := &cli{stderr: &stderr}
			err := c.executed(&sandboxv1.ExecutionResult{Status: tc.status, ExitCode: tc.exit, DurationMs: 1500, Message: "why"}, &runFlags{})
			if got := exitCode(err); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			if got := stderr.String(); (got == "") != (tc.note == "") || !strings.Contains(got, tc.note) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestATimeoutThatWasCutIsTold(t *testing.T) {
	late := &sandboxv1.ExecutionResult{Status: "timeout_wall", ExitCode: 137, DurationMs: 30_000, Message: "why"}
	for _, tc := range []struct {
		name  string
		flags runFlags
		told  bool
	}{
		{"more than the server allows", runFlags{asked: time.Hour}, true},
		{"as much as was asked for", runFlags{asked: 30 * time.Second}, false},
		{"nothing asked for", runFlags{}, false},
		{"told before", runFlags{asked: time.Hour, saidCut: true}, false},
	} {
		var stderr bytes.Buffer
		if err := (&cli{stderr: &stderr}).executed(late, &tc.flags); exitCode(err) != exitTimeout {
			t.Errorf("%s: %v", tc.name, err)
		}
		if told := strings.Contains(stderr.String(), "--timeout 1h0m0s was cut"); told != tc.told {
			t.Errorf("%s: %q", tc.name, stderr.String())
		}
	}
}

func TestAProgramThatNothingCanRunHasACodeOfItsOwn(t *testing.T) {
	for _, reason := range []string{reasonNoSandbox, reasonNoLanguage} {
		err := rpcerr.New(codes.FailedPrecondition, reason, "install it").GRPCStatus().Err()
		if got := exitCode(err); got != exitPartial {
			t.Errorf("%s: exit code %d", reason, got)
		}
	}
}

func TestSizesForPeople(t *testing.T) {
	for size, want := range map[float64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB"} {
		if got := byteWords(size); got != want {
			t.Errorf("%g: %s, want %s", size, got, want)
		}
	}
}
