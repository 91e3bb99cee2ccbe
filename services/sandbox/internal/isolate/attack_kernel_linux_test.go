package isolate

import "runtime"

var kernelAttacks = []attack{
	{group: "kernel", name: "mounts", python: `
p = ctypes.c_char_p
refused("mount", p(b"none"), p(b"/tmp"), p(b"tmpfs"), 0, None)
refused("mount", p(b"none"), p(b"/tmp"), p(b"cgroup"), 0, p(b"memory"))
refused("mount", None, p(b"/"), None, 32 | 4096, None)
refused("umount2", p(b"/proc/cmdline"), 2)
refused("umount2", p(b"/usr"), 2)
refused("pivot_root", p(b"/tmp"), p(b"/tmp"))
refused("chroot", p(b"/tmp"))
refused("fsopen", p(b"tmpfs"), 0)
refused("open_tree", -100, p(b"/"), 1)
refused("move_mount", -100, p(b"/tmp"), -100, p(b"/workspace"), 0)
refused("mount_setattr", -100, p(b"/"), 0, None, 0)
end()
`},
	{group: "kernel", name: "namespaces", python: `
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
    refused("unshare", flag)
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):
    refused("clone", flag | 17, 0, 0, 0, 0)
    refused("clone", flag | 17 | 1 << 40, 0, 0, 0, 0)
refused("clone3", None, 0, by=("ENOSYS",))
for name in ("user", "mnt", "net", "pid"):
    f = os.open(f"/proc/1/ns/{name}", os.O_RDONLY) if os.access(f"/proc/1/ns/{name}", os.R_OK) else 0
    refused("setns", f, 0)
end()
`},
	{group: "kernel", name: "other processes", python: `
child = os.fork()
if child == 0:
    time.sleep(600)
b = ctypes.create_string_buffer(8)
refused("ptrace", 16, child, 0, 0)
refused("ptrace", 0x4206, child, 0, 0)
refused("ptrace", 0, 0, 0, 0)
refused("process_vm_readv", child, b, 1, b, 1, 0)
refused("process_vm_writev", child, b, 1, b, 1, 0)
f, e = call(NR["pidfd_open"], child, 0)
refused("pidfd_getfd", f, 1, 0)
refused("kcmp", child, os.getpid(), 0, 0, 0)
refused("move_pages", 1, 0, None, None, None, 0)
end()
`},
	{group: "kernel", name: "large parts of the kernel", python: `
b = ctypes.create_string_buffer(256)
p = ctypes.c_char_p
refused("bpf", 0, b, 64)
refused("perf_event_open", b, 0, -1, -1, 0)
refused("userfaultfd", 0)
refused("io_uring_setup", 8, b)
refused("io_uring_enter", 3, 1, 0, 0, None)
refused("keyctl", 0, -3, 1)
refused("add_key", p(b"user"), p(b"x"), p(b"y"), 1, -3)
refused("request_key", p(b"user"), p(b"x"), None, -3)
refused("kexec_load", 0, 0, None, 0)
refused("init_module", b, 1, p(b""))
refused("finit_module", 0, p(b""), 0)
refused("delete_module", p(b"x"), 0)
refused("fanotify_init", 0, 0)
refused("memfd_secret", 0)
refused("acct", p(b"/tmp/x"))
refused("swapon", p(b"/tmp/x"), 0)
refused("quotactl", 0, None, 0, None)
refused("reboot", 0xfee1dead, 672274793, 0x89abcdef, None)
refused("syslog", 3, b, 256)
refused("vhangup")
end()
`},
	{group: "kernel", name: "files by their handles", python: `
b = ctypes.create_string_buffer(256)
i = ctypes.c_int(0)
ctypes.memmove(b, bytes([128, 0, 0, 0]), 4)
refused("name_to_handle_at", -100, ctypes.c_char_p(b"/workspace"), b, ctypes.byref(i), 0)
refused("open_by_handle_at", 0, b, 0)
end()
`},
	{group: "kernel", name: "calls of a later kernel", python: `
refused("newest", 0, 0, 0, by=("ENOSYS",))
r, e = call(1000, 0)
if e != "ENOSYS": bad.append(f"1000: {r} {e}")
end()
`},
	{group: "kernel", name: "keys typed into a terminal", python: `
import pty
c = ctypes.create_string_buffer(b"x")
main, other = os.openpty() if os.path.exists("/dev/ptmx") else (0, 0)
for f in (0, main, other):
    for number in (0x5412, 0x541c, 0x5423):
        refused("ioctl", f, number, c)
        refused("ioctl", f, number + (1 << 32), c)
        refused("ioctl", f, number + (7 << 40), c)
end()
`},
	{group: "kernel", name: "another personality", python: `
for p in (0x0040000, 0x0100000, 0x20000, 8, 0x0400000):
    refused("personality", p)
r, e = call(NR["personality"], 0xffffffff)
if r != 0: bad.append(f"the present one: {r} {e}")
end()
`},
	{group: "kernel", name: "the clock", python: `
b = ctypes.create_string_buffer(256)
refused("clock_settime", 0, b)
refused("settimeofday", b, None)
refused("adjtimex", ctypes.create_string_buffer(b"\x01" + bytes(400)))
end()
`},
	{group: "kernel", name: "capabilities taken back", python: `
status = dict(l.split(":\t") for l in open("/proc/self/status").read().splitlines() if ":\t" in l)
for name, want in (("CapEff", "0" * 16), ("CapPrm", "0" * 16), ("CapBnd", "0" * 16), ("CapInh", "0" * 16), ("NoNewPrivs", "1"), ("Seccomp", "2")):
    if status[name] != want: bad.append(f"{name} {status[name]}")
head = (ctypes.c_uint32 * 2)(0x20080522, 0)
data = (ctypes.c_uint32 * 6)(0xffffffff, 0xffffffff, 0, 0, 0, 0)
refused("capset", head, data)
end()
`},
	{group: "kernel", name: "a cgroup to leave", python: `
print(open("/proc/self/cgroup").read())
if "nanoclaw" in open("/proc/self/cgroup").read(): bad.append("the path of the cgroup is told")
fails("cgroupfs", lambda: os.listdir("/sys/fs/cgroup"), ("ENOENT",))
end()
`},
	// A kernel that has no 32-bit mode ends the program before a filter is asked.
	{group: "kernel", name: "system calls of the 32-bit mode", want: []string{StatusDeniedSyscall, StatusSignaled}, python: only("amd64", `
import mmap
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3])) # mov eax, getpid; int 0x80; ret
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print(f())
`)},
	{group: "kernel", name: "system calls of the x32 mode", want: []string{StatusDeniedSyscall}, python: only("amd64", `
print(call(NR["getpid"] | 0x40000000))
`)},
}

// only is a program for one processor; on others it does what it is refused.
func only(arch, program string) string {
	if runtime.GOARCH == arch {
		return program
	}
	return "os.kill(os.getpid(), signal.SIGSYS)\n"
}

var networkAttacks = []attack{
	{group: "network", name: "addresses of the host and of the cloud", python: `
for address in (("169.254.169.254", 80), ("127.0.0.1", @PORT@), ("10.0.0.1", 80), ("192.168.0.1", 80), ("172.17.0.1", 80),
                ("8.8.8.8", 53), ("1.1.1.1", 443), ("0.0.0.0", @PORT@)):
    s = socket.socket(); s.settimeout(30)
    fails(address, lambda: s.connect(address), ("ENETUNREACH", "ECONNREFUSED", "EHOSTUNREACH"))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if address[1] != @PORT@:
        fails(address, lambda: s.sendto(b"x", address), ("ENETUNREACH", "EHOSTUNREACH"))
for address in (("::1", @PORT@), ("fe80::1", 80), ("2606:4700:4700::1111", 443), ("::ffff:127.0.0.1", @PORT@)):
    try: s = socket.socket(socket.AF_INET6)
    except OSError: continue
    s.settimeout(30)
    fails(address, lambda: s.connect(address), ("ENETUNREACH", "ECONNREFUSED", "EHOSTUNREACH", "EADDRNOTAVAIL", "EINVAL"))
end()
`},
	{group: "network", name: "names looked up", python: `
for name in ("example.com", "metadata.google.internal", "kubernetes.default.svc"):
    try: found = socket.getaddrinfo(name, 80)
    except socket.gaierror: continue
    bad.append(f"{name}: {found}")
end()
`},
	{group: "network", name: "raw sockets", python: `
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET6, socket.SOCK_RAW, 58),
                               (socket.AF_PACKET, socket.SOCK_RAW, 3), (socket.AF_PACKET, socket.SOCK_DGRAM, 3),
                               (socket.AF_INET, socket.SOCK_DGRAM, 1), (socket.AF_INET, 10, 0), (socket.AF_INET, socket.SOCK_SEQPACKET, 132)):
    fails((family, kind), lambda: socket.socket(family, kind, protocol), ("EPERM", "EAFNOSUPPORT", "EACCES"))
end()
`},
	{group: "network", name: "families of sockets that reach the machine", python: `
for family in list(range(3, 10)) + list(range(11, 47)):
    fails(family, lambda: socket.socket(family, socket.SOCK_DGRAM), ("EAFNOSUPPORT",))
    fails(family, lambda: socket.socket(family, socket.SOCK_STREAM), ("EAFNOSUPPORT",))
    fails(family, lambda: socket.socket(family, socket.SOCK_RAW), ("EAFNOSUPPORT",))
pair = (ctypes.c_int * 2)()
refused("socketpair", 40, 1, 0, pair, by=("EAFNOSUPPORT",))
end()
`},
	{group: "network", name: "sockets of the host by their names", python: `
s = socket.socket(socket.AF_UNIX)
fails("abstract", lambda: s.connect("\0@ABSTRACT@"), ("ECONNREFUSED",))
for path in ("@SOCKET@", "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket", "/run/containerd/containerd.sock",
             "/run/systemd/private", "/tmp/.X11-unix/X0", "/dev/log", "/run/nscd/socket"):
    fails(path, lambda: s.connect(path), ("ENOENT",))
end()
`},
	{group: "network", name: "the devices of the network", python: `
lines = [l.split(":")[0].strip() for l in open("/proc/net/dev").read().splitlines()[2:]]
if lines != ["lo"]: bad.append(lines)
if len(open("/proc/net/tcp").read().splitlines()) > 1: bad.append("sockets of the host are listed")
if len(open("/proc/net/arp").read().splitlines()) > 1: bad.append("neighbours of the host are listed")
end()
`},
}
