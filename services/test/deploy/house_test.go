package deploy

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// root is the root of the repository.
const root = "../../.."

// targets are what a process can be told to serve.
var targets = []string{"orchestrator", "search", "fetcher", "task-manager", "sandbox", "gateway"}

// callees are whom each target calls. All ask the orchestrator whose a token is.
var callees = map[string][]string{
	"gateway":      {"orchestrator", "search", "fetcher", "task-manager", "sandbox"},
	"orchestrator": {"orchestrator", "search", "fetcher", "task-manager", "sandbox"},
	"search":       {"orchestrator"},
	"fetcher":      {"orchestrator", "task-manager"},
	"task-manager": {"orchestrator", "fetcher"},
	"sandbox":      {"orchestrator", "fetcher"},
}

// The images: one for whoever runs code, one for the others.
const (
	plainImage = "nanoclaw"
	codeImage  = "nanoclaw-sandbox"
)

// runsCode tells whether the process of a command line runs programs: the target
// sandbox, and all targets in one process.
func runsCode(args []string) bool { return len(args) == 1 || slices.Contains(args[1:], "sandbox") }

// Ports of a process in a container.
const (
	httpPort    = "3000"
	grpcPort    = "3001"
	metricsPort = "9464"
)

// nonRoot is the user of the image.
const nonRoot = 65532

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// binary is the path of nanoclaw, built once. NANOCLAW_BINARY names one that is
// there already.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("NANOCLAW_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "nanoclaw-deploy-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "nanoclaw")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./services/cmd/nanoclaw")
	cmd.Dir = root
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "GOWORK=") }), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nanoclaw: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("NANOCLAW_BINARY") == "" {
		if path, err := binary(); err == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// checkConfig runs "nanoclaw config check" with the environment of a container.
// Files that only the container has are taken from files, by their path there.
func checkConfig(t *testing.T, env map[string]string, files map[string]string) {
	t.Helper()
	nanoclaw, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(nanoclaw, "config", "check")
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir}
	// What is mounted in the container lies in the folder here, and what names a
	// mounted file names it there.
	var moved []string
	for path := range files {
		moved = append(moved, path, filepath.Join(dir, filepath.Base(path)))
	}
	here := strings.NewReplacer(moved...)
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), []byte(here.Replace(content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+here.Replace(value))
	}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") {
		t.Errorf("nanoclaw config check: %v\n%s", err, out)
	}
}

// signingKey is a key of a deployment, as openssl makes it.
var signingKey = sync.OnceValue(func() string {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
})

// checkTargets says whether a command line starts something that exists.
func checkTargets(t *testing.T, args []string) {
	t.Helper()
	if len(args) == 0 || args[0] != "serve" {
		t.Errorf("the command is %q, want serve with targets", args)
		return
	}
	for _, target := range args[1:] {
		if !slices.Contains(targets, target) {
			t.Errorf("%q serves what does not exist: %s", args, target)
		}
	}
}

// checkMemory says whether the memory of a container is enough for the process
// and for the programs that it runs at a time.
func checkMemory(t *testing.T, name string, limit int64, env map[string]string) {
	t.Helper()
	const mib = 1 << 20
	own, err := strconv.ParseInt(strings.TrimSuffix(env["GOMEMLIMIT"], "MiB"), 10, 64)
	if err != nil {
		t.Errorf("%s: GOMEMLIMIT %q: %v", name, env["GOMEMLIMIT"], err)
	}
	need := own * mib
	if programs := env["NANOCLAW_SANDBOX_PARALLEL"]; programs != "" {
		n, err := strconv.ParseInt(programs, 10, 64)
		if err != nil {
			t.Errorf("%s: NANOCLAW_SANDBOX_PARALLEL: %v", name, err)
		}
		need += n * programMemory(t) * mib
	}
	if limit <= need {
		t.Errorf("%s may use %d MiB; the process and its programs want over %d", name, limit/mib, need/mib)
	}
}

// programMemory is what one program may use by the default of sandbox.limits, in
// MiB: its memory, and files in memory in /tmp and /dev/shm.
func programMemory(t *testing.T) int64 {
	t.Helper()
	total := int64(0)
	for key, times := range map[string]int64{"memory_mib": 1, "tmp_mib": 2} {
		m := regexp.MustCompile(`(?m)^    ` + key + `: (\d+)$`).FindStringSubmatch(read(t, "deploy/config.example.yml"))
		if m == nil {
			t.Fatalf("config.example.yml does not say sandbox.limits.%s any more", key)
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n * times
	}
	return total
}

// drainTime is how long a process that was asked to end may take.
func drainTime(t *testing.T) time.Duration {
	t.Helper()
	m := regexp.MustCompile(`(?m)^const drainTime = (\d+) \* time\.Second$`).FindStringSubmatch(read(t, "services/cmd/nanoclaw/serve.go"))
	if m == nil {
		t.Fatal("cmd/nanoclaw/serve.go does not say drainTime any more")
	}
	d, err := time.ParseDuration(m[1] + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hostPort takes an address apart: host:port, dns:///host:port, or a URL.
func hostPort(t *testing.T, address string) (host, port string) {
	t.Helper()
	address = strings.TrimPrefix(address, "dns:///")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	address, _, _ = strings.Cut(address, "/")
	if i := strings.LastIndex(address, "@"); i >= 0 {
		address = address[i+1:]
	}
	address = strings.TrimSuffix(strings.TrimPrefix(address, "tcp("), ")")
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Errorf("address %q: %v", address, err)
	}
	return host, port
}
