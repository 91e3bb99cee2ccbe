package isolate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folders of the host that every program can read, where they are there. The
// ones of /etc are looked for by libraries: without alternatives numpy does not
// find its BLAS.
var hostFolders = []string{"/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts", "/etc/matplotlibrc"}

// Folders that are links into /usr on most machines and real ones on others.
var rootFolders = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// Files of /proc that tell of the machine, not of the sandbox.
var maskedFiles = []string{
	"/proc/cmdline", "/proc/keys", "/proc/kcore", "/proc/timer_list", "/proc/kpagecount", "/proc/kpageflags",
	"/proc/kpagecgroup", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/iomem", "/proc/ioports",
}

// etcFiles are the files that say who is who in a sandbox.
var etcFiles = map[string]string{
	"/etc/passwd":        "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
	"/etc/group":         "root:x:0:\nuser:x:1000:\n",
	"/etc/hosts":         "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

// hostView is what of this machine is shown in its sandboxes: options of
// bubblewrap that are the same for every run.
func hostView() []string {
	var a []string
	for _, d := range hostFolders {
		if _, err := os.Stat(d); err == nil {
			a = append(a, "--ro-bind", d, d)
		}
	}
	for _, d := range rootFolders {
		info, err := os.Lstat(d)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if to, err := os.Readlink(d); err == nil {
				a = append(a, "--symlink", to, d)
			}
		case info.IsDir():
			a = append(a, "--ro-bind", d, d)
		}
	}
	return a
}

// procView is /proc, without what tells of the machine.
func procView() []string {
	a := []string{"--proc", "/proc"}
	for _, f := range maskedFiles {
		if file, err := os.Open(f); err == nil {
			_ = file.Close()
			a = append(a, "--dev-bind", "/dev/null", f)
		}
	}
	return append(a, "--remount-ro", "/proc")
}

// descriptors are the numbers under which bubblewrap finds what it is given.
type descriptors struct {
	args, status, gate, seccomp int
	files                       map[string]int // by their path in the sandbox
}

// options are the options of bubblewrap for a run. Their order matters: a mount
// hides what was there before it, and nothing can be mounted on what is
// read-only already.
func options(s Spec, view []string, d descriptors) []string {
	tmp := strconv.FormatInt(s.Limits.TmpBytes, 10)
	a := []string{
		"--die-with-parent", "--new-session",
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--disable-userns", "--cap-drop", "ALL",
		"--uid", "1000", "--gid", "1000", "--hostname", "sandbox",
		"--json-status-fd", strconv.Itoa(d.status), "--block-fd", strconv.Itoa(d.gate),
	}
	if d.seccomp != 0 {
		a = append(a, "--seccomp", strconv.Itoa(d.seccomp))
	}
	a = append(a, "--clearenv")
	for _, e := range environment(s.Env) {
		name, value, _ := strings.Cut(e, "=")
		a = append(a, "--setenv", name, value)
	}
	a = append(a, "--perms", "0755", "--dir", "/etc")
	a = append(a, view...)
	for _, path := range slices.Sorted(maps.Keys(d.files)) {
		a = append(a, "--perms", "0444", "--file", strconv.Itoa(d.files[path]), path)
	}
	a = append(a,
		"--dev", "/dev",
		"--perms", "1777", "--size", tmp, "--tmpfs", "/dev/shm",
		"--perms", "1777", "--size", tmp, "--tmpfs", "/tmp")
	for _, dir := range s.ReadOnly {
		a = append(a, "--ro-bind", dir, dir)
	}
	if s.Workspace != "" {
		a = append(a, "--bind", s.Workspace, "/workspace")
	} else {
		a = append(a, "--perms", "0755", "--size", tmp, "--tmpfs", "/workspace")
	}
	// Without these two, / and /dev are folders in memory that have no size.
	return append(a, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace")
}

// environment adds what a program expects to find.
func environment(env []string) []string {
	all := slices.Clone(env)
	for _, d := range []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8"} {
		name, _, _ := strings.Cut(d, "=")
		named := func(e string) bool { return strings.HasPrefix(e, name+"=") }
		if !slices.ContainsFunc(env, named) {
			all = append(all, d)
		}
	}
	return all
}

// What the kernel takes for the start of a program, with room for bubblewrap.
const (
	maxWord  = 96 << 10 // MAX_ARG_STRLEN is 128 KiB
	maxWords = 1 << 20  // of 2 MiB at the usual limit of the stack
)

// check refuses what cannot be run, before anything is made for it.
func (s Spec) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrSpec, fmt.Sprintf(format, args...))
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return bad("the command is empty")
	}
	total := 0
	for i, w := range slices.Concat(s.Argv, s.Env) {
		what := "the environment"
		if i < len(s.Argv) {
			what = "the command"
		}
		if strings.ContainsRune(w, 0) {
			return bad("%s has a NUL byte", what)
		}
		if len(w) > maxWord {
			return bad("a word of %s has %d bytes; at most %d can be passed on: put it in a file", what, len(w), maxWord)
		}
		if total += len(w) + 1; total > maxWords {
			return bad("the command and its environment have more than %d bytes: put them in a file", maxWords)
		}
	}
	for _, e := range s.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return bad("%q in the environment is not of the form KEY=value", e)
		}
	}
	for name := range s.Files {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return bad("%q is not the name of a file", name)
		}
	}
	if s.Workspace != "" {
		if err := folder(s.Workspace); err != nil {
			return bad("the workspace %v", err)
		}
	}
	for _, dir := range s.ReadOnly {
		if err := folder(dir); err != nil {
			return bad("the read-only folder %v", err)
		}
		if at, hides := hiding(dir); hides {
			return bad("the read-only folder %q would hide or show %s: take a folder for it alone", dir, at)
		}
	}
	return nil
}

// hiding says whether a folder of the host cannot be shown at its own path: it
// would hide what a sandbox needs there, or it has what no program may see.
// Sockets in /run can be used even where they cannot be written.
func hiding(dir string) (string, bool) {
	for _, at := range []string{"/usr", "/etc", "/bin", "/lib", "/tmp", "/workspace"} {
		if within(at, dir) {
			return at, true
		}
	}
	for _, at := range []string{"/proc", "/dev", "/sys", "/run", "/var/run"} {
		if within(at, dir) || within(dir, at) {
			return at, true
		}
	}
	return "", false
}

// within says whether a path is a folder or leads into it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

func folder(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || strings.ContainsRune(dir, 0) {
		return fmt.Errorf("%q is not an absolute, clean path", dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cannot be found: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%q is not a folder", dir)
	}
	return nil
}

// filled replaces limits that are zero.
func (l Limits) filled() Limits {
	d := DefaultLimits()
	or(&l.Wall, d.Wall)
	or(&l.CPU, d.CPU)
	or(&l.MemoryBytes, d.MemoryBytes)
	or(&l.TmpBytes, d.TmpBytes)
	or(&l.FileBytes, d.FileBytes)
	or(&l.Files, d.Files)
	or(&l.Pids, d.Pids)
	or(&l.OpenFiles, d.OpenFiles)
	or(&l.OutputBytes, d.OutputBytes)
	return l
}

func or[T ~int | ~int64](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
