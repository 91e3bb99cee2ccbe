package isolate

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attackWorld is a machine to attack: a driver, and things of the host that
// must stay as they are and must never be reached.
type attackWorld struct {
	driver      *bubblewrap
	home, temp  string // for workspaces; for everybody, and empty
	tool        string // how the program of the driver was
	secret      string // in the environment of this process
	file        string // on the host, writable by everybody
	port        string // of a server on the host
	reached     atomic.Int64
	sleeper     *exec.Cmd
	descriptors int
	mounts      []string // the host's before
	replace     *strings.Replacer
}

const fileOfHost = "nobody in a sandbox reads or writes this\n"

// newAttackWorld makes one.
func newAttackWorld(t *testing.T) *attackWorld {
	t.Helper()
	w := &attackWorld{secret: "secret-of-the-host"}
	t.Setenv("NANOCLAW_ATTACK_SECRET", w.secret)
	w.file = filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(w.file, []byte(fileOfHost), 0o666); err != nil {
		t.Fatal(err)
	}
	tcp := listen(t, w, "tcp", "127.0.0.1:0")
	w.port = strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)
	abstract := "nanoclaw-" + strconv.Itoa(os.Getpid())
	listen(t, w, "unix", "@"+abstract)
	path := fmt.Sprintf("/tmp/nanoclaw-%d.sock", os.Getpid()) // a longer one is no address
	listen(t, w, "unix", path)
	w.sleeper = exec.Command("sleep", "3600")
	if err := w.sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.sleeper.Process.Kill(); _ = w.sleeper.Wait() })
	// A file that a child of this process would inherit.
	leak, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(leak) })

	w.home, w.temp, w.mounts = t.TempDir(), t.TempDir(), mounts()
	t.Setenv("TMPDIR", w.temp)
	w.driver = newDriver(t, Config{MemoryPoll: true})
	if missing := w.driver.Probe(t.Context()).Missing(); len(missing) > 0 {
		t.Fatalf("programs cannot be run here: %v", &Unavailable{missing})
	}
	w.replace = strings.NewReplacer("@PORT@", w.port, "@FILE@", w.file, "@SECRET@", fmt.Sprintf("%x", w.secret),
		"@PID@", strconv.Itoa(w.sleeper.Process.Pid), "@ABSTRACT@", abstract, "@SOCKET@", path)
	w.tool = modeOf(t, w.driver.path)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	w.descriptors = len(open)
	return w
}

// newDriver is a driver that is closed after the test.
func newDriver(t testing.TB, cfg Config) *bubblewrap {
	t.Helper()
	d, err := NewBubblewrap(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("closing the driver: %v", err)
		}
	})
	return d.(*bubblewrap)
}

// listen counts who comes to an address that nobody may come to.
func listen(t *testing.T, w *attackWorld, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				w.reached.Add(1)
				_ = c.Close()
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l
}

// canaries checks that the host is as it was.
func (w *attackWorld) canaries(t *testing.T) {
	t.Helper()
	if b, err := os.ReadFile(w.file); err != nil || string(b) != fileOfHost {
		t.Errorf("a file of the host is now %q, %v", b, err)
	}
	if n := w.reached.Load(); n > 0 {
		t.Errorf("a server of the host was reached %d times", n)
	}
	if err := w.sleeper.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process of the host: %v", err)
	}
}

// attackPrelude are names for attacks in Python. refused makes a system call
// and notes when it is not refused; the program then fails at its end.
func attackPrelude() string {
	var numbers strings.Builder
	for name, nr := range attackCalls {
		fmt.Fprintf(&numbers, "%q: %d, ", name, nr)
	}
	return `import atexit, ctypes, errno, os, signal, socket, sys, threading, time
NR = {` + numbers.String() + `}
libc = ctypes.CDLL(None, use_errno=True)
bad = []
def call(nr, *args):
    ctypes.set_errno(0)
    r = libc.syscall(ctypes.c_long(nr), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return r, errno.errorcode.get(ctypes.get_errno(), "0")
def refused(name, *args, by=("EPERM",)):
    r, e = call(NR[name], *args)
    if r != -1 or e not in by:
        bad.append(f"{name}{args}: {r} {e}")
def fails(what, f, by):
    try:
        r = f()
    except OSError as e:
        if errno.errorcode.get(e.errno, "") not in by:
            bad.append(f"{what}: {e}")
    else:
        bad.append(f"{what}: {r!r}")
def end():
    print("\n".join(bad) or "all refused")
    sys.stdout.flush()
    os._exit(1 if bad else 0)
`
}

// attackCalls are the numbers of the calls that attacks make.
var attackCalls = map[string]int{
	"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT,
	"fsopen": unix.SYS_FSOPEN, "open_tree": unix.SYS_OPEN_TREE, "move_mount": unix.SYS_MOVE_MOUNT,
	"mount_setattr": unix.SYS_MOUNT_SETATTR, "unshare": unix.SYS_UNSHARE, "clone": unix.SYS_CLONE,
	"clone3": unix.SYS_CLONE3, "setns": unix.SYS_SETNS, "ptrace": unix.SYS_PTRACE,
	"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
	"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP, "bpf": unix.SYS_BPF,
	"perf_event_open": unix.SYS_PERF_EVENT_OPEN, "userfaultfd": unix.SYS_USERFAULTFD,
	"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_enter": unix.SYS_IO_URING_ENTER,
	"keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY,
	"kexec_load": unix.SYS_KEXEC_LOAD, "init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE,
	"delete_module": unix.SYS_DELETE_MODULE, "reboot": unix.SYS_REBOOT, "swapon": unix.SYS_SWAPON,
	"acct": unix.SYS_ACCT, "quotactl": unix.SYS_QUOTACTL, "syslog": unix.SYS_SYSLOG,
	"clock_settime": unix.SYS_CLOCK_SETTIME, "settimeofday": unix.SYS_SETTIMEOFDAY, "adjtimex": unix.SYS_ADJTIMEX,
	"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME, "personality": unix.SYS_PERSONALITY,
	"ioctl": unix.SYS_IOCTL, "mknodat": unix.SYS_MKNODAT, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT,
	"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "fanotify_init": unix.SYS_FANOTIFY_INIT,
	"memfd_create": unix.SYS_MEMFD_CREATE, "memfd_secret": unix.SYS_MEMFD_SECRET, "mlockall": unix.SYS_MLOCKALL,
	"sched_setscheduler": unix.SYS_SCHED_SETSCHEDULER, "setpriority": unix.SYS_SETPRIORITY, "ioprio_set": unix.SYS_IOPRIO_SET,
	"setuid": unix.SYS_SETUID, "capset": unix.SYS_CAPSET, "vhangup": unix.SYS_VHANGUP, "socketpair": unix.SYS_SOCKETPAIR,
	"pidfd_open": unix.SYS_PIDFD_OPEN, "move_pages": unix.SYS_MOVE_PAGES, "getpid": unix.SYS_GETPID,
	"mq_open": unix.SYS_MQ_OPEN, "shmget": unix.SYS_SHMGET, "newest": newestCall + 1,
}

// asVictim makes the test binary be a process that runs an endless program and
// is killed.
const asVictim = "NANOCLAW_TEST_VICTIM"

// beVictim runs a program whose name and text it reads from the standard input.
// It tells of its cgroups, of the sandbox when it is made, and passes on what
// the program says.
func beVictim() int {
	d, err := NewBubblewrap(Config{MemoryPoll: true})
	if err != nil {
		return 1
	}
	for _, h := range d.(*bubblewrap).cgroups.made {
		fmt.Println(h.dir)
	}
	in := bufio.NewReader(os.Stdin)
	mark, _ := in.ReadString('\n')
	script, err := in.ReadString('\n')
	if err != nil {
		return 1
	}
	_, err = d.(*bubblewrap).run(endless, Spec{
		Argv:    []string{"bash", "-c", script, strings.TrimSpace(mark)},
		Stdout:  os.Stdout,
		Started: func(Start) { fmt.Println("made") },
		Limits:  Limits{Wall: attackTime},
	})
	fmt.Println("ended", err)
	return 1
}
