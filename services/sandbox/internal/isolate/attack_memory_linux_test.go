package isolate

import (
	"strings"
	"testing"
	"time"
)

var memoryAttacks = []attack{
	{group: "memory", name: "ten gigabytes at once", limits: Limits{MemoryBytes: 64 << 20}, want: []string{StatusOOM, StatusNonzeroExit},
		python: "b = bytearray(10 << 30)\n"},
	{group: "memory", name: "more and more", limits: Limits{MemoryBytes: 64 << 20}, want: []string{StatusOOM}, python: `
all = []
while True:
    all.append(bytearray(b"x") * (1 << 20))
    time.sleep(0.001)
`, check: func(t *testing.T, a attacked) {
		if !strings.Contains(a.res.Detail, "64 MiB of memory") || a.res.MaxMemoryBytes < 32<<20 {
			t.Errorf("it ended as %+v", a.res)
		}
	}},
	{group: "memory", name: "a little in each of many children", limits: Limits{MemoryBytes: 96 << 20}, want: []string{StatusOOM},
		python: `
for i in range(20):
    if os.fork() == 0:
        b = bytearray(os.urandom(1 << 20)) * 16
        time.sleep(600)
    time.sleep(0.01)
time.sleep(600)
`},
	{group: "memory", name: "a file in memory without a name", limits: Limits{MemoryBytes: 64 << 20},
		want: []string{StatusOOM, StatusNonzeroExit, StatusDiskLimit}, python: `
f = os.memfd_create("x")
while True: os.write(f, b"x" * (1 << 20))
`},
	{group: "memory", name: "shared memory of System V", limits: Limits{MemoryBytes: 64 << 20},
		want: []string{StatusOOM, StatusNonzeroExit}, python: `
libc.shmat.restype = ctypes.c_void_p
for _ in range(100):
    r, e = call(NR["shmget"], 0, 16 << 20, 0o1600)
    if r == -1: sys.exit(e)
    p = libc.shmat(r, None, 0)
    ctypes.memset(p, 1, 16 << 20)
    libc.shmdt(ctypes.c_void_p(p))
`},
	{group: "memory", name: "pipes full of bytes", limits: Limits{MemoryBytes: 64 << 20}, want: []string{StatusOOM, StatusOK}, python: `
held = []
try:
    for _ in range(4000):
        r, w = os.pipe()
        held += [r, w]
        os.set_blocking(w, False)
        try:
            while True: os.write(w, b"x" * 65536)
        except BlockingIOError: pass
except OSError as e:
    print(errno.errorcode[e.errno])
`},
	{group: "memory", name: "sockets full of bytes", limits: Limits{MemoryBytes: 64 << 20}, want: []string{StatusOOM, StatusOK}, python: `
held = []
try:
    for _ in range(4000):
        a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        held += [a, b]
        a.setblocking(False)
        try:
            while True: a.send(b"x" * 32768)
        except BlockingIOError: pass
except OSError as e:
    print(errno.errorcode[e.errno])
`},
	{group: "memory", name: "files open without end", python: `
held = []
try:
    while True: held.append(open("/dev/null"))
except OSError as e:
    print(errno.errorcode[e.errno], len(held) <= 256)
`, out: "EMFILE True"},
	{group: "memory", name: "memory locked", python: `
refused("mlockall", 3, by=("ENOMEM", "EPERM"))
end()
`},
	{group: "memory", name: "a zip bomb", limits: Limits{MemoryBytes: 64 << 20}, want: []string{StatusOOM, StatusNonzeroExit}, python: `
import zlib
small = zlib.compressobj(1)
bomb = b"".join(small.compress(bytes(1 << 20)) for _ in range(100)) + small.flush()
zlib.decompress(bomb)
`},
	{group: "memory", name: "a regular expression that takes for ever", limits: Limits{CPU: 300 * time.Millisecond}, want: []string{StatusTimeoutCPU},
		python: `
import re
re.match("(a+)+$", "a" * 60 + "b")
`},
	{group: "memory", name: "a queue of messages", python: `
refused("mq_open", ctypes.c_char_p(b"queue"), os.O_CREAT | os.O_RDWR, 0o600, None, by=("EMFILE", "ENOSPC", "EPERM", "ENOMEM"))
end()
`},
	{group: "memory", name: "a dump of a large process", want: []string{StatusSignaled}, limits: Limits{MemoryBytes: 256 << 20}, workspace: true,
		python: `
b = bytearray(100 << 20)
os.abort()
`, check: func(t *testing.T, a attacked) {
			if a.res.Signal != "SIGABRT" {
				t.Errorf("it ended as %+v", a.res)
			}
			if names := namesIn(t, a.workspace); len(names) > 0 {
				t.Errorf("it left %q", names)
			}
		}},
}
