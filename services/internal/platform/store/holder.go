package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Holder tells which process owns a data folder: 0 for none. It does not take
// the lock of a folder that was given up in order, so that it is in nobody's
// way.
func Holder(dir string) (pid int, err error) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("data folder %s: who owns it cannot be read: %w", dir, err)
	}
	defer f.Close()
	if pid = readPID(f); pid == 0 {
		return 0, nil
	}
	// The owner may have been killed.
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case err == nil:
		return 0, nil // closing the file gives the lock up
	case errors.Is(err, syscall.EWOULDBLOCK):
		return pid, nil
	}
	return 0, fmt.Errorf("data folder %s: %w; it must be on a disk that knows flock", dir, err)
}
