package artifact_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/sandbox/internal/artifact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sniff(head []byte, _ string) string { return http.DetectContentType(head) }

// folder is a workspace with some files in it.
func folder(t *testing.T) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "old.txt", "old")
	write(t, dir, "data/kept.csv", "a,b\n")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func take(t *testing.T, root *os.Root) artifact.Snapshot {
	t.Helper()
	s, err := artifact.Take(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

func TestFilesThatAreNewOrDifferent(t *testing.T) {
	dir, root := folder(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "touched.txt", "12345")
	write(t, dir, "gone.txt", "x")
	times := time.Now().Add(-time.Hour)
	must(os.Chtimes(filepath.Join(dir, "touched.txt"), times, times))
	before := take(t, root)

	write(t, dir, "plots/chart.png", "\x89PNG\r\n\x1a\nrest")
	write(t, dir, "page.png", "<!DOCTYPE html><script>1</script>")
	write(t, dir, "touched.txt", "54321") // as long, and the time is set back
	must(os.Chtimes(filepath.Join(dir, "touched.txt"), times, times))
	must(os.Remove(filepath.Join(dir, "gone.txt")))
	must(os.Rename(filepath.Join(dir, "data/kept.csv"), filepath.Join(dir, "data/moved.csv")))
	write(t, dir, "-rf", "")
	write(t, dir, "two\nlines", "x")
	write(t, dir, "bad\xffname", "x")
	must(os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	must(os.Symlink("/etc", filepath.Join(dir, "folder-link")))
	must(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))

	after := take(t, root)
	got, truncated := artifact.Describe(root, after.Since(before), 100, sniff)
	const text = "text/plain; charset=utf-8"
	want := []artifact.Artifact{
		{Path: "-rf", MimeType: text, SHA256: sum("")},
		{Path: "bad\uFFFDname", MimeType: text, Size: 1, SHA256: sum("x")},
		{Path: "data/moved.csv", MimeType: text, Size: 4, SHA256: sum("a,b\n")},
		{Path: "page.png", MimeType: "text/html; charset=utf-8", Size: 33, SHA256: sum("<!DOCTYPE html><script>1</script>")},
		{Path: "plots/chart.png", MimeType: "image/png", Size: 12, SHA256: sum("\x89PNG\r\n\x1a\nrest")},
		{Path: "touched.txt", MimeType: text, Size: 5, SHA256: sum("54321")},
		{Path: "two\nlines", MimeType: text, Size: 1, SHA256: sum("x")},
	}
	if diff := cmp.Diff(want, got); diff != "" || truncated {
		t.Errorf("truncated %v (-want +got):\n%s", truncated, diff)
	}
	if after.Bytes != 3+4+12+33+5+1+1 || after.Partial {
		t.Errorf("%+v", after)
	}
	if again := take(t, root).Since(after); len(again) != 0 {
		t.Errorf("nothing happened, and %q are new", again)
	}
}

func TestNoMoreAreListedThanWereAskedFor(t *testing.T) {
	dir, root := folder(t)
	before := take(t, root)
	for i := range 12 {
		write(t, dir, fmt.Sprintf("out/%02d", i), "x")
	}
	got, truncated := artifact.Describe(root, take(t, root).Since(before), 10, sniff)
	if len(got) != 10 || !truncated || got[9].Path != "out/09" {
		t.Errorf("%d of them, truncated %v", len(got), truncated)
	}
	got, truncated = artifact.Describe(root, take(t, root).Since(before), 12, sniff)
	if len(got) != 12 || truncated {
		t.Errorf("%d of them, truncated %v", len(got), truncated)
	}
}

func TestALargeFileIsNotRead(t *testing.T) {
	dir, root := folder(t)
	before := take(t, root)
	write(t, dir, "sparse", "")
	if err := os.Truncate(filepath.Join(dir, "sparse"), 1<<40); err != nil {
		t.Skipf("a file system without files with holes: %v", err)
	}
	got, _ := artifact.Describe(root, take(t, root).Since(before), 10, sniff)
	want := []artifact.Artifact{{Path: "sparse", MimeType: "application/octet-stream", Size: 1 << 40}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFoldersWithoutEndAreNotFollowedToIt(t *testing.T) {
	dir, root := folder(t)
	deep := filepath.Join(dir, strings.Repeat("d/", 200))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(deep, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := take(t, root); !s.Partial || len(s.Since(artifact.Snapshot{})) != 2 {
		t.Errorf("partial %v, %q", s.Partial, s.Since(artifact.Snapshot{}))
	}
}

func TestWhatChangesBehindOurBackIsPassedOver(t *testing.T) {
	dir, root := folder(t)
	if err := os.Remove(filepath.Join(dir, "old.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "old.txt")); err != nil {
		t.Fatal(err)
	}
	got, _ := artifact.Describe(root, []string{"old.txt", "never.txt", "data"}, 10, sniff)
	if len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
