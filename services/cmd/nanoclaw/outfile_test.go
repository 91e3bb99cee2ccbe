package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// begin opens the place of results.
func begin(t *testing.T, c *cli, path string) *output {
	t.Helper()
	to, err := c.findPlace(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := to.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.discard() })
	return out
}

// put writes text and keeps it.
func put(t *testing.T, c *cli, path, text string) {
	t.Helper()
	out := begin(t, c, path)
	if _, err := io.WriteString(out, text); err != nil {
		t.Fatal(err)
	}
	if err := out.keep(); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("%s: %q, %v; want %q", path, text, err, want)
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestAFileIsThereWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pages.md")
	c := &cli{}
	for _, keep := range []bool{false, true} {
		out := begin(t, c, path)
		if _, err := io.WriteString(out, "text"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a file before its end: %v", err)
		}
		if keep {
			if err := out.keep(); err != nil {
				t.Fatal(err)
			}
		}
		if out.discard() {
			t.Error("a file that was not there was left as it was")
		}
	}
	holds(t, path, "text")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFileThatIsThereStaysUntilItIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.md")
	write(t, path, "before", 0o640)
	out := begin(t, &cli{}, path)
	if _, err := io.WriteString(out, "after"); err != nil {
		t.Fatal(err)
	}
	if !out.discard() {
		t.Error("nothing is said of the file that stays")
	}
	holds(t, path, "before")
}

func TestModesOfFiles(t *testing.T) {
	dir := t.TempDir()
	if f, err := os.OpenFile(filepath.Join(dir, "usual"), os.O_CREATE|os.O_WRONLY, 0o666); err != nil {
		t.Fatal(err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	usual, err := os.Stat(filepath.Join(dir, "usual"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		old  fs.FileMode // 0: no file
		want fs.FileMode
	}{
		{"a new file has what the umask leaves", 0, usual.Mode()},
		{"a private file stays private", 0o600, 0o600},
		{"a file for everybody stays so, whatever the umask", 0o666, 0o666},
		{"a program stays one", 0o750, 0o750},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pages.md")
			if tc.old != 0 {
				write(t, path, "before", tc.old)
			}
			put(t, &cli{}, path, "after")
			holds(t, path, "after")
			if info, err := os.Stat(path); err != nil || info.Mode() != tc.want {
				t.Errorf("%v, %v; want %v", info.Mode(), err, tc.want)
			}
		})
	}
}

func TestLinksToFilesAreFollowed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before bool
		link   string
	}{
		{"to a file", true, "real/pages.md"},
		{"to a file that is not there yet", false, "real/pages.md"},
		{"through another link", true, "second"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			real, link := filepath.Join(dir, "real", "pages.md"), filepath.Join(dir, "link.md")
			err := errors.Join(os.Mkdir(filepath.Dir(real), 0o700), os.Symlink(real, filepath.Join(dir, "second")), os.Symlink(tc.link, link))
			if err != nil {
				t.Fatal(err)
			}
			if tc.before {
				write(t, real, "before", 0o600)
			}
			put(t, &cli{}, link, "after")
			holds(t, real, "after")
			if info, err := os.Lstat(link); err != nil || info.Mode().Type() != fs.ModeSymlink {
				t.Errorf("the link is gone: %v, %v", info, err)
			}
		})
	}
}

func TestWhatIsNoFileIsWrittenThrough(t *testing.T) {
	t.Run("a pipe", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		read := make(chan string, 1)
		go func() {
			text, err := os.ReadFile(path)
			if err != nil {
				text = []byte(err.Error())
			}
			read <- string(text)
		}()
		put(t, &cli{}, path, "text")
		if got := <-read; got != "text" {
			t.Errorf("read %q", got)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Errorf("the pipe is gone: %v, %v", info, err)
		}
	})
	t.Run("a device", func(t *testing.T) { put(t, &cli{}, os.DevNull, "text") })
	t.Run("stdout under its other name, after what is there", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		write(t, path, "first ", 0o600)
		stdout, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer stdout.Close()
		put(t, &cli{stdout: stdout}, path, "text")
		holds(t, path, "first text")
	})
	t.Run("an open file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "out")
		write(t, path, "first ", 0o600)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		put(t, &cli{stdout: &bytes.Buffer{}}, "/proc/self/fd/"+strconv.Itoa(int(file.Fd())), "text")
		holds(t, path, "first text")
	})
}

func TestPlacesThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path, want string }{
		{"a folder", dir, "is a directory"},
		{"a folder that is not there", filepath.Join(dir, "nowhere", "pages.md"), "no such file or directory"},
		{"a link to itself", loop, "too many levels of symbolic links"},
	} {
		to, err := (&cli{}).findPlace(tc.path)
		if err == nil {
			_, err = to.open()
		}
		if err == nil || err.Error() != "write "+tc.path+": "+tc.want {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFailedWriteNamesTheFileOnce(t *testing.T) {
	const full = "/dev/full"
	out := begin(t, &cli{}, full)
	_, err := io.WriteString(out, "text")
	if err == nil || strings.Count(err.Error(), full) != 1 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
}
