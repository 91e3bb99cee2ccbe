package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

func TestAFileIsWrittenReadListedAndDeleted(t *testing.T) {
	s := newStore(t, roomy)
	_, err := s.read(ann, ws, "a.csv")
	mustBe(t, err, codes.NotFound, "NOT_FOUND")
	done := s.mustWrite(t, ws, "data/2026/a.csv", "a,b\n")
	if done.Path != "data/2026/a.csv" || done.Type != TypeFile || done.Size != 4 || done.MIME != "text/csv" || done.Replaced ||
		done.SHA256 != "0a2c1a31a0dbc5b9bc4ac8b8a1aae7dbf5ee0fd6dd4ff3db14db9a05d1a1c24c" && len(done.SHA256) != 64 {
		t.Errorf("written: %+v", done)
	}
	if done = s.mustWrite(t, ws, "data/2026/a.csv", "c\n"); !done.Replaced || done.Size != 2 {
		t.Errorf("written again: %+v", done)
	}
	if got, err := s.read(ann, ws, "data/2026/a.csv"); err != nil || got != "c\n" {
		t.Errorf("read %q, %v", got, err)
	}
	equal(t, names(s.all(t, ws, "", 10)), []string{"data"})
	equal(t, names(s.all(t, ws, "data/2026", 10)), []string{"data/2026/a.csv"})
	mustBe(t, s.Delete(t.Context(), ann, ws, "data", false), codes.FailedPrecondition, ReasonFolderNotEmpty)
	must(t, s.Delete(t.Context(), ann, ws, "data/2026/a.csv", false))
	must(t, s.Delete(t.Context(), ann, ws, "data/2026", false))
	mustBe(t, s.Delete(t.Context(), ann, ws, "data/2026", false), codes.NotFound, "NOT_FOUND")
	must(t, s.Delete(t.Context(), ann, ws, "data", true))
	if got := s.all(t, ws, "", 10); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

func TestTheWrongKindOfEntry(t *testing.T) {
	s := newStore(t, roomy)
	s.mustWrite(t, ws, "folder/file", "x")
	_, err := s.read(ann, ws, "folder")
	mustBe(t, err, codes.FailedPrecondition, ReasonIsFolder)
	_, err = s.write(ann, ws, "folder", "x")
	mustBe(t, err, codes.FailedPrecondition, ReasonIsFolder)
	_, err = s.read(ann, ws, "folder/file/x")
	mustBe(t, err, codes.FailedPrecondition, ReasonNotFolder)
	_, err = s.write(ann, ws, "folder/file/x/y", "x")
	mustBe(t, err, codes.FailedPrecondition, ReasonNotFolder)
	_, err = s.List(t.Context(), ann, ws, "folder/file", "", 10)
	mustBe(t, err, codes.FailedPrecondition, ReasonNotFolder)
	_, err = s.List(t.Context(), ann, ws, "nothing", "", 10)
	mustBe(t, err, codes.NotFound, "NOT_FOUND")
	if got, err := s.read(ann, ws, "folder/file"); err != nil || got != "x" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestAWorkspaceIsItsUsersAlone(t *testing.T) {
	s := newStore(t, roomy)
	s.mustWrite(t, ws, "a", "x")
	for id, what := range map[string]string{ws: "of somebody else", "c2": "that nobody has"} {
		_, err := s.read(bob, id, "a")
		mustBe(t, err, codes.NotFound, "NOT_FOUND")
		_, err = s.List(t.Context(), bob, id, "", "", 10)
		mustBe(t, err, codes.NotFound, "NOT_FOUND")
		mustBe(t, s.Delete(t.Context(), bob, id, "a", true), codes.NotFound, "NOT_FOUND")
		mustBe(t, s.DeleteWorkspace(t.Context(), bob, id), codes.NotFound, "NOT_FOUND")
		if t.Failed() {
			t.Fatalf("a workspace %s", what)
		}
	}
	if _, err := s.write(bob, ws, "a", "of bob"); err != nil { // begins one of bob's
		t.Fatal(err)
	}
	if got, err := s.read(ann, ws, "a"); err != nil || got != "x" {
		t.Errorf("ann has %q, %v", got, err)
	}
	all, err := s.Workspaces(t.Context(), bob, "", 10)
	if err != nil || len(all.Items) != 1 || all.Items[0].ID != ws || all.Items[0].Bytes != 6 {
		t.Errorf("bob has %+v, %v", all, err)
	}
	must(t, s.DeleteWorkspace(t.Context(), bob, ws))
	mustBe(t, s.DeleteWorkspace(t.Context(), bob, ws), codes.NotFound, "NOT_FOUND")
	if got, err := s.read(ann, ws, "a"); err != nil || got != "x" {
		t.Errorf("ann has %q after bob deleted, %v", got, err)
	}
}

func TestFoldersAndFilesAreForTheServiceAlone(t *testing.T) {
	s := newStore(t, roomy)
	s.mustWrite(t, ws, "a/b", "x")
	for path, want := range map[string]os.FileMode{".": 0o700, staging: 0o700, ann: 0o700, ann + "/c1": 0o700, ann + "/c1/a": 0o700, ann + "/c1/a/b": 0o600} {
		info, err := os.Stat(filepath.Join(s.root.Name(), path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, want %v; %v", path, info.Mode().Perm(), want, err)
		}
	}
}

func TestABigFolderIsListedByPages(t *testing.T) {
	s := newStore(t, roomy)
	dir := s.dir(t, ws)
	var want []string
	for i := range 1200 {
		name := fmt.Sprintf("f%04d", i)
		want = append(want, name)
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	equal(t, names(s.all(t, ws, "", 100)), want)
}

func TestNamesThatAreNoTextAreListedAndCannotBeOpened(t *testing.T) {
	s := newStore(t, roomy)
	dir := s.dir(t, ws)
	for _, name := range []string{"a\xff", "a\xfe", "b\\c", "z\n\x1b[31m"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	got := s.all(t, ws, "", 1)
	equal(t, names(got), []string{"a\uFFFD", "a\uFFFD", "b\\c", "z\n\x1b[31m"})
	_, err := s.read(ann, ws, "a\uFFFD")
	mustBe(t, err, codes.NotFound, "NOT_FOUND")
	must(t, s.DeleteWorkspace(t.Context(), ann, ws))
}

func TestWritersOfOnePathDoNotMix(t *testing.T) {
	s := newStore(t, roomy)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for range 20 {
				if _, err := s.write(ann, ws, "one/path", strings.Repeat(fmt.Sprint(i), 10_000+i)); err != nil {
					t.Error(err)
				}
				got, err := s.read(ann, ws, "one/path")
				if err != nil || strings.Trim(got, got[:1]) != "" || fmt.Sprint(len(got)-10_000) != got[:1] {
					t.Errorf("%d bytes, %v: parts of several files", len(got), err)
				}
			}
		})
	}
	writers.Wait()
	used, err := s.Usage(t.Context(), ann, ws)
	if err != nil || used.Files != 2 || used.Bytes < 10_000 || used.Bytes > 10_007 {
		t.Errorf("usage %+v, %v", used, err)
	}
}

func TestKeepExistingLetsOnlyOneWriterIn(t *testing.T) {
	s := newStore(t, roomy)
	var writers []*Writer
	for i := range 3 {
		w, err := s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "a", KeepExisting: true})
		must(t, err)
		_, err = fmt.Fprint(w, i)
		must(t, err)
		writers = append(writers, w)
	}
	_, err := writers[1].Commit(t.Context())
	must(t, err)
	for _, i := range []int{0, 2} {
		_, err := writers[i].Commit(t.Context())
		mustBe(t, err, codes.AlreadyExists, ReasonFileExists)
	}
	_, err = s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "a", KeepExisting: true})
	mustBe(t, err, codes.AlreadyExists, ReasonFileExists)
	if got, err := s.read(ann, ws, "a"); err != nil || got != "1" {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestAFileThatIsNotFinishedIsNeverSeen(t *testing.T) {
	s := newStore(t, roomy)
	w, err := s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "a"})
	must(t, err)
	_, err = w.Write([]byte("half"))
	must(t, err)
	_, err = s.List(t.Context(), ann, ws, "", "", 10)
	mustBe(t, err, codes.NotFound, "NOT_FOUND") // not even the workspace is there
	w.Abort()
	w.Abort()
	all, err := s.Workspaces(t.Context(), ann, "", 10)
	if err != nil || len(all.Items) > 0 {
		t.Errorf("workspaces %+v, %v", all, err)
	}
}

// What a program leaves behind in its folders must not be in the way of their
// removal.
func TestTreesOfProgramsAreRemoved(t *testing.T) {
	s := newStore(t, roomy)
	levels := sampletest.Count(500, 5000)
	for _, remove := range []func(id string) error{
		func(id string) error { return s.Delete(t.Context(), ann, id, "top", true) },
		func(id string) error { return s.DeleteWorkspace(t.Context(), ann, id) },
	} {
		outside := t.TempDir()
		must(t, os.WriteFile(filepath.Join(outside, "canary"), []byte("x"), 0o600))
		dir, done, err := s.Use(ann, ws)
		must(t, err)
		top := filepath.Join(dir, "top")
		must(t, os.MkdirAll(filepath.Join(top, "closed/inner"), 0o700))
		must(t, os.WriteFile(filepath.Join(top, "closed/inner/file"), nil, 0o000))
		must(t, os.Symlink(outside, filepath.Join(top, "link")))
		must(t, os.Symlink(outside, filepath.Join(top, "closed/link")))
		must(t, unix.Mkfifo(filepath.Join(top, "pipe"), 0o600))
		deep(t, top, levels)
		must(t, os.Chmod(filepath.Join(top, "closed/inner"), 0))
		must(t, os.Chmod(filepath.Join(top, "closed"), 0))
		must(t, os.Chmod(top, 0o500))
		done()
		must(t, remove(ws))
		if _, err := os.Lstat(top); err == nil {
			t.Error("the folder is still there")
		}
		if raw, err := os.ReadFile(filepath.Join(outside, "canary")); string(raw) != "x" {
			t.Errorf("a removal followed a link: %v", err)
		}
	}
}

// deep makes folders inside each other, deeper than a path can be long.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	f, err := os.Open(dir)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(int(f.Fd()), "d", 0o700))
		next, err := openBelow(f, "d")
		must(t, err)
		must(t, f.Close())
		f = next
	}
	must(t, f.Close())
}

func TestDeepFoldersAreMeasuredAndListedWithinBounds(t *testing.T) {
	s := newStore(t, roomy)
	deep(t, s.dir(t, ws), measureDepth+50)
	used, err := s.Usage(t.Context(), ann, ws)
	if err != nil || !used.Partial || used.Files > measureDepth+1 {
		t.Errorf("usage %+v, %v", used, err)
	}
	if got := s.all(t, ws, strings.TrimSuffix(strings.Repeat("d/", maxDepth), "/"), 10); len(got) != 1 {
		t.Errorf("the deepest folder with a path has %v", got)
	}
	_, err = s.write(ann, ws, "a", "x")
	mustBe(t, err, codes.ResourceExhausted, ReasonQuotaExceeded)
	must(t, s.DeleteWorkspace(t.Context(), ann, ws))
}

func TestWhatADeadProcessLeftIsSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspaces")
	dead, err := Open(dir, roomy)
	must(t, err)
	w, err := dead.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "a"})
	must(t, err)
	must(t, w.file.Close())
	must(t, os.MkdirAll(filepath.Join(dir, staging, dead.run+"-77/a/b"), 0o700)) // half removed
	must(t, dead.Close())

	s, err := Open(dir, roomy)
	must(t, err)
	defer s.Close()
	mine, err := s.Create(t.Context(), Target{User: ann, Workspace: ws, Path: "b"})
	must(t, err)
	must(t, s.Sweep(t.Context()))
	left, err := os.ReadDir(filepath.Join(dir, staging))
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := mine.Commit(t.Context()); err != nil {
		t.Errorf("a file that is being written was swept: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, os.MkdirAll(filepath.Join(dir, staging, "old"), 0o700))
	if err := s.Sweep(ctx); err == nil {
		t.Error("a sweep goes on after its context")
	}
}
