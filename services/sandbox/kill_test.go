package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/execution"
)

// victimDir makes the test binary a service on that data folder which runs a
// program until it is killed.
const victimDir = "NANOCLAW_TEST_SANDBOX_VICTIM"

// victimProgram is named so that it can be found among all processes.
func victimProgram(dir string) execution.Request {
	code := fmt.Sprintf("echo begun > begun; (setsid bash -c 'exec -a %[1]s sleep 1000' &); exec -a %[1]s sleep 1000", dir)
	return execution.Request{User: "ann", Language: execution.Bash, Code: code, Workspace: "notes"}
}

func beVictim(dir string) int {
	ctx := context.Background()
	svc, err := New(ctx, DefaultConfig(), Deps{DataDir: dir, SingleUser: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	x, err := svc.executions.Start(ctx, "user/ann", "k", victimProgram(dir))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	select {
	case <-x.Started():
		fmt.Println("started")
	case <-x.Done():
		_, err := x.Result()
		fmt.Println(err)
		return 1
	}
	<-x.Done()
	return 0
}

func TestAServiceThatIsKilledTakesItsProgramsAlongAndTheyAreLost(t *testing.T) {
	dir := t.TempDir()
	isolated(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.CommandContext(t.Context(), exe)
	victim.Env = append(os.Environ(), victimDir+"="+dir)
	stdout, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || said != "started\n" {
		t.Fatalf("%q, %v", said, err)
	}
	until(t, func() bool { return count(t, dir) >= 2 })
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // it was killed
	until(t, func() bool { return count(t, dir) == 0 })

	w := isolated(t, func(_ *Config, deps *Deps) { deps.DataDir, deps.Database = dir, store.Config{} })
	program := victimProgram(dir)
	got := w.run(&sandboxv1.ExecuteRequest{Language: program.Language, Code: program.Code, WorkspaceId: program.Workspace, EffectKey: "k"}).result
	if got.Status != execution.StatusLost || !strings.Contains(got.Message, "The service ended before the program did") {
		t.Errorf("%+v", got)
	}
	if n := count(t, dir); n != 0 {
		t.Errorf("it was run again: %d processes", n)
	}
	files, err := w.files.ListFiles(w.as("ann"), &sandboxv1.ListFilesRequest{WorkspaceId: "notes"})
	if err != nil || len(files.Items) != 1 || files.Items[0].Path != "begun" {
		t.Errorf("%v, %v", files, err)
	}
	if next := w.run(&sandboxv1.ExecuteRequest{Language: "bash", Code: "cat begun", WorkspaceId: "notes"}); string(next.stdout) != "begun\n" {
		t.Errorf("the next program: %q", next.stdout)
	}
}
