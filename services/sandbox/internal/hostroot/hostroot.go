// Package hostroot opens files of this machine that lie under one of the folders
// which the operator lets tools read. Nothing there is ever written. Links are
// followed as long as they stay in their folder, as those of logs do; one that
// leads out is refused.
package hostroot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of the errors made here, beside NOT_FOUND and INVALID_ARGUMENT.
const (
	ReasonNotAllowed = "PATH_NOT_ALLOWED"
	ReasonLinkOut    = "LINK_REFUSED"
	ReasonNotFile    = "NOT_A_REGULAR_FILE"
	ReasonIsFolder   = "IS_A_FOLDER"
	ReasonNotFolder  = "NOT_A_FOLDER"
	ReasonUnreadable = "NOT_READABLE"
)

// Roots are absolute paths of folders, clean and without / at the end.
type Roots []string

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// OpenFile opens a regular file by its absolute path.
func (r Roots) OpenFile(name string) (*os.File, fs.FileInfo, error) {
	f, info, err := r.open(name, openFlags)
	if err != nil {
		return nil, nil, err
	}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return f, info, nil
	case mode.IsDir():
		err = rpcerr.New(codes.FailedPrecondition, ReasonIsFolder, "%q is a folder, not a file", name)
	default:
		err = notRegular(name)
	}
	return nil, nil, errors.Join(err, f.Close())
}

// OpenFolder opens a folder by its absolute path.
func (r Roots) OpenFolder(name string) (*os.File, error) {
	f, _, err := r.open(name, openFlags|syscall.O_DIRECTORY)
	return f, err
}

func (r Roots) open(name string, flags int) (*os.File, fs.FileInfo, error) {
	if !path.IsAbs(name) {
		return nil, nil, badPath()
	}
	base, below, err := r.find(name)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil, shaped(name, err)
	}
	defer root.Close()
	// A pipe or device is not even opened: its other end would see that.
	info, err := root.Stat(below)
	if err != nil {
		return nil, nil, shaped(name, err)
	}
	if mode := info.Mode(); !mode.IsRegular() && !mode.IsDir() {
		return nil, nil, notRegular(name)
	}
	f, err := root.OpenFile(below, flags, 0)
	if err != nil {
		return nil, nil, shaped(name, err)
	}
	if info, err = f.Stat(); err != nil {
		return nil, nil, errors.Join(shaped(name, err), f.Close())
	}
	return f, info, nil
}

// find answers the root that a path lies under, and the rest of the path.
func (r Roots) find(name string) (base, below string, err error) {
	name = "/" + strings.TrimSuffix(strings.TrimPrefix(name, "/"), "/")
	if strings.ContainsRune(name, 0) || path.Clean(name) != name {
		return "", "", badPath()
	}
	for _, root := range r {
		if name == root && len(root) > len(base) {
			base, below = root, "."
		} else if rest, ok := strings.CutPrefix(name, root+"/"); ok && len(root) > len(base) {
			base, below = root, rest
		}
	}
	if base == "" {
		return "", "", r.notAllowed(name)
	}
	return base, below, nil
}

func badPath() error {
	return rpcerr.InvalidArgument("path", "must be an absolute path without . and .. and with one / between names")
}

func (r Roots) notAllowed(name string) error {
	if len(r) == 0 {
		return rpcerr.New(codes.PermissionDenied, ReasonNotAllowed,
			"%q is a path of the machine, and no folder of it may be read: use a path in the workspace, without / at its beginning. The operator can open folders under sandbox.roots", name)
	}
	return rpcerr.New(codes.PermissionDenied, ReasonNotAllowed,
		"%q may not be read: use a path in the workspace, without / at its beginning, or one below %s", name, strings.Join(r, ", "))
}

func notRegular(name string) error {
	return rpcerr.New(codes.FailedPrecondition, ReasonNotFile, "%q is a pipe, socket or device: only regular files can be read", name)
}

// shaped turns an error of the system into one for the caller.
func shaped(name string, err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return rpcerr.NotFound("file", name)
	case errors.Is(err, fs.ErrPermission):
		return rpcerr.New(codes.PermissionDenied, ReasonUnreadable, "%q cannot be read by the server's user", name)
	case errors.Is(err, syscall.ENOTDIR):
		return rpcerr.New(codes.FailedPrecondition, ReasonNotFolder, "%q is not a folder, or leads through something that is none", name)
	case errors.Is(err, syscall.ELOOP), !errors.As(err, &number): // os.Root has no sentinel for what leads out
		return rpcerr.New(codes.FailedPrecondition, ReasonLinkOut, "%q has a link that leads out of the folders which may be read", name).WithCause(err)
	case number == syscall.ENXIO: // swapped for a socket
		return notRegular(name)
	}
	return fmt.Errorf("open %q: %w", name, err)
}
