package sandbox

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sandboxv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/sandbox/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/gcpace"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// attack is a program that means harm.
type attack struct {
	name, language, code string
	workspace            string
	timeoutMs            int32
	// want are the statuses that are right; out must be in what it wrote.
	want []string
	out  string
}

// refusals are programs in Python that print what was not refused to them.
const refusals = `
import os, socket, ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
bad = []
def fails(what, f):
    try: r = f()
    except OSError: return
    bad.append(f"{what}: {r!r}")
def call(name, *args):
    if getattr(libc, name)(*args) != -1: bad.append(name)
`

var attacks = []attack{
	{name: "a fork bomb", language: "bash", timeoutMs: 2000, code: `bomb() { bomb | bomb; }; bomb`,
		want: []string{"pids_limit", "nonzero_exit", "timeout_wall", "timeout_cpu", "signaled"}},
	{name: "threads without end", language: "python", want: []string{"pids_limit", "nonzero_exit"}, code: `
import threading, time
while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
`},
	{name: "a daemon", language: "bash", want: []string{"ok"}, code: `trap '' TERM HUP; (setsid sleep 3600 &) ; echo left`, out: "left"},
	{name: "sleep without end", language: "bash", timeoutMs: 300, want: []string{"timeout_wall"}, code: `trap '' TERM INT; while :; do sleep 1; done`},
	{name: "a busy loop", language: "python", want: []string{"timeout_cpu"}, code: `while True: pass`},
	{name: "busy loops in children", language: "bash", want: []string{"timeout_cpu"}, code: `for i in 1 2 3 4; do while :; do :; done & done; wait`},
	{name: "everybody killed", language: "bash", want: []string{"ok", "signaled"}, code: `kill -9 1 $PPID; kill -9 -1; exit 0`},
	{name: "ten gigabytes", language: "python", want: []string{"oom", "nonzero_exit"}, code: `b = bytearray(10 << 30)`},
	{name: "more and more memory", language: "python", want: []string{"oom"}, code: `
import time
all = []
while True: all.append(b"x" * (1 << 20)); time.sleep(0.001)
`},
	{name: "the temporary folder filled", language: "bash", want: []string{"disk_limit"}, code: `dd if=/dev/zero of=/tmp/x bs=64k count=4000 status=none`},
	{name: "shared memory filled", language: "bash", want: []string{"disk_limit"}, code: `dd if=/dev/zero of=/dev/shm/x bs=64k count=4000 status=none`},
	{name: "a workspace filled", language: "bash", workspace: "full", want: []string{"disk_limit"},
		code: `i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > $i; done`},
	{name: "a file that is too large", language: "bash", workspace: "large", want: []string{"disk_limit"}, code: `dd if=/dev/zero of=x bs=64k count=4000 status=none`},
	{name: "files without end", language: "python", workspace: "many", want: []string{"disk_limit"}, code: `
for i in range(1000000): open(str(i), "w").close()
`},
	{name: "its own folder closed", language: "bash", workspace: "closed", want: []string{"ok"}, code: `mkdir d; chmod 0 d .`},
	{name: "a closed folder used again", language: "bash", workspace: "closed", want: []string{"ok"}, code: `ls; echo again > x; cat x`, out: "again"},
	{name: "output without end", language: "bash", want: []string{"output_limit"}, code: `yes`},
	{name: "errors without end", language: "bash", want: []string{"output_limit"}, code: `yes >&2`},
	{name: "bytes that are no text", language: "python", want: []string{"ok"}, code: `
import os
os.write(1, bytes(range(256)) + b"\xed\xa0\x80 done")
`, out: "\xed\xa0\x80 done"},
	{name: "files of the host", language: "python", want: []string{"ok"}, code: refusals + `
for f in ("/etc/shadow", "/root", "/home", "/var", "/sys", "/run/docker.sock", "@SECRET@", "@DATA@", "/proc/1/root@SECRET@"):
    fails(f, lambda: os.stat(f))
for p in os.listdir("/proc"):
    try: text = open(f"/proc/{p}/environ", "rb").read()
    except OSError: continue
    if b"NANOCLAW_TEST_" in text: bad.append(p)
for f in ("/usr/bin/x", "/etc/x", "/x", "/dev/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/run/nanoclaw/main.py"):
    fails(f, lambda: open(f, "w"))
print(bad or "all refused")
`, out: "all refused"},
	{name: "ways into the kernel", language: "python", want: []string{"ok"}, code: refusals + `
call("mount", b"none", b"/tmp", b"tmpfs", 0, None)
call("umount2", b"/proc", 2)
call("chroot", b"/tmp")
call("unshare", 0x10000000)
call("unshare", 0x20000)
call("ptrace", 0, 0, 0, 0)
call("sethostname", b"x", 1)
call("setuid", 0)
call("personality", 0x0040000)
call("mknod", b"/tmp/x", 0o60600, 0xfe00)
print(bad or "all refused")
`, out: "all refused"},
	{name: "the network", language: "python", want: []string{"ok"}, code: refusals + `
for host, port in (("127.0.0.1", @PORT@), ("169.254.169.254", 80), ("10.0.0.1", 80), ("1.1.1.1", 443)):
    fails(host, lambda: socket.create_connection((host, port), timeout=30))
for family in (16, 17, 38, 40, 44):
    fails(family, lambda: socket.socket(family, socket.SOCK_RAW))
fails("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
fails("name", lambda: socket.getaddrinfo("example.com", 80))
print(bad or "all refused")
`, out: "all refused"},
	{name: "a crash", language: "python", want: []string{"signaled"}, code: "import ctypes\nctypes.string_at(0)"},
	{name: "JavaScript that eats memory", language: "javascript", want: []string{"oom", "signaled", "nonzero_exit"},
		code: `const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1));`},
	{name: "JavaScript that never ends", language: "javascript", want: []string{"timeout_cpu"}, code: `for (;;);`},
}

func TestAttacksAreAnsweredAndLeaveTheServerAsItWas(t *testing.T) {
	testAttacks(t, startServer(t, 0), sampletest.Count(10, len(attacks)))
}

func TestAttacksOnTheServerOfAPlainUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("the other test was run by one")
		return
	}
	testAttacks(t, startServer(t, nobody), sampletest.Count(6, len(attacks)))
}

func testAttacks(t *testing.T, s *server, n int) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(inside.URL, "http://"))
	replace := strings.NewReplacer("@SECRET@", s.secret, "@DATA@", s.dataDir, "@PORT@", port)

	chosen := slices.Clone(attacks)
	if n < len(chosen) {
		random := sampletest.Random(sampletest.Seed(t))
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	before := memory(t, s.Pid)
	for _, a := range chosen[:n] {
		t.Run(a.name, func(t *testing.T) {
			mark := "attack-" + strings.ToLower(rand.Text()[:12])
			o, err := s.execute(t.Context(), &sandboxv1.ExecuteRequest{
				Language: a.language, Code: replace.Replace(a.code), WorkspaceId: a.workspace, TimeoutMs: a.timeoutMs, Stdin: []byte(mark),
			}, nil)
			if err != nil || o.result == nil {
				t.Fatalf("no result: %v", err)
			}
			if !slices.Contains(a.want, o.result.Status) || !strings.Contains(o.stdout.String(), a.out) {
				t.Errorf("%s (%s), want one of %q and %q\nstdout %.1000q\nstderr %.1000q", o.result.Status, o.result.Message, a.want, a.out, o.result.Stdout, o.result.Stderr)
			}
			if o.result.Status != "ok" && o.result.Message == "" {
				t.Errorf("%s, and no word about it", o.result.Status)
			}
			if o.result.Enforcement["memory"] == "" || o.result.Enforcement["pids"] == "" {
				t.Errorf("how limits were kept: %q", o.result.Enforcement)
			}
			s.unharmed(t, mark)
		})
	}
	if reached.Load() > 0 {
		t.Errorf("a server of the host was reached %d times", reached.Load())
	}
	// Garbage of a busy process may lie about.
	if now := memory(t, s.Pid); now > before+96<<20+gcpace.Spare {
		t.Errorf("the server had %d bytes of memory and has %d", before, now)
	}
}

func TestAProgramWhoseCallerGoesAwayIsGone(t *testing.T) {
	s := startServer(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	mark := "abandoned-" + strings.ToLower(rand.Text()[:12])
	_, err := s.execute(ctx, &sandboxv1.ExecuteRequest{Language: "bash", Code: "trap '' TERM HUP; (exec -a " + mark + " setsid sleep 3600 &); sleep 3600"}, cancel)
	if status.Code(err) != codes.Canceled {
		t.Errorf("error %v", err)
	}
	s.unharmed(t, mark)
}
