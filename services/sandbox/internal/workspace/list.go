package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/dirpage"
)

// Listing is a page of entries.
type Listing struct {
	Entries []Entry
	// Last is the name of the last entry that was looked at, as the file system
	// has it: where the next page begins.
	Last string
	// More says that there is a next page.
	More bool
}

// List reads a folder from the name after on, at most limit entries. An empty
// path is the workspace itself.
func (s *Store) List(ctx context.Context, user, id, path, after string, limit int) (Listing, error) {
	l, err := locateFolder(path)
	if err != nil {
		return Listing{}, err
	}
	root, err := s.enter(key{user, id})
	if err != nil {
		return Listing{}, err
	}
	defer root.Close()
	dir, err := openFolder(root, l)
	if err != nil {
		return Listing{}, err
	}
	defer dir.Close()
	out, err := ListFolder(ctx, dir, path, after, limit)
	return out, failed("list", l, err)
}

// ListFolder reads a page of an open folder. The entries are looked at in the
// folder that is open, whatever its path has become.
func ListFolder(ctx context.Context, dir *os.File, path, after string, limit int) (Listing, error) {
	names, more, err := dirpage.Read(ctx, dir, after, limit)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{More: more}
	if path != "" {
		path += "/"
	}
	for _, name := range names {
		out.Last = name
		info, err := statBelow(dir, name)
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			continue
		}
		if err != nil {
			return Listing{}, err
		}
		out.Entries = append(out.Entries, describeStat(path+name, info))
	}
	return out, nil
}

// Summary describes a workspace.
type Summary struct {
	ID string
	Usage
}

// Summaries is a page of workspaces.
type Summaries struct {
	Items []Summary
	// Last is the last id that was looked at: where the next page begins.
	Last string
	// More says that there is a next page.
	More bool
}

// Workspaces lists a user's workspaces from the id after on, at most limit.
func (s *Store) Workspaces(ctx context.Context, user, after string, limit int) (Summaries, error) {
	dir, err := s.root.OpenFile(userFolder(user), openFlags|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Summaries{}, nil
	}
	if err != nil {
		return Summaries{}, fmt.Errorf("list workspaces: %w", err)
	}
	defer dir.Close()
	ids, more, err := dirpage.Read(ctx, dir, after, limit)
	if err != nil {
		return Summaries{}, fmt.Errorf("list workspaces: %w", err)
	}
	out := Summaries{More: more}
	for _, id := range ids {
		out.Last = id
		used, err := s.Usage(ctx, user, id)
		if isNotFound(err) { // gone meanwhile
			continue
		}
		if err != nil {
			return Summaries{}, err
		}
		out.Items = append(out.Items, Summary{ID: id, Usage: used})
	}
	return out, nil
}
