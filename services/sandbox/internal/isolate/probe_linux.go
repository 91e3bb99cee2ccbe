package isolate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The names of checks.
const (
	checkBubblewrap = "bubblewrap"
	checkUser       = "user_namespace"
	checkFiles      = "filesystem"
	checkNetwork    = "network"
	checkProcesses  = "process_namespace"
	checkSeccomp    = "seccomp"
	checkMemory     = "memory_limit"
	checkPids       = "pids_limit"
	checkTime       = "time_limit"
	checkOutput     = "output_limit"
)

// Options that are needed came with this version of bubblewrap.
const oldestVersion = "0.8.0"

// Probe implements Driver.
func (b *bubblewrap) Probe(ctx context.Context) Capabilities { return b.probe(ctx, true) }

func (b *bubblewrap) lastProbe() *Capabilities {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.found
}

// probe looks at the machine; again says that what was found before is not
// enough.
func (b *bubblewrap) probe(ctx context.Context, again bool) Capabilities {
	b.probing.Lock()
	defer b.probing.Unlock()
	if last := b.lastProbe(); last != nil && !again {
		return *last
	}
	c := Capabilities{Driver: "bubblewrap", Enforcement: b.enforcement(), Languages: map[string]string{}}
	if b.tool(ctx, &c) && b.isolation(ctx, &c) {
		b.limits(ctx, &c)
		b.languages(ctx, &c)
	}
	if ctx.Err() != nil {
		// What was found is of a probe that was broken off.
		c.Checks = append(c.Checks, Check{Name: "self_test", Required: true,
			Detail: "it was broken off: " + ctx.Err().Error(), Fix: "try again"})
		return c
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found = &c
	return c
}

// tool looks for bubblewrap.
func (b *bubblewrap) tool(ctx context.Context, c *Capabilities) bool {
	k := Check{Name: checkBubblewrap, Required: true, Fix: "install it: apt-get install bubblewrap"}
	defer func() { c.Checks = append(c.Checks, k) }()
	if b.path == "" {
		k.Detail = "the program bwrap was not found"
		if b.cfg.Path != "" {
			k.Detail = fmt.Sprintf("the program %s was not found", b.cfg.Path)
		}
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, b.path, "--version").CombinedOutput()
	said := strings.TrimSpace(string(out))
	version, ok := strings.CutPrefix(said, "bubblewrap ")
	if err != nil || !ok {
		k.Detail = fmt.Sprintf("%s --version does not answer as bubblewrap does: %.200q (%v)", b.path, said, err)
		return false
	}
	c.Version = version
	if older(version, oldestVersion) {
		k.Detail = fmt.Sprintf("%s is version %s", b.path, version)
		k.Fix = "install bubblewrap " + oldestVersion + " or newer"
		return false
	}
	k.OK, k.Detail, k.Fix = true, fmt.Sprintf("%s, version %s", b.path, version), ""
	return true
}

// older compares versions of numbers with dots.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var n, m int
		if i < len(x) {
			n, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			m, _ = strconv.Atoi(y[i])
		}
		if n != m {
			return n < m
		}
	}
	return false
}

// lookAround is a program that tells what it can reach from a sandbox. It is
// told of a file of the host that it must not see.
const lookAround = `
while read -r name value rest; do
  case $name in Uid:|CapEff:|CapBnd:|CapPrm:|NoNewPrivs:|Seccomp:) echo "$name $value" ;; esac
done </proc/self/status
for d in / /usr /etc /dev /run; do
  if true 2>/dev/null >"$d/canary"; then echo "wrote: $d"; fi
done
for f in "$1" /etc/shadow /root /home /var /sys /run/systemd; do
  if [ -e "$f" ]; then echo "saw: $f"; fi
done
case $(readlink /proc/1/exe) in
  /memfd:*) ;;
  *) if [ -O /proc/1/exe ]; then echo "owns: the program that makes sandboxes"; fi ;;
esac
set -- /proc/[0-9]*
echo "processes: $#"
while read -r device rest; do
  case $device in *:) echo "device: $device" ;; esac
done </proc/net/dev
if unshare -U true 2>/dev/null; then echo "made: a user namespace"; fi
echo "end: here"
`

// isolation runs one program in a sandbox and checks what it could see and do.
func (b *bubblewrap) isolation(ctx context.Context, c *Capabilities) bool {
	k := Check{Name: checkUser, Required: true}
	canary, err := os.CreateTemp("", "nanoclaw-canary-")
	if err != nil {
		k.Detail, k.Fix = "no temporary file can be made: "+err.Error(), "make "+os.TempDir()+" writable"
		c.Checks = append(c.Checks, k)
		return false
	}
	defer func() { _ = canary.Close(); _ = os.Remove(canary.Name()) }()
	saw, res, err := b.canary(ctx, lookAround, Limits{Wall: 20 * time.Second}, canary.Name())
	if err == nil && (res.Status != StatusOK || saw["end"] == nil) {
		err = fmt.Errorf("the program that looks around ended as %s: %s", res.Status, res.Detail)
	}
	if err != nil {
		k.Detail, k.Fix = "no sandbox can be made: "+err.Error(), userNamespaceFix()
		c.Checks = append(c.Checks, k)
		return false
	}

	none := strings.Repeat("0", 16)
	k.expect(saw, "Uid", "1000")
	for _, name := range []string{"CapEff", "CapBnd", "CapPrm"} {
		k.expect(saw, name, none)
	}
	k.expect(saw, "NoNewPrivs", "1")
	c.Checks = append(c.Checks, k.done("user 1000 without capabilities"))

	files := b.check(checkFiles)
	files.expect(saw, "wrote")
	files.expect(saw, "saw")
	files.expect(saw, "owns")
	c.Checks = append(c.Checks, files.done("a read-only view without files of the host"))

	network := b.check(checkNetwork)
	network.expect(saw, "device", "lo:")
	c.Checks = append(c.Checks, network.done("a loopback device of its own alone"))

	processes := b.check(checkProcesses)
	if n, _ := strconv.Atoi(strings.Join(saw["processes"], "")); n < 1 || n > 4 {
		processes.Detail = fmt.Sprintf("%d processes are visible in a sandbox", n)
	}
	c.Checks = append(c.Checks, processes.done("only the sandbox's own are visible"))

	seccomp := b.check(checkSeccomp)
	if b.noFilter != nil {
		seccomp.Detail, seccomp.Fix = b.noFilter.Error(), "use a machine with such a processor"
	} else {
		seccomp.expect(saw, "Seccomp", "2")
		seccomp.expect(saw, "made")
	}
	c.Checks = append(c.Checks, seccomp.done(fmt.Sprintf("a filter of %d instructions", len(b.filter)/8)))
	return true
}

func (b *bubblewrap) check(name string) Check {
	return Check{Name: name, Required: b.required[name]}
}

// expect notes what the program told otherwise than it should.
func (k *Check) expect(saw map[string][]string, name string, want ...string) {
	if got := saw[name]; strings.Join(got, " ") != strings.Join(want, " ") && k.Detail == "" {
		k.Detail = fmt.Sprintf("in a sandbox, %s is %q and should be %q", name, got, want)
	}
}

// done makes a check in which nothing was wrong one that is all right.
func (k Check) done(detail string) Check {
	if k.Detail == "" {
		k.OK, k.Detail = true, detail
	} else if k.Fix == "" {
		k.Fix = "the sandbox does not hold on this machine: report it, with the output of nanoclaw sandbox check"
	}
	return k
}

// canary runs a program of the shell and returns what it told, in lines of
// "name: value".
func (b *bubblewrap) canary(ctx context.Context, script string, l Limits, args ...string) (map[string][]string, Result, error) {
	var out bytes.Buffer
	res, err := b.run(ctx, Spec{
		Argv:   append([]string{"/bin/sh", "/run/nanoclaw/canary.sh"}, args...),
		Files:  map[string][]byte{"canary.sh": []byte(script)},
		Stdout: &out,
		Limits: l,
	})
	saw := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		saw[name] = append(saw[name], strings.TrimSpace(value))
	}
	return saw, res, err
}

// limits lets programs run into limits, all at once.
func (b *bubblewrap) limits(ctx context.Context, c *Capabilities) {
	type trial struct {
		check, script string
		limits        Limits
		want          []string // statuses; empty: any but ok
		detail        string
	}
	patience := 20 * time.Second
	memory := []string{StatusOOM}
	if b.cgroups.memory == nil {
		memory = nil
	}
	trials := []trial{
		{checkMemory, "head -c 400000000 /dev/zero | tail", Limits{Wall: patience, MemoryBytes: 32 << 20},
			memory, "kept by " + c.Enforcement["memory"]},
		{checkPids, "i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i+1)); done", Limits{Wall: 3 * time.Second, Pids: 8},
			nil, "kept by " + c.Enforcement["pids"]},
		{checkTime, "sleep 60", Limits{Wall: 50 * time.Millisecond}, []string{StatusTimeoutWall}, "kept"},
		{checkTime, "while :; do :; done", Limits{Wall: patience, CPU: 50 * time.Millisecond},
			[]string{StatusTimeoutCPU}, "kept"},
		{checkOutput, "while :; do echo word; done", Limits{Wall: patience, OutputBytes: 1 << 10},
			[]string{StatusOutputLimit}, "kept"},
	}
	checks := make([]Check, len(trials))
	var all sync.WaitGroup
	for i, t := range trials {
		all.Go(func() {
			k := b.check(t.check)
			k.Required = k.Required || t.check == checkTime || t.check == checkOutput
			_, res, err := b.canary(ctx, t.script, t.limits)
			switch {
			case err != nil:
				k.Detail = err.Error()
			case t.want != nil && res.Status != t.want[0], t.want == nil && res.Status == StatusOK:
				k.Detail = "a program that goes over it ended as " + res.Status
				k.Fix = limitFix(t.check)
			}
			checks[i] = k.done(t.detail)
		})
	}
	all.Wait()
	if m := &checks[0]; m.OK && b.cgroups.memory == nil {
		m.Detail = "measured every " + pollTime.String() + ", because " + b.cgroups.why
		if m.OK = b.cfg.MemoryPoll; !m.OK {
			m.Fix = "give the service a cgroup of its own (Delegate=yes in its systemd unit), or accept that memory is measured: sandbox.memory_poll: true"
		}
	}
	if checks[2].OK {
		checks[2] = checks[3]
	}
	c.Checks = append(c.Checks, checks[0], checks[1], checks[2], checks[4])
}

// limitFix says how a limit can be had.
func limitFix(check string) string {
	if check == checkPids && os.Geteuid() == 0 {
		return "run the service as another user than root, for whom the kernel counts processes, or give it a cgroup that it may write to"
	}
	return ""
}

// languages finds what can be run.
func (b *bubblewrap) languages(ctx context.Context, c *Capabilities) {
	all := []struct{ name, program, fix string }{
		{"bash", "bash", "apt-get install bash"},
		{"python", "python3", "apt-get install python3"},
		{"javascript", "node", "apt-get install nodejs"},
	}
	versions := make([]string, len(all))
	var wait sync.WaitGroup
	for i, l := range all {
		wait.Go(func() {
			var out bytes.Buffer
			res, err := b.run(ctx, Spec{Argv: []string{l.program, "--version"}, Stdout: &out, Limits: Limits{Wall: 20 * time.Second}})
			if err == nil && res.Status == StatusOK {
				versions[i], _, _ = strings.Cut(strings.TrimSpace(out.String()), "\n")
			}
		})
	}
	wait.Wait()
	for i, l := range all {
		k := Check{Name: l.name, OK: versions[i] != "", Detail: versions[i]}
		if k.OK {
			c.Languages[l.name] = versions[i]
		} else {
			k.Detail = fmt.Sprintf("%s cannot be run in a sandbox: it has to be in /usr/bin or /usr/local/bin", l.program)
			k.Fix = "install it: " + l.fix
		}
		c.Checks = append(c.Checks, k)
	}
}

// userNamespaceFix says what on this machine forbids user namespaces.
func userNamespaceFix() string {
	is := func(name, value string) bool {
		b, err := os.ReadFile(filepath.Join("/proc/sys", name))
		return err == nil && strings.TrimSpace(string(b)) == value
	}
	switch {
	case is("kernel/unprivileged_userns_clone", "0"):
		return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
	case is("user/max_user_namespaces", "0"):
		return "allow user namespaces: sysctl user.max_user_namespaces=15000"
	case is("kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap with the rule userns"
	}
	return "in a container, its security profile must allow user namespaces and mounts, and nothing may be mounted over parts of /proc (deploy/seccomp has a profile); on a host, see sysctl user.max_user_namespaces"
}
