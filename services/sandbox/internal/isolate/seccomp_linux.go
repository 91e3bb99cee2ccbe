//go:build amd64 || arm64

package isolate

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What a filter answers (linux/seccomp.h).
const (
	seccompAllow = 0x7fff0000
	seccompKill  = 0x80000000 // the whole process, with SIGSYS
	seccompErrno = 0x00050000 // with the number in the low bits
)

// Where struct seccomp_data holds what. Only the low half of an argument is
// looked at: the kernel reads int arguments no further (CVE-2019-10063).
const (
	offsetNumber = 0
	offsetArch   = 4
)

func offsetArg(n int) uint32 { return uint32(16 + 8*n) }

// The namespaces that clone and unshare can make.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// deniedCalls answer EPERM: each reaches parts of the kernel that a program in a
// sandbox has no business with, or that others were escaped through.
var deniedCalls = []uint32{
	// Namespaces and mounts.
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR, unix.SYS_STATMOUNT,
	unix.SYS_LISTMOUNT, unix.SYS_LISTNS,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	// Ways into the kernel.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_MEMFD_SECRET,
	// The machine.
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME,
	// Placement of memory, which reaches over cgroups.
	unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE, unix.SYS_MIGRATE_PAGES,
	unix.SYS_MOVE_PAGES,
}

// memoryOutsideProcesses answer EPERM where memory is measured process by
// process: what they hold belongs to none.
var memoryOutsideProcesses = []uint32{unix.SYS_MEMFD_CREATE, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET}

// seccompProgram is the filter in the form that bubblewrap takes: records of
// struct sock_filter.
func seccompProgram(measured bool) ([]byte, error) {
	raw, err := bpf.Assemble(seccompFilter(measured))
	if err != nil {
		return nil, fmt.Errorf("assembling the seccomp filter: %w", err)
	}
	var b bytes.Buffer
	for _, i := range raw {
		if err := binary.Write(&b, binary.NativeEndian, i); err != nil {
			return nil, fmt.Errorf("writing the seccomp filter: %w", err)
		}
	}
	return b.Bytes(), nil
}

// seccompFilter lets a program do what programs do and refuses what leads out:
// calls for another processor mode end it, calls that are newer than this list
// do not exist, clone3 does not exist either, so that C libraries use clone,
// whose flags can be looked at.
func seccompFilter(measured bool) []bpf.Instruction {
	f := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: seccompKill},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		// On amd64 the calls of the x32 mode have this bit.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1},
		bpf.RetConstant{Val: seccompKill},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newestCall, SkipTrue: 1},
		bpf.RetConstant{Val: seccompErrno | uint32(unix.ENOSYS)},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: seccompErrno | uint32(unix.ENOSYS)},
	}
	refuse := bpf.RetConstant{Val: seccompErrno | uint32(unix.EPERM)}
	allow := bpf.RetConstant{Val: seccompAllow}
	denied := append(append([]uint32{}, deniedCalls...), deniedCallsOfArch...)
	if measured {
		denied = append(denied, memoryOutsideProcesses...)
	}
	for _, nr := range denied {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: 1}, refuse)
	}

	// when runs instructions on argument n of a call; they must end in a return.
	when := func(nr uint32, n int, then ...bpf.Instruction) {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: nr, SkipTrue: uint8(len(then) + 1)},
			bpf.LoadAbsolute{Off: offsetArg(n), Size: 4})
		f = append(f, then...)
	}
	when(unix.SYS_CLONE, 0,
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags, SkipFalse: 1}, refuse, allow)
	when(unix.SYS_UNSHARE, 0,
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaceFlags | unix.CLONE_NEWTIME, SkipFalse: 1}, refuse, allow)
	when(unix.SYS_IOCTL, 1,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: ioctlTIOCLINUX, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSETD, SkipTrue: 1},
		allow, refuse)
	when(unix.SYS_PERSONALITY, 0,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0xffffffff, SkipTrue: 1}, // asks for the present one
		refuse, allow)
	noFamily := bpf.RetConstant{Val: seccompErrno | uint32(unix.EAFNOSUPPORT)}
	when(unix.SYS_SOCKETPAIR, 0,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, noFamily, allow)
	when(unix.SYS_SOCKET, 0,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 8},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		noFamily,
		// Streams and datagrams alone; the rest of the type are flags.
		bpf.LoadAbsolute{Off: offsetArg(1), Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_DGRAM, SkipTrue: 1},
		refuse, allow)
	return append(f, allow)
}

// ioctlTIOCLINUX can paste into a console.
const ioctlTIOCLINUX = 0x541c
