package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ann = "usr_ann"
	bob = "usr_bob"
	ws  = "c1"
)

// roomy is a quota that no test fills by chance.
var roomy = Quota{Bytes: 64 << 20, Files: 10_000}

func newStore(t testing.TB, q Quota) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "workspaces"), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(filepath.Join(s.root.Name(), staging))
		if err != nil || len(left) > 0 {
			t.Errorf("the staging folder has %v left, %v", left, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dir is where a workspace of ann is, to play the program that changes it.
func (s *Store) dir(t testing.TB, id string) string {
	t.Helper()
	dir, done, err := s.Use(ann, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return dir
}

func (s *Store) write(user, id, path, text string) (Written, error) {
	w, err := s.Create(context.Background(), Target{User: user, Workspace: id, Path: path})
	if err != nil {
		return Written{}, err
	}
	defer w.Abort()
	if _, err := io.WriteString(w, text); err != nil {
		return Written{}, err
	}
	return w.Commit(context.Background())
}

func (s *Store) mustWrite(t testing.TB, id, path, text string) Written {
	t.Helper()
	done, err := s.write(ann, id, path, text)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func (s *Store) read(user, id, path string) (string, error) {
	f, err := s.Open(user, id, path)
	if err != nil {
		return "", err
	}
	raw, err := io.ReadAll(f)
	return string(raw), errors.Join(err, f.Close())
}

// all lists a folder of ann by pages of the given size.
func (s *Store) all(t testing.TB, id, path string, limit int) []Entry {
	t.Helper()
	var all []Entry
	for after, more := "", true; more; {
		page, err := s.List(t.Context(), ann, id, path, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Entries...)
		after, more = page.Last, page.More
	}
	return all
}

func names(entries []Entry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	return names
}

func mustBe(t testing.TB, err error, code codes.Code, reason string) {
	t.Helper()
	e, ok := rpcerr.As(err)
	if !ok || e.Code() != code || e.Reason() != reason {
		t.Errorf("error %v, want %s %s", err, code, reason)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, " | "), strings.Join(want, " | "))
	}
}
