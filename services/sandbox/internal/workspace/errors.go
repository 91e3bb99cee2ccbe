package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// Reasons of the errors made here, beside INVALID_ARGUMENT and NOT_FOUND.
const (
	ReasonLinkRefused    = "LINK_REFUSED"
	ReasonNotRegular     = "NOT_A_REGULAR_FILE"
	ReasonIsFolder       = "IS_A_FOLDER"
	ReasonNotFolder      = "NOT_A_FOLDER"
	ReasonFolderNotEmpty = "FOLDER_NOT_EMPTY"
	ReasonFileExists     = "FILE_EXISTS"
	ReasonFileChanged    = "FILE_CHANGED"
	ReasonNotText        = "NOT_TEXT"
	ReasonQuotaExceeded  = "QUOTA_EXCEEDED"
)

func refusal(reason, format string, args ...any) *rpcerr.Error {
	return rpcerr.New(codes.FailedPrecondition, reason, format, args...)
}

func linkRefused(l location) error {
	return refusal(ReasonLinkRefused, "%q is a link: links are not followed", l)
}

func notFolder(l location) error { return refusal(ReasonNotFolder, "%q is not a folder", l) }

// refuseKind is the error for an entry of a kind that cannot be read as a file;
// nil for a regular file.
func refuseKind(l location, mode fs.FileMode) error {
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return refusal(ReasonIsFolder, "%q is a folder, not a file", l)
	case mode&fs.ModeSymlink != 0:
		return linkRefused(l)
	}
	return refusal(ReasonNotRegular, "%q is a pipe, socket or device: only regular files can be used", l)
}

// failed shapes an error of the file system. what is what was being done, for
// the log.
func failed(what string, l location, err error) error {
	var shaped *rpcerr.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &shaped):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return rpcerr.NotFound("file", l.String())
	case errors.Is(err, syscall.ENOTDIR):
		return refusal(ReasonNotFolder, "%q leads through something that is not a folder", l)
	case errors.Is(err, syscall.EISDIR):
		return refuseKind(l, fs.ModeDir)
	case errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ENOTEMPTY):
		return rpcerr.New(codes.Aborted, ReasonFileChanged, "%q was changed meanwhile: try again", l).WithCause(err)
	case errors.Is(err, syscall.ELOOP), leadsOut(err):
		return linkRefused(l)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return rpcerr.New(codes.ResourceExhausted, "DISK_FULL", "the disk of the server is full: nothing was written").WithCause(err)
	}
	return fmt.Errorf("%s %q: %w", what, l, err)
}

// leadsOut recognises the refusal of os.Root, for which there is no sentinel: it
// is the only error of a path operation that is not of the system.
func leadsOut(err error) bool {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return false
	}
	var number syscall.Errno
	return !errors.As(path.Err, &number) && !errors.Is(err, fs.ErrClosed)
}

func quotaExceeded(q Quota) error {
	return rpcerr.New(codes.ResourceExhausted, ReasonQuotaExceeded,
		"the workspace would have more than %s or %d files: delete some first", sizeText(q.Bytes), q.Files).
		WithMeta("quota_bytes", strconv.FormatInt(q.Bytes, 10)).
		WithMeta("quota_files", strconv.Itoa(q.Files))
}

// contendedRetry is when a file may be sent again that others left no room for.
const contendedRetry = time.Second

// quotaContended is for a file that would fit if it were alone.
func quotaContended(q Quota) error {
	return rpcerr.New(codes.ResourceExhausted, ReasonQuotaExceeded,
		"the other files that are being written into the workspace leave no room for this one in its %s: try again when they are done", sizeText(q.Bytes)).
		WithMeta("quota_bytes", strconv.FormatInt(q.Bytes, 10)).
		WithMeta("quota_files", strconv.Itoa(q.Files)).
		WithRetry(contendedRetry)
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
