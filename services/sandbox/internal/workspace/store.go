package workspace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// folderMode is for the service's user alone.
const folderMode = 0o700

// staging is the folder beside those of the users in which files are until they
// are whole, and from which removed ones go. No user's folder begins with a dot.
const staging = ".staging"

// Quota bounds one workspace.
type Quota struct {
	// Bytes of all files together.
	Bytes int64
	// Files and folders.
	Files int
}

// Store is the workspaces of all users. It is safe for concurrent use, also with
// programs that change the workspaces meanwhile; the folder belongs to one
// process.
type Store struct {
	root    *os.Root // <dir>
	staging *os.File
	quota   Quota
	// run marks what this process has in staging.
	run  string
	next atomic.Int64

	mu       sync.Mutex
	accounts map[key]*account
}

// key names a workspace.
type key struct{ user, id string }

// Open opens the store in a folder, which is made if it is not there. Close it
// after use.
func Open(dir string, quota Quota) (*Store, error) {
	s, err := open(dir, quota)
	if err != nil {
		return nil, fmt.Errorf("open workspaces in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, quota Quota) (*Store, error) {
	if quota.Bytes <= 0 || quota.Files <= 0 {
		return nil, errors.New("the quota must be positive")
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(staging, folderMode); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	stage, err := root.Open(staging)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Store{root: root, staging: stage, quota: quota, run: rand.Text(), accounts: map[key]*account{}}, nil
}

// Close lets go of the folder. Nothing may be in use any more.
func (s *Store) Close() error { return errors.Join(s.staging.Close(), s.root.Close()) }

// Sweep removes what a process that ended before left half written or half
// removed.
func (s *Store) Sweep(ctx context.Context) error {
	return s.purge(ctx, func(name string) bool { return !strings.HasPrefix(name, s.run) })
}

// staged is a new name in the staging folder.
func (s *Store) staged() string { return fmt.Sprintf("%s-%d", s.run, s.next.Add(1)) }

// safeUser is a user id that can be the name of a folder as it is.
var safeUser = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,127}$`)

// userFolder is the name of a user's folder. Equal names mean equal users.
func userFolder(user string) string {
	if safeUser.MatchString(user) {
		return user
	}
	sum := sha256.Sum256([]byte(user))
	return "=" + hex.EncodeToString(sum[:])
}

// ensure opens a workspace and makes it if it is not there.
func (s *Store) ensure(k key) (*os.Root, error) {
	if !validID.MatchString(k.id) {
		return nil, badID()
	}
	if err := s.root.MkdirAll(userFolder(k.user)+"/"+k.id, folderMode); err != nil {
		return nil, fmt.Errorf("make workspace %s: %w", k.id, err)
	}
	return s.enter(k)
}

// enter opens a workspace. One that is not there, or is somebody else's, is not
// found.
func (s *Store) enter(k key) (*os.Root, error) {
	if !validID.MatchString(k.id) {
		return nil, badID()
	}
	root, err := s.root.OpenRoot(userFolder(k.user) + "/" + k.id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, rpcerr.NotFound("workspace", k.id)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", k.id, err)
	}
	return root, nil
}

func badID() error {
	return rpcerr.InvalidArgument("workspace_id", "must be 1 to 64 letters, digits, - and _, and begin with a letter or digit")
}
