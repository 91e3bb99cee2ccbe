package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// purgeDepth is how many folders are open at a time while a tree is removed:
	// deeper ones are moved up first.
	purgeDepth = 32
	// purgeTries is how often a folder is emptied that fills again.
	purgeTries = 5
)

// Delete removes a file, or a folder that is empty or, when recursive is set,
// with all that is in it. A link is removed itself, never what it leads to.
func (s *Store) Delete(ctx context.Context, user, id, path string, recursive bool) error {
	l, err := locate(path)
	if err != nil {
		return err
	}
	k := key{user, id}
	root, err := s.enter(k)
	if err != nil {
		return err
	}
	defer root.Close()
	a := s.hold(k)
	defer s.release(k, a)
	gone, err := s.detach(root, l, a, recursive)
	if err != nil || gone == "" {
		return err
	}
	return s.purge(ctx, func(name string) bool { return name == gone })
}

// detach takes an entry out of its workspace. A folder with all that is in it is
// in the staging folder then, by the name that is answered.
func (s *Store) detach(root *os.Root, l location, a *account, recursive bool) (staged string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	dir, err := openFolder(root, l.folder())
	if err != nil {
		return "", err
	}
	defer dir.Close()
	info, err := statBelow(dir, l.name())
	if err != nil {
		return "", failed("look at", l, err)
	}
	a.forget()
	if !isFolder(info) {
		return "", failed("delete", l, unlink(dir, l.name()))
	}
	if !recursive {
		err := removeFolder(dir, l.name())
		if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
			return "", refusal(ReasonFolderNotEmpty, "the folder %q is not empty: set recursive to delete it with all that is in it", l)
		}
		return "", failed("delete", l, err)
	}
	staged = s.staged()
	err = move(dir, l.name(), s.staging, staged)
	if errors.Is(err, fs.ErrPermission) { // a folder that its program closed
		if err = root.Chmod(l.String(), folderMode); err == nil {
			err = move(dir, l.name(), s.staging, staged)
		}
	}
	return staged, failed("delete", l, err)
}

// DeleteWorkspace removes a workspace with all its files.
func (s *Store) DeleteWorkspace(ctx context.Context, user, id string) error {
	k := key{user, id}
	if !validID.MatchString(id) {
		return badID()
	}
	a := s.hold(k)
	defer s.release(k, a)
	gone, err := s.detachWorkspace(k, a)
	if err != nil {
		return err
	}
	return s.purge(ctx, func(name string) bool { return name == gone })
}

func (s *Store) detachWorkspace(k key, a *account) (staged string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	path := userFolder(k.user) + "/" + k.id
	staged = s.staged()
	err = s.root.Rename(path, staging+"/"+staged)
	if errors.Is(err, fs.ErrPermission) {
		if err = s.root.Chmod(path, folderMode); err == nil {
			err = s.root.Rename(path, staging+"/"+staged)
		}
	}
	a.forget()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", rpcerr.NotFound("workspace", k.id)
	case err != nil:
		return "", fmt.Errorf("delete workspace %s: %w", k.id, err)
	}
	return staged, nil
}

// purge removes the entries of the staging folder for which which answers true.
func (s *Store) purge(ctx context.Context, which func(name string) bool) error {
	dir, err := s.root.Open(staging)
	if err != nil {
		return fmt.Errorf("open what is to be removed: %w", err)
	}
	defer dir.Close()
	p := purging{ctx: ctx, store: s}
	if err := entries(dir, func(name string) error {
		if which(name) {
			p.queue = append(p.queue, name)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("list what is to be removed: %w", err)
	}
	for len(p.queue) > 0 {
		name := p.queue[0]
		p.queue = p.queue[1:]
		if err := p.remove(s.staging, name, name, purgeDepth); err != nil {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}

// purging is the removal of trees of the staging folder, by entries of open
// folders only.
type purging struct {
	ctx   context.Context
	store *Store
	queue []string // names in the staging folder
}

// remove removes an entry of dir with all that is in it; path is where it is in
// the staging folder.
func (p *purging) remove(dir *os.File, name, path string, depth int) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	info, err := statBelow(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !isFolder(info) {
		return ignoreGone(unlink(dir, name))
	}
	if info.Mode&folderMode != folderMode { // a program may have closed its folders
		if err := p.store.root.Chmod(staging+"/"+path, folderMode); err != nil {
			return ignoreGone(err)
		}
	}
	if depth == 0 {
		staged := p.store.staged()
		if err := move(dir, name, p.store.staging, staged); err != nil {
			return ignoreGone(err)
		}
		p.queue = append(p.queue, staged)
		return nil
	}
	return p.removeFolder(dir, name, path, depth)
}

func (p *purging) removeFolder(dir *os.File, name, path string, depth int) error {
	for try := 1; ; try++ {
		child, err := openBelow(dir, name)
		if err != nil {
			return ignoreGone(err)
		}
		err = entries(child, func(below string) error {
			return p.remove(child, below, path+"/"+below, depth-1)
		})
		if err := errors.Join(err, child.Close()); err != nil {
			return err
		}
		err = ignoreGone(removeFolder(dir, name))
		full := errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
		if !full || try == purgeTries { // a program may still be at work in it
			return err
		}
	}
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func isNotFound(err error) bool {
	e, ok := rpcerr.As(err)
	return ok && e.Reason() == "NOT_FOUND"
}
