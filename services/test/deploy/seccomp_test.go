package deploy

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	engine "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

const seccompFile = "deploy/seccomp/sandbox.json"

// seccompRule is one of a profile, in the words that engines and the kubelet
// both know: conditions on capabilities and kernels are Docker's own, and others
// read past them.
type seccompRule struct {
	Comment string `json:"comment"`
	specs.LinuxSyscall
}

type seccompProfile struct {
	DefaultAction   specs.LinuxSeccompAction `json:"defaultAction"`
	DefaultErrnoRet uint                     `json:"defaultErrnoRet"`
	Architectures   []specs.Arch             `json:"architectures"`
	Syscalls        []seccompRule            `json:"syscalls"`
}

func seccompRules(t testing.TB) seccompProfile {
	t.Helper()
	var p seccompProfile
	d := json.NewDecoder(bytes.NewReader([]byte(read(t, seccompFile))))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		t.Fatalf("%s: %v", seccompFile, err)
	}
	return p
}

// forContainer tells whether a rule of the engines' default holds for a
// container without capabilities on the machines that we run on.
func forContainer(r *engine.Syscall) bool {
	ours := func(arch string) bool { return arch == "amd64" || arch == "arm64" }
	in := r.Includes == nil || len(r.Includes.Caps) == 0 && (len(r.Includes.Arches) == 0 || slices.ContainsFunc(r.Includes.Arches, ours))
	out := r.Excludes != nil && slices.ContainsFunc(r.Excludes.Arches, ours)
	return in && !out
}

func TestTheSeccompProfileIsTheDefaultAndSixCallsMore(t *testing.T) {
	usual := map[string]bool{}
	for _, r := range engine.DefaultProfile().Syscalls {
		// What has conditions on its arguments there has its own here.
		if forContainer(r) && r.Action == specs.ActAllow && (len(r.Args) == 0 || !slices.Contains(r.Names, "clone")) {
			for _, name := range r.Names {
				usual[name] = true
			}
		}
	}
	var more []string
	for _, r := range seccompRules(t).Syscalls {
		if !slices.IsSorted(r.Names) {
			t.Errorf("%q is not in order", r.Comment)
		}
		for _, name := range r.Names {
			if r.Action == specs.ActAllow && !usual[name] {
				more = append(more, name)
			}
		}
	}
	if want := []string{"clone", "mount", "pivot_root", "sethostname", "umount2", "unshare"}; !slices.Equal(more, want) {
		t.Errorf("allowed over the default of container engines are %v, want %v", more, want)
	}
}

func TestTheSeccompProfileRefusesWhatLeadsIntoTheKernel(t *testing.T) {
	p := seccompRules(t)
	if p.DefaultAction != specs.ActErrno || p.DefaultErrnoRet != 1 {
		t.Errorf("what is not named: %s %d", p.DefaultAction, p.DefaultErrnoRet)
	}
	if !slices.Equal(p.Architectures, []specs.Arch{specs.ArchX86_64, specs.ArchAARCH64}) {
		t.Errorf("architectures %v", p.Architectures)
	}
	rules := map[string][]seccompRule{}
	for _, r := range p.Syscalls {
		for _, name := range r.Names {
			rules[name] = append(rules[name], r)
		}
	}
	for _, name := range []string{
		"acct", "add_key", "bpf", "chroot", "clock_settime", "delete_module", "finit_module", "fsconfig", "fsmount", "fsopen",
		"init_module", "io_uring_enter", "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load",
		"keyctl", "mount_setattr", "move_mount", "open_by_handle_at", "open_tree", "perf_event_open", "process_vm_readv",
		"process_vm_writev", "ptrace", "quotactl", "reboot", "request_key", "setns", "settimeofday", "swapon", "syslog", "userfaultfd",
	} {
		if len(rules[name]) > 0 {
			t.Errorf("%s is in the profile: %+v", name, rules[name])
		}
	}
	for name, list := range rules {
		if once := len(list) == 1 && len(list[0].Args) == 0; !once && name != "socket" && name != "personality" {
			t.Errorf("%s stands in it %d times", name, len(list))
		}
	}
	if r := rules["clone3"]; len(r) != 1 || r[0].Action != specs.ActErrno || r[0].ErrnoRet == nil || *r[0].ErrnoRet != 38 {
		t.Errorf("clone3: %+v; C libraries use clone when it does not exist (ENOSYS, 38)", r)
	}
	// AF_VSOCK reaches the hypervisor, AF_ALG and the rest much of the kernel.
	var families []uint64
	for _, r := range rules["socket"] {
		if len(r.Args) != 1 || r.Args[0].Index != 0 || r.Args[0].Op != specs.OpEqualTo {
			t.Errorf("socket: %+v", r.Args)
			continue
		}
		families = append(families, r.Args[0].Value)
	}
	if want := []uint64{1, 2, 10, 16}; !slices.Equal(families, want) {
		t.Errorf("sockets of the families %v, want %v", families, want)
	}
}
