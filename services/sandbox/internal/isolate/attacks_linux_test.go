package isolate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// endless is the context of a program that nobody cancels.
var endless = context.Background()

// asPlainUser tells the test binary that it was started as another user, for
// the tests that need one.
const asPlainUser = "NANOCLAW_TEST_PLAIN_USER"

func allAttacks() []attack {
	return slices.Concat(processAttacks, memoryAttacks, fileAttacks, kernelAttacks, networkAttacks, outputAttacks)
}

// chosen are all attacks when NANOCLAW_TEST_FULL asks for them, else n, of each
// group some.
func chosen(t *testing.T, n int) []attack {
	all := allAttacks()
	if sampletest.Full() {
		return all
	}
	t.Logf("%d of %d attacks; NANOCLAW_TEST_FULL=1 tries all", n, len(all))
	sampletest.Random(sampletest.Seed(t)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	// A round through the groups takes one of each.
	byGroup := map[string]int{}
	slices.SortStableFunc(all, func(a, b attack) int { return strings.Compare(a.group, b.group) })
	rank := make(map[string]int, len(all))
	for _, a := range all {
		rank[a.name] = byGroup[a.group]
		byGroup[a.group]++
	}
	slices.SortStableFunc(all, func(a, b attack) int { return rank[a.name] - rank[b.name] })
	return all[:min(n, len(all))]
}

func TestAttacksAreHeldByTheSandbox(t *testing.T) {
	n := 18
	if os.Getenv(asPlainUser) != "" {
		n = 10
	}
	w := newAttackWorld(t)
	t.Logf("user %d, %v", os.Geteuid(), w.driver.enforcement())
	for _, a := range chosen(t, n) {
		t.Run(a.group+"/"+a.name, func(t *testing.T) { w.try(t, a) })
	}
}

func TestAttacksAreHeldByTheSandboxOfAPlainUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("this is a plain user already, and the other tests were run by it")
		return
	}
	tests := "TestAttacksAreHeldByTheSandbox"
	if sampletest.Full() {
		tests = "(" + tests + "|TestLife|TestMachinesThatCannotIsolateRunNothing)"
	}
	out, err := plainUser(t, "^"+tests+"$").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestAttacksAreHeldByTheSandbox") {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}

// nobody is the number of that user.
const nobody = 65534

// plainUser starts the test binary again, as nobody.
func plainUser(t *testing.T, run string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "isolate.test")
	copyFile(t, "/proc/self/exe", binary)
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run", run, "-test.timeout", "10m")
	c.Dir = "/"
	c.Env = append(os.Environ(), asPlainUser+"=1", "TMPDIR="+temp, "HOME="+temp)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	return c
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// killedService starts the test binary as a process that runs a program, kills
// it once a word came from it, "made" as soon as the sandbox is, another from
// the program, and returns the cgroups that it had.
func killedService(t *testing.T, mark, script, word string) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "/proc/self/exe")
	c.Env = append(os.Environ(), asVictim+"=1")
	c.Stdin = strings.NewReader(mark + "\n" + script + "\n")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var cgroups []string
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != word {
		if filepath.IsAbs(lines.Text()) {
			cgroups = append(cgroups, lines.Text())
		}
	}
	if lines.Text() != word {
		t.Errorf("the service did not say %q", word)
	}
	if word != "made" && len(processesWith(mark)) == 0 {
		t.Error("the program does not run")
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	return cgroups
}

// gone waits until no process has a word in its command line.
func gone(t *testing.T, word string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(attackTime); time.Now().Before(deadline); {
		if left = processesWith(word); len(left) == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("processes are left: %s", fmt.Sprint(left))
}
