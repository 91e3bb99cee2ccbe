package isolate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wrapper is a program that stands for bubblewrap.
func wrapper(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bwrap")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMachinesThatCannotIsolateRunNothing are machines on which something is
// missing, made by what stands for bubblewrap.
func TestMachinesThatCannotIsolateRunNothing(t *testing.T) {
	const version = `[ "$1" = --version ] && echo "bubblewrap 0.8.0" && exit
`
	mark := filepath.Join(t.TempDir(), "ran")
	for _, test := range []struct {
		name, path     string
		missing        string
		detail, repair string
	}{
		{"no bubblewrap", filepath.Join(t.TempDir(), "bwrap"), checkBubblewrap, "was not found", "apt-get install bubblewrap"},
		{"something else of that name", wrapper(t, "echo hello\n"), checkBubblewrap, "does not answer", "apt-get install bubblewrap"},
		{"one that fails", wrapper(t, "exit 7\n"), checkBubblewrap, "exit status 7", "apt-get install bubblewrap"},
		{"an old one", wrapper(t, "echo bubblewrap 0.4.1\n"), checkBubblewrap, "0.4.1", "0.8.0 or newer"},
		{"user namespaces refused", wrapper(t, version+`
cat <&3 >/dev/null
echo "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user namespaces." >&2
exit 1
`), checkUser, "No permissions to create a new namespace", "user namespaces"},
		{"one that ends at once", wrapper(t, version+"exit 1\n"), checkUser, "no sandbox can be made", "user namespaces"},
		{"one that runs programs without a sandbox", wrapper(t, version+`
cat <&3 >/dev/null
shift 3
exec "$@"
`), checkUser, "no sandbox can be made", "user namespaces"},
		{"one that shares the network", wrapper(t, version+`
exec 9<&3
{ tr '\0' '\n' <&9 | sed 's/^--unshare-net$/--unshare-ipc/' | tr '\n' '\0'; } >"$0.args"
exec 3<"$0.args"
exec bwrap "$@"
`), checkNetwork, "device", "report it"},
		{"one that leaves the filter out", wrapper(t, version+`
exec 9<&3
{ tr '\0' '\n' <&9 | sed '/^--seccomp$/,+1d' | tr '\n' '\0'; } >"$0.args"
exec 3<"$0.args"
exec bwrap "$@"
`), checkSeccomp, "Seccomp", "report it"},
		{"one that shows the host", wrapper(t, version+`
exec 9<&3
{ tr '\0' '\n' <&9 | sed 's/^--dev$/--ro-bind\n\/var\n\/var\n--dev/' | tr '\n' '\0'; } >"$0.args"
exec 3<"$0.args"
exec bwrap "$@"
`), checkFiles, `saw is ["/var"]`, "report it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDriver(t, Config{Path: test.path, MemoryPoll: true})
			started := false
			_, err := d.Run(t.Context(), Spec{Argv: []string{"touch", mark}, Started: func(Start) { started = true }})
			var u *Unavailable
			if !errors.As(err, &u) {
				t.Fatalf("the error is %v", err)
			}
			if names := u.Names(); !slices.Contains(names, test.missing) {
				t.Errorf("%q is missing, want %q: %v", names, test.missing, err)
			}
			for _, word := range []string{test.detail, test.repair} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not say %q: %v", word, err)
				}
			}
			if _, missing := os.Stat(mark); missing == nil || started {
				t.Error("the program ran")
			}
			if again := d.Probe(t.Context()); again.Available() {
				t.Errorf("a second look finds nothing missing: %+v", again)
			}
		})
	}
}

func TestWhatIsNotRequiredIsNotMissed(t *testing.T) {
	caps := Capabilities{Checks: []Check{{Name: "a", OK: true, Required: true}, {Name: "b"}, {Name: "c", Required: true}}}
	if m := caps.Missing(); len(m) != 1 || m[0].Name != "c" || caps.Available() {
		t.Errorf("missing %+v", m)
	}
	if _, err := NewBubblewrap(Config{Require: []string{"fs", "sandbox"}}); err == nil || !strings.Contains(err.Error(), `"sandbox"`) {
		t.Errorf("a word without meaning: %v", err)
	}
}

func TestMemoryIsMeasuredOnlyWhereThatIsAccepted(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		d := newDriver(t, Config{MemoryPoll: accepted})
		d.withoutCgroups(t)
		c := d.Probe(t.Context())
		memory := slices.IndexFunc(c.Checks, func(k Check) bool { return k.Name == checkMemory })
		if k := c.Checks[memory]; k.OK != accepted || !k.Required || c.Enforcement["memory"] != "poll" {
			t.Errorf("accepted %v: %+v, %v", accepted, k, c.Enforcement)
		}
		if os.Geteuid() == 0 {
			// The kernel does not count the processes of root.
			if names := (&Unavailable{Missing: c.Missing()}).Names(); !slices.Contains(names, checkPids) {
				t.Errorf("root without cgroups: %q", names)
			}
		}
	}
}

// withoutCgroups makes the machine one where none can be written.
func (b *bubblewrap) withoutCgroups(t *testing.T) {
	t.Helper()
	b.cgroups.close()
	b.cgroups = openCgroups(nil)
	var err error
	if b.filter, err = seccompProgram(true); err != nil {
		t.Fatal(err)
	}
}

func TestVersionsAreComparedByNumber(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"0.8.0", "0.8.0", false}, {"0.10.0", "0.8.0", false}, {"0.7.9", "0.8.0", true}, {"1", "0.8.0", false}, {"0.8", "0.8.0", false}, {"", "0.8.0", true}} {
		if got := older(test.a, test.b); got != test.want {
			t.Errorf("older(%q, %q) = %v", test.a, test.b, got)
		}
	}
}

func TestLanguagesAreFoundInASandbox(t *testing.T) {
	c := newDriver(t, Config{MemoryPoll: true}).Probe(t.Context())
	if c.Driver != "bubblewrap" || c.Version == "" || !strings.Contains(c.Languages["bash"], "bash") || !strings.Contains(c.Languages["python"], "Python 3") {
		t.Errorf("%+v", c)
	}
	for _, k := range c.Checks {
		if k.Detail == "" || !k.OK && k.Fix == "" {
			t.Errorf("a check says too little: %+v", k)
		}
	}
}
