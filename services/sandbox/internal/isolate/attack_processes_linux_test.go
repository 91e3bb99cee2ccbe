package isolate

import (
	"testing"
	"time"
)

// withoutEnd are the statuses of a program that makes processes without end: it fails
// for want of them, or its time is over first.
var withoutEnd = []string{StatusPidsLimit, StatusNonzeroExit, StatusTimeoutWall, StatusTimeoutCPU, StatusSignaled}

var processAttacks = []attack{
	{group: "processes", name: "a fork bomb in bash", limits: Limits{Pids: 32, Wall: time.Second}, want: withoutEnd,
		bash: `bomb() { bomb | bomb; }; bomb`},
	{group: "processes", name: "a fork bomb that goes to the background", limits: Limits{Pids: 32, Wall: time.Second},
		want: append([]string{StatusOK}, withoutEnd...),
		bash: `:(){ :|:& };:`},
	{group: "processes", name: "a fork bomb in Python", limits: Limits{Pids: 32, Wall: 2 * time.Second}, want: withoutEnd,
		python: `
while True:
    os.fork()
`},
	{group: "processes", name: "ten thousand threads", limits: Limits{Pids: 32}, want: []string{StatusPidsLimit, StatusNonzeroExit},
		python: `
made = 0
try:
    for _ in range(10000):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        made += 1
except RuntimeError:
    print("made", made)
    sys.stdout.flush()
    os._exit(1 if made < 32 else 0)
os._exit(0)
`, out: "made "},
	{group: "processes", name: "a storm of programs", limits: Limits{Pids: 32}, want: []string{StatusPidsLimit, StatusNonzeroExit},
		python: `
while True:
    os.posix_spawn("/bin/sleep", ["sleep", "600"], {})
`},
	{group: "processes", name: "a daemon that stays behind", python: `
if os.fork() == 0:
    os.setsid()
    for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)
    if os.fork() == 0:
        os.closerange(0, 10)
        time.sleep(600)
    os._exit(0)
os._exit(0)
`},
	{group: "processes", name: "a daemon that keeps the output open", python: `
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
print("left")
sys.stdout.flush()
os._exit(0)
`, out: "left", check: func(t *testing.T, a attacked) {
		if a.res.Wall >= attackTime {
			t.Errorf("the result came after %v", a.res.Wall)
		}
	}},
	{group: "processes", name: "signals ignored", limits: Limits{Wall: 300 * time.Millisecond}, want: []string{StatusTimeoutWall},
		bash: `trap '' TERM INT HUP QUIT USR1; while :; do sleep 100; done`},
	{group: "processes", name: "sleep without end", limits: Limits{Wall: 200 * time.Millisecond}, want: []string{StatusTimeoutWall},
		argv: []string{"sh", "-c", "sleep 600"}, check: func(t *testing.T, a attacked) {
			if a.res.ExitCode != 137 || a.res.Signal != "SIGKILL" || a.res.Detail == "" {
				t.Errorf("it ended as %+v", a.res)
			}
		}},
	{group: "processes", name: "a busy loop", limits: Limits{CPU: 200 * time.Millisecond}, want: []string{StatusTimeoutCPU},
		python: "while True: pass\n"},
	{group: "processes", name: "busy loops in twenty children", limits: Limits{CPU: 600 * time.Millisecond}, want: []string{StatusTimeoutCPU},
		python: `
for _ in range(20):
    if os.fork() == 0:
        while True: pass
time.sleep(600)
`},
	{group: "processes", name: "busy loops in orphans", limits: Limits{CPU: 600 * time.Millisecond}, want: []string{StatusTimeoutCPU},
		bash: `while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done & ) ; wait; read -t 0.01 <> <(:) ; done`},
	{group: "processes", name: "everybody killed", want: []string{StatusOK, StatusSignaled}, python: `
try: os.kill(-1, signal.SIGKILL)
except OSError: pass
os._exit(0)
`},
	{group: "processes", name: "the first process and the parent killed", python: `
for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV):
    for p in (1, os.getppid()):
        try: os.kill(p, s)
        except OSError: pass
print("still here")
`, out: "still here"},
	{group: "processes", name: "a process of the host by its number", python: `
fails("kill", lambda: os.kill(@PID@, 0), ("ESRCH",)) if @PID@ > 50 else None
end()
`},
	{group: "processes", name: "itself stopped", limits: Limits{Wall: 300 * time.Millisecond}, want: []string{StatusTimeoutWall},
		bash: `kill -STOP $$`},
	{group: "processes", name: "orphans that nobody waits for", python: `
for _ in range(200):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
print("all gone")
`, limits: Limits{Pids: 24}, out: "all gone"},
	{group: "processes", name: "zombies that are never waited for", limits: Limits{Pids: 24}, want: []string{StatusPidsLimit, StatusNonzeroExit},
		python: `
for _ in range(1000):
    if os.fork() == 0: os._exit(0)
`},
	{group: "processes", name: "a crash", want: []string{StatusSignaled}, python: `
ctypes.string_at(0)
`, check: func(t *testing.T, a attacked) {
		if a.res.Signal != "SIGSEGV" || a.res.ExitCode != 139 {
			t.Errorf("it ended as %+v", a.res)
		}
	}},
	{group: "processes", name: "an end without goodbye", want: []string{StatusNonzeroExit}, python: `
os.closerange(0, 256)
os._exit(7)
`, check: func(t *testing.T, a attacked) {
		if a.res.ExitCode != 7 || a.res.Signal != "" {
			t.Errorf("it ended as %+v", a.res)
		}
	}},
	{group: "processes", name: "priorities raised", python: `
fails("nice", lambda: os.nice(-20), ("EPERM", "EACCES"))
fails("setpriority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10), ("EPERM", "EACCES"))
fails("fifo", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50)), ("EPERM",))
refused("ioprio_set", 1, 0, 1 << 13)
end()
`},
	{group: "processes", name: "last to be killed for memory", python: `
def spare():
    with open("/proc/self/oom_score_adj", "w") as f: f.write("-1000")
fails("oom_score_adj", spare, ("EROFS", "EACCES", "EPERM"))
print("oom_score_adj", open("/proc/self/oom_score_adj").read())
end()
`, out: "oom_score_adj 1000"},
}
