package isolate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkStart compares programs in a sandbox with the same programs without
// one, turn by turn: the time on the clock to the end of the program (p50) and
// the CPU time of all processes that it takes, this one among them.
func BenchmarkStart(b *testing.B) {
	d := newDriver(b, Config{MemoryPoll: true})
	if missing := d.Probe(b.Context()).Missing(); len(missing) > 0 {
		b.Skipf("programs cannot be run in a sandbox here: %v", &Unavailable{missing})
	}
	for _, bench := range []struct {
		name string
		argv []string
	}{
		{"true", []string{"true"}},
		{"python", []string{"python3", "-c", "pass"}},
		{"python-isolated", []string{"python3", "-I", "-S", "-B", "-c", "pass"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			path, err := exec.LookPath(filepath.Join("/usr/bin", bench.argv[0]))
			if err != nil {
				b.Skip(err)
			}
			var bare, boxed cost
			for b.Loop() {
				bare.measure(b, nil, func() error { return exec.Command(path, bench.argv[1:]...).Run() })
				boxed.measure(b, d, func() error {
					res, err := d.Run(b.Context(), Spec{Argv: bench.argv, Limits: Limits{Wall: time.Minute}})
					if err == nil && res.Status != StatusOK {
						b.Fatalf("%+v", res)
					}
					return err
				})
			}
			bare.print(b, "bare", cost{})
			boxed.print(b, "sandbox", bare)
		})
	}
}

// cost is what runs have taken.
type cost struct {
	wall []time.Duration
	cpu  time.Duration
	// counted: the CPU time of a sandbox is known, from its cgroup.
	counted bool
}

// measure runs once. The processes of a sandbox are counted by its cgroup, others
// as children of this process.
func (c *cost) measure(b *testing.B, d *bubblewrap, run func() error) {
	b.Helper()
	began, cpu := time.Now(), cpuOf(syscall.RUSAGE_SELF)
	children := func() time.Duration { return cpuOf(syscall.RUSAGE_CHILDREN) }
	c.counted = true
	if d != nil {
		c.counted = d.cgroups.cpu != nil
		children = func() time.Duration { return d.cgroups.cpuTime() }
	}
	before := children()
	if err := run(); err != nil {
		b.Fatal(err)
	}
	c.wall = append(c.wall, time.Since(began))
	c.cpu += cpuOf(syscall.RUSAGE_SELF) - cpu + children() - before
}

// cpuTime is the CPU time of all runs of a driver, of those that are gone too.
func (c *cgroups) cpuTime() time.Duration {
	if c.cpu == nil {
		return 0
	}
	return (&cgroup{of: c, cpu: c.cpu.dir}).cpuTime()
}

func cpuOf(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// print prints figures, and how many times those of base they are.
func (c *cost) print(b *testing.B, what string, base cost) {
	b.Helper()
	figure := func(metric string, value float64, unit, to string) {
		line := map[string]any{"bench": "sandbox." + filepath.Base(b.Name()) + "." + what, "metric": metric, "value": round(value), "unit": unit}
		if to != "" {
			line["ratio_to"] = to
		}
		if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
			b.Error(err)
		}
	}
	slices.Sort(c.wall)
	slices.Sort(base.wall)
	n := time.Duration(len(c.wall))
	p50 := c.wall[len(c.wall)/2]
	figure("p50", float64(p50)/float64(time.Millisecond), "ms", "")
	if c.counted {
		figure("cpu", float64(c.cpu/n)/float64(time.Millisecond), "ms", "")
	}
	if len(base.wall) == 0 {
		return
	}
	figure("p50", float64(p50)/float64(base.wall[len(base.wall)/2]), "x", "bare")
	if c.counted && base.cpu > 0 {
		figure("cpu", float64(c.cpu)/float64(base.cpu), "x", "bare")
		figure("cpu over bare", float64((c.cpu-base.cpu)/n)/float64(time.Millisecond), "ms", "bare")
	}
}

// round leaves two decimals.
func round(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }
