package isolate

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of times in /proc (USER_HZ, which is 100 on every
// processor that Go runs on).
const clockTick = 10 * time.Millisecond

// tree are the processes of a sandbox, seen through the sandbox's own /proc,
// which lists all of them and nobody else.
type tree struct{ root *os.Root }

// openTree opens a /proc; nil where it cannot be opened any more.
func openTree(proc string) *tree {
	root, err := os.OpenRoot(proc)
	if err != nil {
		return nil
	}
	return &tree{root}
}

func (t *tree) close() { _ = t.root.Close() }

// measured is what processes use at a time.
type measured struct {
	memory int64 // with pages that are shared counted for each
	cpu    time.Duration
	tasks  int // processes and threads
}

func (t *tree) measure() measured {
	var m measured
	for _, pid := range t.pids() {
		b, err := t.root.ReadFile(pid + "/stat")
		if err != nil {
			continue // it has ended
		}
		p := parseStat(string(b))
		m.memory += p.memory
		m.cpu += p.cpu
		m.tasks += p.tasks
	}
	return m
}

// shares is the memory of all processes with each page counted once.
func (t *tree) shares() int64 {
	var bytes int64
	for _, pid := range t.pids() {
		b, err := t.root.ReadFile(pid + "/smaps_rollup")
		if err != nil {
			continue
		}
		bytes += parsePss(string(b))
	}
	return bytes
}

func (t *tree) pids() []string {
	dir, err := t.root.Open(".")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var pids []string
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' {
			pids = append(pids, name)
		}
	}
	return pids
}

// parseStat reads /proc/<pid>/stat (proc_pid_stat(5)). The name of a program may
// hold anything, also a parenthesis.
func parseStat(stat string) measured {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	number := func(n int) int64 { // the field of that number in the manual
		if n-3 >= len(f) {
			return 0
		}
		v, _ := strconv.ParseInt(f[n-3], 10, 64)
		return v
	}
	ticks := number(14) + number(15) + number(16) + number(17)
	return measured{
		memory: number(24) * int64(os.Getpagesize()),
		cpu:    time.Duration(ticks) * clockTick,
		tasks:  int(number(20)),
	}
}

// parsePss adds up the proportional share of memory and swap in smaps_rollup.
func parsePss(rollup string) int64 {
	var kib int64
	for line := range strings.Lines(rollup) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "Pss:" || f[0] == "SwapPss:") {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			kib += n
		}
	}
	return kib << 10
}
