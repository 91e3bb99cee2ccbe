package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// confinedTo tells a process of this test what to do as in a container: to make
// a sandbox without or under the profile, or to try single calls under it.
const confinedTo = "NANOCLAW_TEST_CONFINED_TO"

const (
	sandboxWithout = "make a sandbox without the profile"
	sandboxUnder   = "make a sandbox under the profile"
	callsUnder     = "make calls under the profile"
)

// confined runs this test again as the user of the image, who cannot gain rights,
// and returns what that said.
func confined(t *testing.T, to string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), confinedTo+"="+to)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// confine makes this process one of a container: without rights, and under the
// profile if it is to be.
func confine(p *seccompProfile) error {
	runtime.LockOSThread()
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nonRoot), syscall.Setuid(nonRoot)); err != nil {
			return fmt.Errorf("becoming the user of the image: %w", err)
		}
	}
	if p == nil {
		return seccomp.SetNoNewPrivs()
	}
	policy, err := p.policy()
	if err != nil {
		return err
	}
	return seccomp.LoadFilter(seccomp.Filter{NoNewPrivs: true, Flag: seccomp.FilterFlagTSync, Policy: policy})
}

// policy is the profile as a filter for the calls of this machine.
func (p *seccompProfile) policy() (seccomp.Policy, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return seccomp.Policy{}, err
	}
	groups := map[seccomp.Action]*seccomp.SyscallGroup{}
	for _, r := range p.Syscalls {
		action := seccomp.ActionAllow
		if r.Action == specs.ActErrno {
			action = seccomp.ActionErrno | seccomp.Action(*r.ErrnoRet)
		}
		if groups[action] == nil {
			groups[action] = &seccomp.SyscallGroup{Action: action}
		}
		g := groups[action]
		for _, name := range r.Names {
			if _, known := info.SyscallNames[name]; !known { // of another architecture, or newer than the list
				continue
			}
			if len(r.Args) == 0 {
				g.Names = append(g.Names, name)
				continue
			}
			g.NamesWithCondtions = append(g.NamesWithCondtions, seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
				{Argument: uint32(r.Args[0].Index), Operation: seccomp.Equal, Value: r.Args[0].Value},
			}})
		}
	}
	out := seccomp.Policy{DefaultAction: seccomp.ActionErrno} // EPERM, as the profile has it
	for _, g := range groups {
		out.Syscalls = append(out.Syscalls, *g)
	}
	return out, nil
}

// sandbox is a command line by which a sandbox is made as the service does it.
func sandbox(bwrap string) []string {
	options := "--die-with-parent --new-session" +
		" --unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try" +
		" --disable-userns --cap-drop ALL --uid 1000 --gid 1000 --hostname sandbox --clearenv" +
		" --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64" +
		" --proc /proc --dev /dev --perms 1777 --size 1048576 --tmpfs /tmp --remount-ro /dev --remount-ro /"
	return append(append([]string{bwrap}, strings.Fields(options)...), "/bin/sh", "-c", "echo in a sandbox; echo file > /tmp/file")
}

func TestASandboxCanBeMadeUnderTheSeccompProfile(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("this machine has no bubblewrap")
	}
	if to := os.Getenv(confinedTo); to != "" {
		var p *seccompProfile
		if to == sandboxUnder {
			rules := seccompRules(t)
			p = &rules
		}
		if err := confine(p); err != nil {
			t.Fatal(err)
		}
		t.Fatal(syscall.Exec(bwrap, sandbox(bwrap), nil))
	}
	if out, err := confined(t, sandboxWithout); err != nil {
		t.Skipf("this machine makes no sandboxes for users without rights, with no profile at all: %v: %s", err, out)
	}
	if out, err := confined(t, sandboxUnder); err != nil || out != "in a sandbox\n" {
		t.Errorf("under the profile: %v: %s", err, out)
	}
}

func TestCallsUnderTheSeccompProfile(t *testing.T) {
	if os.Getenv(confinedTo) == "" {
		if out, err := confined(t, callsUnder); err != nil || !strings.Contains(out, "PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	rules := seccompRules(t)
	if err := confine(&rules); err != nil {
		t.Fatal(err)
	}
	call := func(number uintptr, args ...uintptr) syscall.Errno {
		var a [3]uintptr
		copy(a[:], args)
		_, _, errno := unix.RawSyscall(number, a[0], a[1], a[2])
		return errno
	}
	for _, tc := range []struct {
		name string
		got  syscall.Errno
		want syscall.Errno
	}{
		{"clone3 does not exist", call(unix.SYS_CLONE3), unix.ENOSYS},
		{"keys of the kernel", call(unix.SYS_KEYCTL, 0), unix.EPERM},
		{"programs in the kernel", call(unix.SYS_BPF), unix.EPERM},
		{"rings of calls", call(unix.SYS_IO_URING_SETUP, 1), unix.EPERM},
		{"the namespace of another process", call(unix.SYS_SETNS, 0, 0), unix.EPERM},
		{"another process's memory", call(unix.SYS_PTRACE, unix.PTRACE_TRACEME), unix.EPERM},
		{"sockets to the hypervisor", call(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM), unix.EPERM},
		{"sockets to ciphers", call(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET), unix.EPERM},
		{"another personality", call(unix.SYS_PERSONALITY, 0x0040000), unix.EPERM},
		{"the present personality", call(unix.SYS_PERSONALITY, 0xffffffff), 0},
		{"sockets of the internet", call(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM), 0},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, tc.got, tc.want)
		}
	}
}
