package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestProcessesAreReadFromProc(t *testing.T) {
	page := int64(os.Getpagesize())
	for _, test := range []struct {
		name, stat string
		want       measured
	}{
		{"a plain one", "7 (sh) S 1 7 7 0 -1 0 0 0 0 0 11 5 3 1 20 0 4 0 900 8000 250 0",
			measured{memory: 250 * page, cpu: 200 * time.Millisecond, tasks: 4}},
		{"a name that misleads", "7 (a) R 9 9 9 9 (b)) S 1 7 7 0 -1 0 0 0 0 0 1 0 0 0 20 0 1 0 900 8000 2 0",
			measured{memory: 2 * page, cpu: 10 * time.Millisecond, tasks: 1}},
		{"one that is cut", "7 (sh) S 1", measured{}},
		{"nothing", "", measured{}},
	} {
		if got := parseStat(test.stat); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	rollup := "00400000-7fff r--p 00000000 00:00 0 [rollup]\nRss:  900 kB\nPss:  120 kB\nPss_Anon: 100 kB\nSwapPss:  8 kB\n"
	if got := parsePss(rollup); got != 128<<10 {
		t.Errorf("shares of memory: %d", got)
	}
}

func TestWhatAFolderHoldsIsCounted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		if err := os.Link(file, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "a", "b"), 0); err != nil {
		t.Fatal(err)
	}
	// a, b, the file once and the link.
	if got := usage(dir, 1000); got.files != 4 || got.bytes < 64<<10 || got.bytes > 128<<10 || got.deep {
		t.Errorf("%+v", got)
	}
	if got := usage(dir, 2); got.files <= 2 {
		t.Errorf("more than two: %+v", got)
	}
	deep := t.TempDir()
	if err := os.MkdirAll(filepath.Join(deep, strings.Repeat("d/", maxDepth+5)), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := usage(deep, 1000); !got.deep {
		t.Errorf("a deep folder: %+v", got)
	}
	if got := usage(filepath.Join(dir, "missing"), 1000); got != (used{}) {
		t.Errorf("no folder: %+v", got)
	}
}

func TestCgroupsOfThisProcessAreFound(t *testing.T) {
	fake := t.TempDir()
	for _, d := range []string{"unified/system/nanoclaw", "memory/own", "pids"} {
		if err := os.MkdirAll(filepath.Join(fake, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put := func(file, text string) {
		if err := os.WriteFile(filepath.Join(fake, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("unified/system/nanoclaw/cgroup.controllers", "cpu memory pids\n")
	put("unified/cgroup.controllers", "hugetlb\n")
	line := func(root, dir, kind, options string) string {
		return "31 23 0:28 " + root + " " + filepath.Join(fake, dir) + " rw,relatime shared:4 - " + kind + " x rw," + options + "\n"
	}
	for _, test := range []struct {
		name, mountinfo, cgroup string
		memory, pids, cpu       string // folders
	}{
		{"version 2", line("/", "unified", "cgroup2", "nsdelegate"), "0::/system/nanoclaw\n",
			"unified/system/nanoclaw", "unified/system/nanoclaw", "unified/system/nanoclaw"},
		{"version 1 before version 2", line("/", "unified", "cgroup2", "") + line("/", "memory", "cgroup", "memory") + line("/", "pids", "cgroup", "pids"),
			"5:pids:/\n4:memory:/own\n0::/\n", "memory/own", "pids", "unified"},
		{"a container that sees its own part", line("/docker/abc", "memory", "cgroup", "memory"), "4:memory:/docker/abc/own\n", "memory/own", "", ""},
		{"a container that sees nothing of its path", line("/", "memory", "cgroup", "memory"), "4:memory:/docker/abc\n", "memory", "", ""},
		{"no cgroups", "20 1 0:1 / / rw - ext4 /dev/vda rw\n", "", "", "", ""},
		{"nonsense", "a b - \n - cgroup\n", "::\n", "", "", ""},
	} {
		mounts := ownCgroups(test.mountinfo, test.cgroup)
		for controller, want := range map[string]string{"memory": test.memory, "pids": test.pids, "cpuacct": test.cpu} {
			m, ok := mountOf(mounts, controller)
			if want != "" {
				want = filepath.Join(fake, want)
			}
			if m.dir != want || ok != (want != "") {
				t.Errorf("%s: %s is at %q, want %q", test.name, controller, m.dir, want)
			}
		}
	}
}

func TestCgroupsOfBothVersionsAreLimitedAndRead(t *testing.T) {
	for version, files := range map[int]map[string]string{
		1: {"memory.limit_in_bytes": "", "pids.max": "", "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
			"pids.events": "max 7\n", "memory.max_usage_in_bytes": "4096\n", "cpuacct.usage": "1500000\n"},
		2: {"memory.max": "", "memory.oom.group": "", "pids.max": "", "memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 1\n",
			"pids.events": "max 7\n", "memory.peak": "4096\n", "cpu.stat": "usage_usec 1500\nuser_usec 1\n"},
	} {
		h := &hierarchy{version: version, dir: t.TempDir()}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := limitMemory(version, h.dir, 1<<20); err != nil {
			t.Error(err)
		}
		limit := map[int]string{1: "memory.limit_in_bytes", 2: "memory.max"}[version]
		if b, _ := os.ReadFile(filepath.Join(h.dir, limit)); string(b) != "1048576" {
			t.Errorf("version %d: %s is %q", version, limit, b)
		}
		g := &cgroup{of: &cgroups{memory: h, pids: h, cpu: h}, memory: h.dir, pids: h.dir, cpu: h.dir}
		if g.oomKills() != 2 || g.pidsDenied() != 7 || g.maxMemory() != 4096 || g.cpuTime() != 1500*time.Microsecond {
			t.Errorf("version %d: %d %d %d %v", version, g.oomKills(), g.pidsDenied(), g.maxMemory(), g.cpuTime())
		}
	}
}

func TestOptionsComeInTheOrderOfTheirMounts(t *testing.T) {
	s := Spec{Argv: []string{"true"}, Env: []string{"A=b=c", "HOME=/workspace"}, Workspace: "/data/w", ReadOnly: []string{"/tmp/logs"}, Limits: DefaultLimits()}
	a := options(s, []string{"--ro-bind", "/usr", "/usr"}, descriptors{status: 4, gate: 5, seccomp: 9, files: map[string]int{"/etc/passwd": 6}})
	at := func(words ...string) int {
		for i := range a {
			if i+len(words) <= len(a) && slices.Equal(a[i:i+len(words)], words) {
				return i
			}
		}
		t.Errorf("%q is missing in %q", words, a)
		return -1
	}
	order := [][]string{
		{"--unshare-net"}, {"--cap-drop", "ALL"}, {"--clearenv"}, {"--setenv", "A", "b=c"}, {"--setenv", "HOME", "/workspace"},
		{"--ro-bind", "/usr", "/usr"}, {"--file", "6", "/etc/passwd"}, {"--dev", "/dev"}, {"--tmpfs", "/dev/shm"}, {"--tmpfs", "/tmp"},
		{"--ro-bind", "/tmp/logs", "/tmp/logs"}, {"--bind", "/data/w", "/workspace"}, {"--remount-ro", "/dev"}, {"--remount-ro", "/"},
	}
	for i := 1; i < len(order); i++ {
		if at(order[i-1]...) >= at(order[i]...) {
			t.Errorf("%q comes after %q", order[i-1], order[i])
		}
	}
	if i := slices.Index(a, "/tmp"); !slices.Equal(a[i-2:i], []string{"--setenv", "TMPDIR"}) {
		t.Errorf("the environment is not complete: %q", a)
	}
}
