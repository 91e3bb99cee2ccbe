package isolate

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxDepth is how deep folders may be nested in a workspace.
const maxDepth = 200

// used is what a folder holds.
type used struct {
	bytes int64 // on the disk
	files int   // and folders and links
	deep  bool  // folders are nested too deep to be counted
}

// usage counts what a folder holds, while a program may be changing it: it goes
// from folder to folder by descriptors, never by paths, and follows no links. It
// ends once there are more files than most: a program can make them faster than
// they are counted.
func usage(dir string, most int) used {
	u := counter{most: most, links: map[[2]uint64]bool{}}
	if dir == "" {
		return u.used
	}
	if f := openFolder(unix.AT_FDCWD, dir); f != nil {
		u.count(f, 0)
	}
	return u.used
}

type counter struct {
	used
	most  int
	links map[[2]uint64]bool // files with several names, by device and inode
}

// count counts what is in an open folder and closes it.
func (u *counter) count(dir *os.File, depth int) {
	defer func() { _ = dir.Close() }()
	if depth > maxDepth {
		u.deep = true
	}
	for !u.deep && u.files <= u.most {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			u.entry(dir, name, depth)
		}
		if err != nil {
			return
		}
	}
}

func (u *counter) entry(dir *os.File, name string, depth int) {
	var s unix.Stat_t
	at := int(dir.Fd())
	if unix.Fstatat(at, name, &s, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	if id := [2]uint64{uint64(s.Dev), s.Ino}; s.Nlink > 1 && s.Mode&unix.S_IFMT == unix.S_IFREG {
		if u.links[id] {
			return
		}
		u.links[id] = true
	}
	u.files++
	u.bytes += s.Blocks * 512
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		return
	}
	if sub := openFolder(at, name); sub != nil {
		u.count(sub, depth+1)
	}
}

// openFolder opens a folder in another. One that its owner may not read is made
// readable: files are not to be hidden from the count.
func openFolder(at int, name string) *os.File {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, flags, 0)
	if errors.Is(err, unix.EACCES) {
		path, pathErr := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if pathErr != nil {
			return nil
		}
		_ = unix.Chmod("/proc/self/fd/"+strconv.Itoa(path), 0o700)
		_ = unix.Close(path)
		fd, err = unix.Openat(at, name, flags, 0)
	}
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), name)
}
