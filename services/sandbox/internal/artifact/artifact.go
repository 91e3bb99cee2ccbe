// Package artifact finds the files that a program made or changed in its
// workspace. It looks when the program and all that it started are dead, through
// os.Root, so that no link leads out, and at no more than a bounded number of
// entries, of bytes and of levels.
package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxDepth is how deep folders are looked at.
	maxDepth = 64
	// maxEntries is how many files and folders are looked at.
	maxEntries = 100_000
	// batch is how many names are read at a time.
	batch = 256
	// sniffBytes of a file tell its type.
	sniffBytes = 4096
	// maxHash is the largest file whose bytes are read, maxHashes what is read
	// of all of them together.
	maxHash   = 64 << 20
	maxHashes = 128 << 20
)

// Artifact is a file that a program made or changed.
type Artifact struct {
	// Path in the workspace; bytes that are not UTF-8 are replaced.
	Path     string `json:"path"`
	MimeType string `json:"mime_type"`
	Size     int64  `json:"size_bytes"`
	// SHA256 in hexadecimal; empty for a file that was not read.
	SHA256 string `json:"sha256,omitempty"`
}

// Snapshot is what a workspace has at a time.
type Snapshot struct {
	// Bytes are the sizes of all files, Files how many files and folders there
	// are.
	Bytes int64
	Files int
	// Partial: there is more than is looked at.
	Partial bool

	files map[string]mark
}

// mark changes whenever a file does.
type mark struct {
	inode, size, modified, changed int64
}

// Take looks at a workspace. What cannot be read is passed over.
func Take(workspace *os.Root) (Snapshot, error) {
	s := Snapshot{files: map[string]mark{}}
	if err := s.folder(workspace, "", 0); err != nil {
		return Snapshot{}, fmt.Errorf("look at the files of a workspace: %w", err)
	}
	return s, nil
}

func (s *Snapshot) folder(dir *os.Root, at string, depth int) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			if s.Files >= maxEntries {
				s.Partial = true
				return nil
			}
			s.entry(dir, at, e.Name(), depth)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// entry takes one entry of a folder. One that goes away meanwhile, or that
// cannot be opened, is passed over.
func (s *Snapshot) entry(dir *os.Root, at, name string, depth int) {
	info, err := dir.Lstat(name)
	if err != nil {
		return
	}
	s.Files++
	switch {
	case info.Mode().IsRegular():
		s.Bytes += info.Size()
		s.files[path.Join(at, name)] = markOf(info)
	case info.IsDir() && depth >= maxDepth:
		s.Partial = true
	case info.IsDir():
		sub, err := dir.OpenRoot(name)
		if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
			return
		}
		if err != nil { // closed to us by the program
			s.Partial = true
			return
		}
		defer sub.Close()
		_ = s.folder(sub, path.Join(at, name), depth+1)
	}
}

// Since are the paths of files that are new or different from those before, in
// order.
func (s Snapshot) Since(before Snapshot) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if m, ok := before.files[name]; !ok || m != s.files[name] {
			out = append(out, name)
		}
	}
	return out
}

// Describe tells of the first limit of the files; mime tells a type from the
// first bytes of one and its name. Only regular files are told of, and opened.
func Describe(workspace *os.Root, paths []string, limit int, mime func(head []byte, name string) string) (out []Artifact, truncated bool) {
	left := int64(maxHashes)
	for _, name := range paths {
		a, ok := describe(workspace, name, min(left, maxHash), mime)
		if !ok {
			continue
		}
		if len(out) == limit {
			return out, true
		}
		if a.SHA256 != "" {
			left -= a.Size
		}
		out = append(out, a)
	}
	return out, false
}

func describe(workspace *os.Root, name string, most int64, mime func([]byte, string) string) (Artifact, bool) {
	a := Artifact{Path: strings.ToValidUTF8(name, "\uFFFD"), MimeType: "application/octet-stream"}
	info, err := workspace.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return a, false
	}
	a.Size = info.Size()
	f, err := workspace.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return a, true // there, and not for us to read
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return a, false
	}
	head := make([]byte, sniffBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return a, true
	}
	a.MimeType = mime(head[:n], name)
	if a.Size > most {
		return a, true
	}
	hash := sha256.New()
	hash.Write(head[:n])
	if read, err := io.Copy(hash, io.LimitReader(f, most)); err == nil && read+int64(n) == a.Size {
		a.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	return a, true
}
