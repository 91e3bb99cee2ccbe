package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// largestImage is more than bubblewrap has on any machine.
const largestImage = 16 << 20

// imageOf reads a program that belongs to the user of this process. The first
// process of a sandbox is bubblewrap, and /proc/1/exe leads to its file on the
// host, past every read-only mount: whoever owns it could change its mode from
// inside. So each run gets a copy of its own in memory (runc does the same since
// CVE-2019-5736). A program of somebody else is safe, and a script has to be run
// where it is; the self-test looks at what it starts.
func imageOf(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || info.Size() > largestImage {
		return nil
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(b, []byte("\x7fELF")) {
		return nil
	}
	return b
}

// lowestImage keeps the number of a copy out of those that the new process is
// given.
const lowestImage = 256

// executable is the path by which a new process finds the program, and the file
// to close once it was started.
func (b *bubblewrap) executable() (string, *os.File, error) {
	if b.image == nil {
		return b.path, nil, nil
	}
	fd, err := unix.MemfdCreate("bwrap", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 all of them can be executed
		fd, err = unix.MemfdCreate("bwrap", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return "", nil, fmt.Errorf("copying %s to memory (sysctl vm.memfd_noexec has to be 0 or 1): %w", b.path, err)
	}
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, lowestImage)
	_ = unix.Close(fd)
	if err != nil {
		return "", nil, fmt.Errorf("copying %s to memory: %w", b.path, err)
	}
	f := os.NewFile(uintptr(high), "bwrap")
	_, err = f.Write(b.image)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
			unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		_ = f.Close()
		return "", nil, fmt.Errorf("copying %s to memory: %w", b.path, err)
	}
	return "/proc/self/fd/" + strconv.Itoa(high), f, nil
}
