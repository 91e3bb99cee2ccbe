package isolate

import (
	"fmt"
	"os"
	"testing"
)

func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// modeOf tells what an attack could change of a file.
func modeOf(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(info.Mode(), info.Size(), info.ModTime())
}

var fileAttacks = []attack{
	{group: "files", name: "shared memory filled", limits: Limits{TmpBytes: 8 << 20}, want: []string{StatusDiskLimit},
		bash: `dd if=/dev/zero of=/dev/shm/x bs=64k count=4000 status=none`},
	{group: "files", name: "the temporary folder filled", limits: Limits{TmpBytes: 8 << 20}, want: []string{StatusDiskLimit},
		bash: `dd if=/dev/zero of=/tmp/x bs=64k count=4000 status=none`},
	{group: "files", name: "a workspace in memory filled", limits: Limits{TmpBytes: 8 << 20}, want: []string{StatusDiskLimit},
		bash: `dd if=/dev/zero of=x bs=64k count=4000 status=none`},
	{group: "files", name: "files written outside of the folders for them", python: `
for d in ("/", "/dev", "/etc", "/run", "/run/nanoclaw", "/proc", "/usr", "/usr/bin", "/usr/local"):
    fails(d, lambda: open(d + "/x", "w"), ("EROFS", "EACCES", "ENOENT", "EPERM"))
    fails(d, lambda: os.mkdir(d + "/x"), ("EROFS", "EACCES", "ENOENT", "EPERM"))
end()
`},
	{group: "files", name: "a million empty files", limits: Limits{Files: 1000}, want: []string{StatusDiskLimit},
		python: `
for i in range(1000000): os.close(os.open(f"/tmp/{i}", os.O_CREAT | os.O_WRONLY))
`},
	{group: "files", name: "a million empty files in the workspace", limits: Limits{Files: 1000}, workspace: true,
		want: []string{StatusDiskLimit}, python: `
for i in range(1000000): os.close(os.open(f"{i}", os.O_CREAT | os.O_WRONLY))
`},
	{group: "files", name: "the workspace grows without end", limits: Limits{FileBytes: 4 << 20}, workspace: true,
		want: []string{StatusDiskLimit}, python: `
n = 0
while True:
    n += 1
    with open(f"{n}", "wb") as f: f.write(b"x" * (1 << 20))
    time.sleep(0.005)
`},
	{group: "files", name: "one file that is too large", limits: Limits{FileBytes: 4 << 20}, workspace: true,
		want: []string{StatusDiskLimit}, bash: `dd if=/dev/zero of=x bs=64k count=4000 status=none`},
	{group: "files", name: "a file of a terabyte with nothing in it", workspace: true, python: `
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
f = os.open("x", os.O_CREAT | os.O_RDWR)
fails("truncate", lambda: os.ftruncate(f, 1 << 40), ("EFBIG",))
fails("fallocate", lambda: os.posix_fallocate(f, 0, 1 << 40), ("EFBIG",))
end()
`},
	{group: "files", name: "folders too deep to be counted", workspace: true, want: []string{StatusDiskLimit}, python: `
for i in range(5000):
    os.mkdir("d"); os.chdir("d")
`},
	{group: "files", name: "files hidden in folders that cannot be read", limits: Limits{FileBytes: 4 << 20}, workspace: true,
		want: []string{StatusDiskLimit}, python: `
for n in range(40):
    os.mkdir(f"{n}")
    with open(f"{n}/x", "wb") as f: f.write(b"x" * (1 << 20))
    os.chmod(f"{n}", 0)
`},
	{group: "files", name: "its own folder removed", workspace: true, python: `
import shutil
os.makedirs("a/b/c"); open("a/b/c/x", "w").close()
fails("rmdir", lambda: os.rmdir("/workspace"), ("EBUSY", "EROFS", "EPERM", "EACCES"))
shutil.rmtree("a")
os.mkdir("closed"); os.chmod("closed", 0); os.chmod(".", 0)
end()
`},
	{group: "files", name: "many names for one file", limits: Limits{FileBytes: 4 << 20}, workspace: true, python: `
with open("x", "wb") as f: f.write(b"x" * (3 << 20))
for i in range(50): os.link("x", f"{i}")
print("made")
`, out: "made"},
	{group: "files", name: "secrets of the host read", python: `
for f in ("/etc/shadow", "/etc/gshadow", "/root", "/root/.ssh", "/home", "/var", "/etc/ssh", "/etc/machine-id", "/boot",
          "/run/secrets", "/var/run/secrets/kubernetes.io", "/sys", "/sys/fs/cgroup", "@FILE@", "/run/systemd", "/mnt", "/srv"):
    fails(f, lambda: os.stat(f), ("ENOENT",))
for p in os.listdir("/proc"):
    for f in ("environ", "cmdline"):
        try: text = open(f"/proc/{p}/{f}", "rb").read()
        except OSError: continue
        if bytes.fromhex("@SECRET@") in text: bad.append(f"the secret is in /proc/{p}/{f}")
end()
`},
	{group: "files", name: "the root of other processes", python: `
for p in [p for p in os.listdir("/proc") if p.isdigit()] + ["self", "thread-self"]:
    for way in ("root", "cwd", "fd", "map_files"):
        for to in ("/etc/shadow", "/../../../etc/shadow", "@FILE@", "/root"):
            try: found = os.stat(f"/proc/{p}/{way}{to}")
            except OSError: continue
            bad.append(f"/proc/{p}/{way}{to}")
if len([p for p in os.listdir("/proc") if p.isdigit()]) > 4: bad.append("processes of the host are visible")
end()
`},
	{group: "files", name: "files that tell of the machine", python: `
for f in ("/proc/cmdline", "/proc/keys", "/proc/timer_list", "/proc/kcore", "/proc/kpageflags", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/kmsg"):
    try: text = os.read(os.open(f, os.O_RDONLY | os.O_NONBLOCK), 64)
    except OSError: continue
    if text: bad.append(f"{f}: {text!r}")
end()
`},
	{group: "files", name: "the interpreter overwritten", python: `
for f in ("/usr/bin/python3", "/bin/bash", "/usr/bin/env", "/proc/self/exe", "/lib", "/usr/lib/os-release", "/run/nanoclaw"):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        fails(f, lambda: os.open(f, flags), ("EROFS", "ETXTBSY", "EACCES", "EISDIR", "EPERM", "ENOENT"))
    fails(f, lambda: os.chmod(f, 0o777), ("EROFS", "EPERM", "EACCES", "ENOENT"))
    fails(f, lambda: os.rename(f, "/tmp/x"), ("EROFS", "EXDEV", "EPERM", "EACCES", "EBUSY", "ENOENT"))
end()
`},
	{group: "files", name: "the program that makes sandboxes", python: `
import subprocess
for p in [p for p in os.listdir("/proc") if p.isdigit()]:
    for f in ("exe", "root/usr/bin/bwrap", "map_files"):
        try: os.chmod(f"/proc/{p}/{f}", 0o777)
        except OSError: pass
        try: os.utime(f"/proc/{p}/{f}", (1, 1))
        except OSError: pass
        fails("write", lambda: os.open(f"/proc/{p}/{f}", os.O_WRONLY), ("ETXTBSY", "EROFS", "EACCES", "EPERM", "ENOENT", "EISDIR"))
end()
`, check: func(t *testing.T, a attacked) {
		if now := modeOf(t, a.world.driver.path); now != a.world.tool {
			t.Errorf("%s was %s and is %s", a.world.driver.path, a.world.tool, now)
		}
	}},
	{group: "files", name: "a program that belongs to root", workspace: true, python: `
import shutil, subprocess
shutil.copy("/usr/bin/id", "id")
try: os.chmod("id", 0o6755)
except OSError: pass
who = subprocess.run(["./id", "-u"], capture_output=True, text=True).stdout.strip()
if who != "1000": bad.append(f"it is {who}")
for c in (["su", "-c", "id -u"], ["mount", "-t", "tmpfs", "none", "/tmp"], ["passwd", "-d", "root"], ["chown", "0", "id"]):
    try: done = subprocess.run(c, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError: continue
    if done.returncode == 0: bad.append(f"{c} gave {done.stdout!r}")
refused("setuid", 0, by=("EPERM", "EINVAL"))
end()
`},
	{group: "files", name: "devices made and opened", python: `
import stat
for mode, device in ((stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFCHR, os.makedev(10, 232))):
    fails("mknod", lambda: os.mknod("/tmp/device", mode | 0o600, device), ("EPERM",))
for f in ("/dev/vda", "/dev/sda", "/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop0", "/dev/mapper"):
    fails(f, lambda: os.open(f, os.O_RDONLY), ("ENOENT",))
end()
`},
	{group: "files", name: "a link to a file of the host", workspace: true, python: `
os.symlink("/etc/shadow", "shadow"); os.symlink("@FILE@", "canary")
for f in ("shadow", "canary"): fails(f, lambda: open(f), ("ENOENT",))
fails("hard link", lambda: os.link("/usr/bin/env", "env"), ("EXDEV", "EPERM"))
end()
`},
	{group: "files", name: "settings of the kernel written", python: `
for f, text in (("/proc/sys/kernel/core_pattern", "|/tmp/x"), ("/proc/sys/kernel/hostname", "x"), ("/proc/sysrq-trigger", "h"),
                ("/proc/sys/vm/drop_caches", "3"), ("/proc/sys/kernel/modprobe", "/tmp/x"), ("/proc/sys/user/max_user_namespaces", "99"),
                ("/proc/sys/fs/binfmt_misc/register", "x"), ("/proc/self/uid_map", "0 0 1"), ("/proc/self/setgroups", "allow"),
                ("/proc/irq/default_smp_affinity", "1"), ("/proc/sys/net/ipv4/ip_forward", "1"), ("/proc/self/attr/current", "unconfined")):
    def put():
        with open(f, "w") as to: to.write(text)
    fails(f, put, ("EROFS", "EACCES", "ENOENT", "EPERM", "EINVAL"))
refused("sethostname", ctypes.c_char_p(b"x"), 1)
refused("setdomainname", ctypes.c_char_p(b"x"), 1)
end()
`},
	{group: "files", name: "open files of the service", python: `
for f in range(3, 1024):
    try: os.fstat(f)
    except OSError: continue
    to = os.readlink(f"/proc/self/fd/{f}")
    if "/run/nanoclaw" not in to: bad.append(f"{f}: {to}")
print(sorted(os.listdir("/proc/self/fd"))[:3])
end()
`, out: "['0', '1', '2']"},
}
