package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// measureDepth is how deep folders are measured. Programs can make deeper
	// ones; nobody can name what is in those, and a workspace with them is full.
	measureDepth = 256
	// freshFor is how long a measured usage is believed: nobody but this process
	// and the programs that it starts changes a workspace.
	freshFor = time.Minute
	// idleAccounts is how many accounts are kept that nobody uses.
	idleAccounts = 1024
)

// Usage is what a workspace takes.
type Usage struct {
	// Bytes of all files, Files and folders.
	Bytes int64
	Files int
	// Modified is when something in it was last changed.
	Modified time.Time
	// Partial says that there is more than was counted: it is far over its quota.
	Partial bool
}

// over says whether u, changed by more, breaks the quota.
func (u Usage) over(q Quota, bytes int64, files int) bool {
	return u.Partial || u.Bytes+bytes > q.Bytes || u.Files+files > q.Files
}

// account knows what a workspace takes, with what is being written for it. Its
// mutex is held while names in the workspace are changed.
type account struct {
	holders int // guarded by Store.mu

	mu       sync.Mutex
	used     Usage
	measured time.Time // zero: used is not known
	programs int       // that may change the workspace just now
	writers  []*Writer // of files that are not in their place yet, in the order in which they began
}

// before is what the writers have written that began before w.
func (a *account) before(w *Writer) int64 {
	var n int64
	for _, other := range a.writers {
		if other == w {
			break
		}
		n += other.size
	}
	return n
}

// room refuses n bytes and a number of files more of a writer. Who began first
// has the room, so that of files that are written at the same time as many are
// kept as fit. The caller holds a.mu.
func (a *account) room(w *Writer, n int64, files int) error {
	q := w.store.quota
	own := w.size - w.credit + n
	switch {
	case a.used.over(q, own, files):
		return quotaExceeded(q)
	case a.used.over(q, own+a.before(w), files):
		return quotaContended(q)
	}
	return nil
}

// hold finds the account of a workspace; release lets go of it.
func (s *Store) hold(k key) *account {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[k]
	if a == nil {
		a = &account{}
		s.accounts[k] = a
	}
	a.holders++
	return a
}

func (s *Store) release(k key, a *account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.holders--; a.holders == 0 && len(s.accounts) > idleAccounts {
		delete(s.accounts, k)
	}
}

// know makes sure that a.used is true. The caller holds a.mu.
func (s *Store) know(ctx context.Context, k key, a *account) error {
	if !a.measured.IsZero() && a.programs == 0 && time.Since(a.measured) < freshFor {
		return nil
	}
	used, err := s.measure(ctx, k)
	if err != nil {
		return err
	}
	a.used, a.measured = used, time.Now()
	return nil
}

// forget says that a.used may not be true any more. The caller holds a.mu.
func (a *account) forget() { a.measured = time.Time{} }

// Use gives the folder of a workspace on this machine to a program in a sandbox,
// which may change what is in it until done is called. A workspace that is not
// there is made, and one that is empty afterwards is removed.
func (s *Store) Use(user, id string) (dir string, done func(), err error) {
	k := key{user, id}
	base, err := filepath.Abs(s.root.Name())
	if err != nil {
		return "", nil, fmt.Errorf("find the folder of workspaces: %w", err)
	}
	a := s.hold(k)
	a.mu.Lock()
	defer a.mu.Unlock()
	root, err := s.ensure(k)
	if err == nil {
		err = root.Close()
	}
	if err != nil {
		s.release(k, a)
		return "", nil, err
	}
	a.programs++
	return filepath.Join(base, userFolder(user), id), sync.OnceFunc(func() {
		a.mu.Lock()
		a.programs--
		a.forget()
		if a.programs == 0 { // a workspace begins with its first file: one that has none goes again
			_ = s.root.Remove(userFolder(user) + "/" + id)
		}
		a.mu.Unlock()
		s.release(k, a)
	}), nil
}

// Usage measures a workspace.
func (s *Store) Usage(ctx context.Context, user, id string) (Usage, error) {
	k := key{user, id}
	root, err := s.enter(k)
	if err != nil {
		return Usage{}, err
	}
	if err := root.Close(); err != nil {
		return Usage{}, err
	}
	a := s.hold(k)
	defer s.release(k, a)
	a.mu.Lock()
	defer a.mu.Unlock()
	err = s.know(ctx, k, a)
	return a.used, err
}

// measure walks a workspace. One that is not there takes nothing.
func (s *Store) measure(ctx context.Context, k key) (Usage, error) {
	root, err := s.enter(k)
	if isNotFound(err) {
		return Usage{}, nil
	}
	if err != nil {
		return Usage{}, err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return Usage{}, fmt.Errorf("measure workspace %s: %w", k.id, err)
	}
	defer dir.Close()
	info, err := dir.Stat()
	if err != nil {
		return Usage{}, fmt.Errorf("measure workspace %s: %w", k.id, err)
	}
	m := measuring{ctx: ctx, most: 2*s.quota.Files + 1000, used: Usage{Modified: info.ModTime()}}
	if err := m.walk(dir, measureDepth); err != nil && !errors.Is(err, errEnough) {
		return Usage{}, fmt.Errorf("measure workspace %s: %w", k.id, err)
	}
	return m.used, nil
}

// errEnough ends a walk: the workspace is over its quota.
var errEnough = errors.New("more than is measured")

type measuring struct {
	ctx  context.Context
	most int // entries that are looked at
	used Usage
}

func (m *measuring) walk(dir *os.File, depth int) error {
	return entries(dir, func(name string) error {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		info, err := statBelow(dir, name)
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		if m.used.Files++; m.used.Files > m.most || depth == 0 {
			m.used.Partial = true
			return errEnough
		}
		if at := time.Unix(info.Mtim.Unix()); at.After(m.used.Modified) {
			m.used.Modified = at
		}
		switch {
		case isRegular(info):
			m.used.Bytes += info.Size
		case isFolder(info):
			return m.below(dir, name, depth-1)
		}
		return nil
	})
}

func (m *measuring) below(dir *os.File, name string, depth int) error {
	child, err := openBelow(dir, name)
	if err != nil { // gone, swapped, or closed to us: a program's own doing
		return nil
	}
	defer child.Close()
	return m.walk(child, depth)
}
