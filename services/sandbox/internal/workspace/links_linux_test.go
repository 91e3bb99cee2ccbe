package workspace

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

// canary is a folder outside of every workspace; nothing of it may be read,
// listed or changed.
type canary struct{ dir string }

const secret = "the canary's secret"

func newCanary(t *testing.T) canary {
	t.Helper()
	c := canary{t.TempDir()}
	must(t, os.MkdirAll(filepath.Join(c.dir, "d/d"), 0o700))
	for _, name := range []string{"secret-canary", "f", "d/f", "d/d/f"} {
		must(t, os.WriteFile(filepath.Join(c.dir, name), []byte(secret), 0o600))
	}
	t.Cleanup(func() { c.unharmed(t) })
	return c
}

func (c canary) unharmed(t *testing.T) {
	t.Helper()
	var seen []string
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			raw, err := os.ReadFile(path)
			if err != nil || string(raw) != secret {
				t.Errorf("%s was changed to %q, %v", path, raw, err)
			}
		}
		seen = append(seen, strings.TrimPrefix(path, c.dir))
		return err
	})
	must(t, err)
	equal(t, seen, []string{"", "/d", "/d/d", "/d/d/f", "/d/f", "/f", "/secret-canary"})
}

func TestLinksAreRefused(t *testing.T) {
	out := newCanary(t)
	s := newStore(t, roomy)
	s.mustWrite(t, ws, "own/f", "x")
	dir := s.dir(t, ws)
	for name, to := range map[string]string{
		"to-file": filepath.Join(out.dir, "f"), "to-folder": out.dir, "up": "../../..", "dangling": filepath.Join(out.dir, "new"),
		"to-own-file": "own/f", "to-own-folder": "own", "loop": "loop", "passwd": "/etc/passwd",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	for _, path := range []string{
		"to-file", "dangling", "to-own-file", "loop", "passwd", "to-folder", "to-folder/f", "to-own-folder/f", "up/x", "to-folder/d/f", "up/" + ann + "/" + ws + "/own/f",
	} {
		t.Run(path, func(t *testing.T) {
			_, err := s.read(ann, ws, path)
			mustBe(t, err, codes.FailedPrecondition, ReasonLinkRefused)
			_, err = s.write(ann, ws, path, "x")
			mustBe(t, err, codes.FailedPrecondition, ReasonLinkRefused)
			_, err = s.List(t.Context(), ann, ws, path, "", 10)
			mustBe(t, err, codes.FailedPrecondition, ReasonLinkRefused)
			if strings.Contains(path, "/") {
				mustBe(t, s.Delete(t.Context(), ann, ws, path, true), codes.FailedPrecondition, ReasonLinkRefused)
			}
		})
	}
	for _, e := range s.all(t, ws, "", 3) {
		if want := TypeLink; e.Path != "own" && (e.Type != want || e.Size != 0) {
			t.Errorf("%+v is not listed as a link", e)
		}
	}
	must(t, s.Delete(t.Context(), ann, ws, "to-folder", true)) // the link itself
	must(t, s.Delete(t.Context(), ann, ws, "to-file", false))
}

func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	s := newStore(t, roomy)
	dir := s.dir(t, ws)
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	t.Chdir(dir) // the address of a socket is short
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
	paths := []string{"pipe", "socket"}
	if err := unix.Mknod(filepath.Join(dir, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err == nil {
		paths = append(paths, "device") // only root can make one
	}
	for _, path := range paths {
		_, err := s.read(ann, ws, path)
		mustBe(t, err, codes.FailedPrecondition, ReasonNotRegular)
		_, err = s.write(ann, ws, path, "x")
		mustBe(t, err, codes.FailedPrecondition, ReasonNotRegular)
		_, err = s.read(ann, ws, path+"/x")
		mustBe(t, err, codes.FailedPrecondition, ReasonNotFolder)
		_, err = s.List(t.Context(), ann, ws, path, "", 10)
		mustBe(t, err, codes.FailedPrecondition, ReasonNotFolder)
	}
	for _, e := range s.all(t, ws, "", 10) {
		if e.Type != TypeOther {
			t.Errorf("%+v", e)
		}
	}
	for _, path := range paths {
		must(t, s.Delete(t.Context(), ann, ws, path, false))
	}
}

// swapper plays a program that swaps folders, files, links and pipes of its
// workspace for each other as fast as it can. It sees no more than the workspace,
// as in a sandbox.
func swapper(t *testing.T, dir string, out canary, random *rand.Rand, stop <-chan struct{}) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Error(err)
		return
	}
	defer root.Close()
	targets := []string{out.dir, filepath.Join(out.dir, "d"), filepath.Join(out.dir, "f"), "..", "../..", "/", "d", "."}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		// Errors are part of the play: the others work in the same places.
		made := fmt.Sprintf("made%d", n)
		switch random.IntN(7) {
		case 0, 1:
			_ = root.Symlink(targets[random.IntN(len(targets))], made)
		case 2, 3:
			_ = root.MkdirAll(made+"/d", 0o700)
			_ = root.WriteFile(made+"/f", []byte("inside"), 0o600)
		case 4:
			_ = root.WriteFile(made, []byte("inside"), 0o600)
		case 5:
			_ = unix.Mkfifo(filepath.Join(dir, made), 0o600)
		case 6: // out of the way, and back
			name := swapped[random.IntN(len(swapped))]
			_ = root.Rename(name, made)
			_ = root.Rename(made, name)
			continue
		}
		if name := swapped[random.IntN(len(swapped))]; random.IntN(2) == 0 && !strings.Contains(name, "/") {
			// In one step, which is the hardest moment to look away from a name.
			_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, made), unix.AT_FDCWD, filepath.Join(dir, name), unix.RENAME_EXCHANGE)
		} else {
			_ = root.Rename(name, made+"-old")
			_ = root.Rename(made, name)
			_ = root.RemoveAll(made + "-old")
		}
		_ = root.RemoveAll(made)
	}
}

// swapped are what the swapper swaps.
var swapped = []string{"d", "d/d", "f", "d/f", "d/d/f"}

func TestAgainstASwapperNothingEscapes(t *testing.T) {
	operations := sampletest.Count(1000, 10_000)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	out := newCanary(t)
	s := newStore(t, Quota{Bytes: 64 << 20, Files: 10_000})
	s.mustWrite(t, ws, "d/d/f", "inside")
	dir, done, err := s.Use(ann, ws)
	must(t, err)
	defer done()

	stop := make(chan struct{})
	var swappers, users sync.WaitGroup
	swappers.Go(func() { swapper(t, dir, out, rand.New(rand.NewPCG(seed, 1)), stop) })
	var succeeded [4]int
	var mu sync.Mutex
	for worker := range 2 {
		users.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(worker)+2))
			for range operations / 2 {
				kind, err := operate(t, s, random)
				switch {
				case err == nil:
					mu.Lock()
					succeeded[kind]++
					mu.Unlock()
				case !expected(err):
					t.Errorf("operation %d: %v", kind, err)
				}
			}
		})
	}
	users.Wait()
	close(stop)
	swappers.Wait()
	t.Logf("of %d operations %v reads, writes, lists and deletes succeeded", operations, succeeded)
	out.unharmed(t)
	for kind, n := range succeeded {
		if n == 0 {
			t.Errorf("no operation of kind %d ever succeeded: the play is too hard to show anything", kind)
		}
	}
}

// expected says whether an error is one that a caller of a swapped workspace may
// see: every one has a shape.
func expected(err error) bool {
	_, shaped := rpcerr.As(err)
	return shaped
}

func operate(t *testing.T, s *Store, random *rand.Rand) (kind int, err error) {
	path := append(swapped, "d/d/d/f", "d/g")[random.IntN(len(swapped)+2)]
	switch kind = random.IntN(4); kind {
	case 0:
		var text string
		if random.IntN(8) == 0 {
			path = "d/secret-canary"
		}
		if text, err = s.read(ann, ws, path); strings.Contains(text, "canary") {
			t.Errorf("%s was read from outside", path)
		}
	case 1:
		_, err = s.write(ann, ws, path, "inside")
	case 2:
		var page Listing
		page, err = s.List(t.Context(), ann, ws, strings.TrimSuffix(path, "/f"), "", 100)
		for _, e := range page.Entries {
			if strings.Contains(e.Path[strings.LastIndex(e.Path, "/")+1:], "canary") {
				t.Errorf("%s was listed from outside", path)
			}
		}
	case 3:
		err = s.Delete(t.Context(), ann, ws, path, random.IntN(2) == 0)
	}
	return kind, err
}
