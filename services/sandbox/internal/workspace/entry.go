package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/filetype"
)

// Types of entries.
const (
	TypeFile   = "file"
	TypeFolder = "folder"
	TypeLink   = "link"
	TypeOther  = "other"
)

// Entry describes a file or folder.
type Entry struct {
	// Path in the workspace; each byte that is not UTF-8 shows as U+FFFD.
	Path string
	// Type is file, folder, link or other.
	Type string
	// Size of a file in bytes.
	Size int64
	// Modified is when it was last changed.
	Modified time.Time
	// MIME type of a file, by its bytes; empty in lists.
	MIME string
}

// Describe is the entry of what the system says about a path.
func Describe(path string, info fs.FileInfo) Entry {
	e := Entry{Path: strings.ToValidUTF8(path, "\uFFFD"), Type: TypeOther, Modified: info.ModTime()}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		e.Type, e.Size = TypeFile, info.Size()
	case mode.IsDir():
		e.Type = TypeFolder
	case mode&fs.ModeSymlink != 0:
		e.Type = TypeLink
	}
	return e
}

// describeStat is Describe for what the system says of an entry by its number.
func describeStat(path string, info unix.Stat_t) Entry {
	e := Entry{Path: strings.ToValidUTF8(path, "\uFFFD"), Type: TypeOther, Modified: time.Unix(info.Mtim.Unix())}
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.Type, e.Size = TypeFile, info.Size
	case unix.S_IFDIR:
		e.Type = TypeFolder
	case unix.S_IFLNK:
		e.Type = TypeLink
	}
	return e
}

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// checkFolders refuses a path on whose way is something else than folders. What
// is not there is for who opens it to find.
func checkFolders(root *os.Root, l location) error {
	for n := 1; n <= len(l); n++ {
		info, err := root.Lstat(l[:n].String())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return failed("look at", l[:n], err)
		case info.Mode()&fs.ModeSymlink != 0:
			return linkRefused(l[:n])
		case !info.IsDir():
			return notFolder(l[:n])
		}
	}
	return nil
}

// openFolder opens a folder of a workspace to be listed, or to move things into.
func openFolder(root *os.Root, l location) (*os.File, error) {
	if err := checkFolders(root, l); err != nil {
		return nil, err
	}
	path := l.String()
	if path == "" {
		path = "."
	}
	dir, err := root.OpenFile(path, openFlags|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, rpcerr.NotFound("folder", l.String())
	}
	if err != nil {
		return nil, failed("open folder", l, err)
	}
	return dir, nil
}

// openFile opens a regular file of a workspace. What is not one is refused
// before it is opened, since to open a pipe is to be seen at its other end, and
// looked at again after, since it may have been swapped.
func openFile(root *os.Root, l location) (*os.File, fs.FileInfo, error) {
	if err := checkFolders(root, l.folder()); err != nil {
		return nil, nil, err
	}
	info, err := root.Lstat(l.String())
	if err != nil {
		return nil, nil, failed("look at", l, err)
	}
	if err := refuseKind(l, info.Mode()); err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(l.String(), openFlags, 0)
	if err != nil {
		return nil, nil, failed("open", l, err)
	}
	info, err = f.Stat()
	if err == nil {
		err = refuseKind(l, info.Mode())
	}
	if err != nil {
		return nil, nil, errors.Join(failed("look at", l, err), f.Close())
	}
	return f, info, nil
}

// File is an open file of a workspace. It is a regular one, and stays the same
// one whatever happens to its name.
type File struct {
	*os.File
	Entry Entry
}

// Open opens a file to be read. Close it after use.
func (s *Store) Open(user, id, path string) (*File, error) {
	l, err := locate(path)
	if err != nil {
		return nil, err
	}
	root, err := s.enter(key{user, id})
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, info, err := openFile(root, l)
	if err != nil {
		return nil, err
	}
	entry := Describe(l.String(), info)
	if entry.MIME, err = TypeOf(f, l.name()); err != nil {
		return nil, errors.Join(failed("read", l, err), f.Close())
	}
	return &File{File: f, Entry: entry}, nil
}

// TypeOf tells the type of an open file from its bytes.
func TypeOf(f io.ReaderAt, name string) (string, error) {
	head := make([]byte, filetype.HeadBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return filetype.Detect(head[:n], name), nil
}
