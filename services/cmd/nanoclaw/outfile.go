package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/cmd/nanoclaw/internal/terminal"
)

const (
	// maxLinks is how many symbolic links are followed from one to the next, as
	// many as Linux follows.
	maxLinks = 40
	// newFileMode is the mode of a file that was not there, before the umask.
	newFileMode = 0o666
)

// place is where results shall go: a writer that is there, or a file that is
// made or replaced. Nothing is changed there before the end.
type place struct {
	path string // as the person named it; empty: stdout

	writer io.Writer
	opened *os.File // closed at the end; nil for stdout

	file string      // the file behind all links
	old  fs.FileInfo // nil: it is made
}

// findPlace finds out what path is; an empty one or - is stdout. What is no
// regular file, such as a pipe, a device or stdout under its other name, is
// opened: it is written to and never replaced. A folder is refused.
func (c *cli) findPlace(path string) (place, error) {
	if path == "" || path == "-" {
		return place{writer: c.result()}, nil
	}
	p := place{path: path}
	info, err := os.Stat(path)
	if err == nil {
		if own, ok := c.stdout.(*os.File); ok && isFile(own, info) {
			p.writer = c.result()
			return p, nil
		}
	}
	link, following := followLinks(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return p, p.problem(err)
	case err == nil && info.IsDir():
		return p, p.problem(syscall.EISDIR)
	case following != nil:
		return p, p.problem(following)
	case err == nil && (!info.Mode().IsRegular() || isDescriptor(link)):
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return p, p.problem(err)
		}
		p.opened, p.writer = file, file
		if terminal.Is(file) {
			p.writer = terminal.CleanWriter{W: file}
		}
		return p, nil
	case err == nil:
		if err := unix.Access(link, unix.W_OK); err != nil {
			return p, p.problem(err)
		}
		p.old = info
	}
	p.file = link
	return p, nil
}

func isFile(f *os.File, info fs.FileInfo) bool {
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}

// isDescriptor says that a path is an open file of some process.
func isDescriptor(path string) bool { return strings.HasPrefix(path, "/proc/") }

// followLinks is the path behind symbolic links, also behind one to a file that
// is not there yet. A link to an open file is where it ends.
func followLinks(path string) (string, error) {
	for range maxLinks {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		target, err := os.Readlink(path)
		switch {
		case errors.Is(err, syscall.EINVAL), errors.Is(err, fs.ErrNotExist), isDescriptor(path):
			return path, nil
		case err != nil:
			return path, err
		case !filepath.IsAbs(target):
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path, syscall.ELOOP
}

// problem is a failure of the file with the path that the person named.
func (p place) problem(err error) error {
	return fmt.Errorf("write %s: %w", p.path, pathReason(err))
}

// output is where results go.
type output struct {
	place
	temporary *os.File // beside the file whose place it takes
	replaces  bool     // there is a file at the place
}

// open begins the results. A file is written beside its place until keep.
func (p place) open() (*output, error) {
	if p.writer != nil {
		return &output{place: p}, nil
	}
	mode := fs.FileMode(newFileMode)
	if p.old != nil {
		mode = p.old.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(p.file), "."+filepath.Base(p.file)+"."+rand.Text()[:8])
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, p.problem(err)
	}
	o := &output{place: p, temporary: file, replaces: p.old != nil}
	if p.old != nil {
		if st, ok := p.old.Sys().(*syscall.Stat_t); ok {
			_ = file.Chown(int(st.Uid), int(st.Gid)) // only who may give files away can
		}
		if err := file.Chmod(mode); err != nil { // without the umask
			o.discard()
			return nil, p.problem(err)
		}
	}
	return o, nil
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (n int, err error) {
	if o.temporary != nil {
		n, err = o.temporary.Write(text)
	} else {
		n, err = o.writer.Write(text)
	}
	if err != nil && o.path != "" {
		err = o.problem(err)
	}
	return n, err
}

// keep puts the file in its place.
func (o *output) keep() error {
	var err error
	switch {
	case o.opened != nil:
		err = o.opened.Close()
		o.opened = nil
	case o.temporary != nil:
		err = o.temporary.Sync()
		if closing := o.temporary.Close(); err == nil {
			err = closing
		}
		if err == nil {
			err = os.Rename(o.temporary.Name(), o.file)
		}
		if err == nil {
			o.temporary = nil
		}
	}
	if err != nil {
		return o.problem(err)
	}
	return nil
}

// discard removes what was not kept, and says whether a file stays at the place
// as it was.
func (o *output) discard() bool {
	if o.opened != nil {
		_ = o.opened.Close() // its end is of no interest any more
		o.opened = nil
	}
	if o.temporary == nil {
		return false
	}
	_ = o.temporary.Close() // it is removed
	_ = os.Remove(o.temporary.Name())
	o.temporary = nil
	return o.replaces
}
