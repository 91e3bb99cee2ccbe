package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFile holds the pid of the owner of a data folder while it lives.
const lockFile = "nanoclaw.lock"

// DirLock is the ownership of a data folder by this process.
type DirLock struct{ file *os.File }

// LockedError says that another process owns the data folder.
type LockedError struct {
	Dir string
	PID int // 0: not known
}

func (e *LockedError) Error() string {
	who := "another nanoclaw"
	if e.PID > 0 {
		who += " (pid " + strconv.Itoa(e.PID) + ")"
	}
	return fmt.Sprintf("data folder %s is in use by %s: a SQLite database has one process at a time; "+
		"stop that process, or give this one a folder of its own with --data-dir", e.Dir, who)
}

// LockDir makes this process the owner of a data folder, created with mode 0700
// when missing. A folder that has an owner is refused with a *LockedError. The
// lock ends with Unlock or with the process, however that ends.
func LockDir(dir string) (*DirLock, error) {
	if dir == "" {
		return nil, errors.New("data folder: the path is empty; set --data-dir")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder %s: %w; choose another with --data-dir", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder %s must be writable for this user: %w; choose another with --data-dir", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Dir: dir, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock data folder %s: %w; it must be on a disk that knows flock", dir, err)
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(fmt.Errorf("write %s: %w", f.Name(), err), f.Close())
	}
	return &DirLock{file: f}, nil
}

// Unlock gives the folder up. The file stays: removing it could take away the
// lock of a process that has just opened it.
func (l *DirLock) Unlock() error {
	return errors.Join(l.file.Truncate(0), l.file.Close())
}

// OwnerPID is the process that wrote itself down as the owner of a data folder; 0
// for none. One that was killed still stands there.
func OwnerPID(dir string) int {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	return readPID(f)
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func readPID(f *os.File) int {
	const maxPIDBytes = 32
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxPIDBytes))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
