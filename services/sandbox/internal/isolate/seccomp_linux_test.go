//go:build amd64 || arm64

package isolate

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// answer runs the filter on a system call. The machine of x/net/bpf reads
// numbers in the order of the network, so that is how they are laid out.
func answer(t *testing.T, filter []bpf.Instruction, arch, nr uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filter)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], nr)
	binary.BigEndian.PutUint32(data[offsetArch:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArg(i):], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArg(i)+4:], uint32(a>>32))
	}
	n, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

func TestTheFilterAllowsProgramsAndRefusesWhatLeadsOut(t *testing.T) {
	const (
		eperm, enosys  = seccompErrno | uint32(unix.EPERM), seccompErrno | uint32(unix.ENOSYS)
		noFamily, high = seccompErrno | uint32(unix.EAFNOSUPPORT), uint64(1) << 32
	)
	for _, test := range []struct {
		name string
		nr   uint32
		args []uint64
		want uint32
	}{
		{"read", unix.SYS_READ, nil, seccompAllow},
		{"execve", unix.SYS_EXECVE, nil, seccompAllow},
		{"openat", unix.SYS_OPENAT, nil, seccompAllow},
		{"a thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, seccompAllow},
		{"a process", unix.SYS_CLONE, []uint64{17}, seccompAllow},
		{"a user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | 17}, eperm},
		{"a network namespace and more", unix.SYS_CLONE, []uint64{high | unix.CLONE_NEWNET | 17}, eperm},
		{"clone3", unix.SYS_CLONE3, nil, enosys},
		{"a table of files unshared", unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, seccompAllow},
		{"a mount namespace", unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWNS}, eperm},
		{"a time namespace", unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWTIME}, eperm},
		{"mount", unix.SYS_MOUNT, nil, eperm},
		{"io_uring", unix.SYS_IO_URING_SETUP, nil, eperm},
		{"ptrace", unix.SYS_PTRACE, nil, eperm},
		{"the size of a terminal", unix.SYS_IOCTL, []uint64{1, unix.TIOCGWINSZ}, seccompAllow},
		{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, eperm},
		{"TIOCSTI with high bits", unix.SYS_IOCTL, []uint64{0, high | unix.TIOCSTI}, eperm},
		{"TIOCLINUX", unix.SYS_IOCTL, []uint64{0, ioctlTIOCLINUX}, eperm},
		{"TIOCSETD", unix.SYS_IOCTL, []uint64{0, unix.TIOCSETD}, eperm},
		{"the present personality", unix.SYS_PERSONALITY, []uint64{0xffffffff}, seccompAllow},
		{"the usual personality", unix.SYS_PERSONALITY, []uint64{0}, seccompAllow},
		{"another personality", unix.SYS_PERSONALITY, []uint64{0x40000}, eperm},
		{"a unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, seccompAllow},
		{"TCP", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, seccompAllow},
		{"UDP over IPv6", unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, seccompAllow},
		{"a raw socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW}, eperm},
		{"netlink", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW}, noFamily},
		{"vsock", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM}, noFamily},
		{"a pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, seccompAllow},
		{"a pair of another family", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, noFamily},
		{"the newest call that is known", newestCall, nil, seccompAllow},
		{"a newer one", newestCall + 1, nil, enosys},
		{"the mode of 32-bit pointers", 0x40000000, nil, seccompKill},
		{"no number", 0xffffffff, nil, seccompKill},
	} {
		if got := answer(t, seccompFilter(false), auditArch, test.nr, test.args...); got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
	if got := answer(t, seccompFilter(false), unix.AUDIT_ARCH_I386, unix.SYS_READ); got != seccompKill {
		t.Errorf("another processor mode: %#x", got)
	}
	for _, nr := range deniedCalls {
		if got := answer(t, seccompFilter(false), auditArch, nr); got != eperm {
			t.Errorf("call %d: %#x", nr, got)
		}
	}
	for measured, want := range map[bool]uint32{false: seccompAllow, true: eperm} {
		if got := answer(t, seccompFilter(measured), auditArch, unix.SYS_MEMFD_CREATE); got != want {
			t.Errorf("a file in memory, measured %v: %#x", measured, got)
		}
	}
}
