package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const fileMode = 0o600

// Target is where a file goes.
type Target struct {
	User, Workspace string
	// Path of the file. Folders on the way are made.
	Path string
	// KeepExisting makes a file that is there already an error instead of
	// replacing it.
	KeepExisting bool
}

// Written describes a file that was written.
type Written struct {
	Entry
	// SHA256 of its bytes in hexadecimal.
	SHA256 string
	// Replaced says that there was a file of this path before.
	Replaced bool
}

// Writer writes one file. Nobody sees it before Commit. It is used by one
// goroutine.
type Writer struct {
	store   *Store
	key     key
	at      location
	keep    bool
	account *account
	file    *os.File
	name    string // in the staging folder
	sum     hash.Hash
	size    int64
	credit  int64 // size of the file that is replaced
}

// Create begins to write a file. Either Commit or Abort must be called.
func (s *Store) Create(ctx context.Context, t Target) (*Writer, error) {
	l, err := locate(t.Path)
	if err != nil {
		return nil, err
	}
	if !validID.MatchString(t.Workspace) {
		return nil, badID()
	}
	w := &Writer{store: s, key: key{t.User, t.Workspace}, at: l, keep: t.KeepExisting, sum: sha256.New(), name: s.staged()}
	w.account = s.hold(w.key)
	if err := w.begin(ctx); err != nil {
		s.release(w.key, w.account)
		return nil, err
	}
	return w, nil
}

// begin finds what can be found before the first byte comes.
func (w *Writer) begin(ctx context.Context) error {
	w.account.mu.Lock()
	defer w.account.mu.Unlock()
	if err := w.store.know(ctx, w.key, w.account); err != nil {
		return err
	}
	size, there, err := w.lookAhead()
	if err != nil {
		return err
	}
	w.credit = size
	files := 0
	if !there {
		files = 1
	}
	if err := w.account.room(w, 0, files); err != nil {
		return err
	}
	w.file, err = w.store.root.OpenFile(staging+"/"+w.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return fmt.Errorf("begin a file of workspace %s: %w", w.key.id, failed("write", w.at, err))
	}
	w.account.writers = append(w.account.writers, w)
	return nil
}

// lookAhead finds the file that is to be replaced.
func (w *Writer) lookAhead() (size int64, there bool, err error) {
	root, err := w.store.enter(w.key)
	if isNotFound(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer root.Close()
	if err := checkFolders(root, w.at.folder()); err != nil {
		return 0, false, err
	}
	info, err := root.Lstat(w.at.String())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, failed("look at", w.at, err)
	}
	return info.Size(), true, w.mayReplace(info.Mode())
}

func (w *Writer) mayReplace(mode fs.FileMode) error {
	if err := refuseKind(w.at, mode); err != nil {
		return err
	}
	if w.keep {
		return fileExists(w.at)
	}
	return nil
}

func fileExists(l location) error {
	return rpcerr.New(codes.AlreadyExists, ReasonFileExists, "there is a file %q already", l)
}

// Write adds bytes, unless the workspace has no room for them.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.take(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := w.file.Write(p)
	w.sum.Write(p[:n])
	return n, failed("write", w.at, err)
}

func (w *Writer) take(n int64) error {
	w.account.mu.Lock()
	defer w.account.mu.Unlock()
	if err := w.account.room(w, n, 0); err != nil {
		return err
	}
	w.size += n
	return nil
}

// Abort drops the file. After Commit it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	_ = w.file.Close() // its bytes are not wanted
	_ = unlink(w.store.staging, w.name)
	w.end()
}

// end lets go of the account.
func (w *Writer) end() {
	w.file = nil
	w.account.mu.Lock()
	w.account.writers = slices.DeleteFunc(w.account.writers, func(other *Writer) bool { return other == w })
	w.account.mu.Unlock()
	w.store.release(w.key, w.account)
}

// Commit puts the whole file into its place.
func (w *Writer) Commit(ctx context.Context) (Written, error) {
	defer w.Abort()
	info, err := w.file.Stat()
	if err != nil {
		return Written{}, failed("look at", w.at, err)
	}
	out := Written{Entry: Describe(w.at.String(), info), SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if out.MIME, err = TypeOf(w.file, w.at.name()); err != nil {
		return Written{}, failed("read", w.at, err)
	}
	if err := w.file.Sync(); err != nil { // else a power cut could leave the name without its bytes
		return Written{}, failed("write", w.at, err)
	}
	w.account.mu.Lock()
	defer w.account.mu.Unlock()
	if err := w.store.know(ctx, w.key, w.account); err != nil {
		return Written{}, err
	}
	out.Replaced, err = w.settle()
	return out, err
}

// settle moves the file into its place and counts it. The caller holds the
// account.
func (w *Writer) settle() (replaced bool, err error) {
	root, err := w.store.ensure(w.key)
	if err != nil {
		return false, err
	}
	defer root.Close()
	missing, err := missingFolders(root, w.at.folder())
	if err != nil {
		return false, err
	}
	bytes, files := w.size, 1+missing
	if old, err := root.Lstat(w.at.String()); err == nil {
		if err := w.mayReplace(old.Mode()); err != nil {
			return false, err
		}
		bytes, files, replaced = bytes-old.Size(), 0, true
	}
	if w.account.used.over(w.store.quota, bytes, files) {
		return false, quotaExceeded(w.store.quota)
	}
	if err := w.put(root, missing); err != nil {
		w.account.forget() // folders may have been made
		return false, err
	}
	w.account.used.Bytes += bytes
	w.account.used.Files += files
	w.account.used.Modified = time.Now()
	return replaced, nil
}

func (w *Writer) put(root *os.Root, missing int) error {
	if missing > 0 {
		if err := root.MkdirAll(w.at.folder().String(), folderMode); err != nil {
			return failed("make folder", w.at.folder(), err)
		}
	}
	dir, err := openFolder(root, w.at.folder())
	if err != nil {
		return err
	}
	defer dir.Close()
	name := w.at.name()
	if w.keep {
		err = place(w.store.staging, w.name, dir, name)
	} else {
		err = move(w.store.staging, w.name, dir, name)
	}
	switch {
	case errors.Is(err, fs.ErrExist) && w.keep:
		return fileExists(w.at)
	case errors.Is(err, unix.EISDIR), errors.Is(err, syscall.EEXIST), errors.Is(err, syscall.ENOTEMPTY):
		return refuseKind(w.at, fs.ModeDir)
	case errors.Is(err, fs.ErrNotExist):
		return rpcerr.New(codes.Aborted, ReasonFileChanged, "the folder of %q was removed meanwhile: try again", w.at)
	}
	return failed("put in place", w.at, err)
}

// missingFolders counts the folders of a path that are not there.
func missingFolders(root *os.Root, l location) (int, error) {
	if err := checkFolders(root, l); err != nil {
		return 0, err
	}
	for n := len(l); n > 0; n-- {
		_, err := root.Lstat(l[:n].String())
		if err == nil {
			return len(l) - n, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return 0, failed("look at", l[:n], err)
		}
	}
	return len(l), nil
}
