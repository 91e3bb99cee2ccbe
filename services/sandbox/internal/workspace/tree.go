package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// The functions of this file work on the entries of an open folder, by name, and
// follow no link. They serve where whole trees are walked or moved, which os.Root
// cannot do between two roots or below a depth.

// openBelow opens a folder in a folder. A link or anything else is ENOTDIR or
// ELOOP.
func openBelow(dir *os.File, name string) (*os.File, error) {
	var fd int
	err := retrying(func() (err error) {
		fd, err = unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "openat", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// statBelow looks at an entry of a folder; a link is looked at itself.
func statBelow(dir *os.File, name string) (unix.Stat_t, error) {
	var info unix.Stat_t
	err := retrying(func() error {
		return unix.Fstatat(int(dir.Fd()), name, &info, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return info, &os.PathError{Op: "fstatat", Path: name, Err: err}
	}
	return info, nil
}

func isFolder(info unix.Stat_t) bool  { return info.Mode&unix.S_IFMT == unix.S_IFDIR }
func isRegular(info unix.Stat_t) bool { return info.Mode&unix.S_IFMT == unix.S_IFREG }

// move renames an entry of a folder into another folder. A file that has the new
// name is replaced; a folder is not.
func move(from *os.File, name string, to *os.File, newName string) error {
	err := retrying(func() error {
		return unix.Renameat(int(from.Fd()), name, int(to.Fd()), newName)
	})
	if err != nil {
		return &os.LinkError{Op: "renameat", Old: name, New: newName, Err: err}
	}
	return nil
}

// place gives a file of a folder a name in another folder too, if that is free.
func place(from *os.File, name string, to *os.File, newName string) error {
	err := retrying(func() error {
		return unix.Linkat(int(from.Fd()), name, int(to.Fd()), newName, 0)
	})
	if err != nil {
		return &os.LinkError{Op: "linkat", Old: name, New: newName, Err: err}
	}
	return nil
}

// unlink removes an entry of a folder that is not a folder.
func unlink(dir *os.File, name string) error {
	err := retrying(func() error { return unix.Unlinkat(int(dir.Fd()), name, 0) })
	if err != nil {
		return &os.PathError{Op: "unlinkat", Path: name, Err: err}
	}
	return nil
}

// removeFolder removes an empty folder of a folder.
func removeFolder(dir *os.File, name string) error {
	err := retrying(func() error { return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR) })
	if err != nil {
		return &os.PathError{Op: "unlinkat", Path: name, Err: err}
	}
	return nil
}

func retrying(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// entries calls each with the names in a folder, in no order, until it answers
// an error.
func entries(dir *os.File, each func(name string) error) error {
	const batch = 512
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := each(name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // the folder itself was removed
			return nil
		}
		if err != nil {
			return err
		}
	}
}
