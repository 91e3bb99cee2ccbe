package hostroot

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

// logs makes a folder with a log, links and other things, beside one that may not
// be read.
func logs(t *testing.T) (dir string) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "log")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "app"), 0o700),
		os.WriteFile(filepath.Join(dir, "app/1.log"), []byte("one\n"), 0o600),
		os.WriteFile(filepath.Join(top, "secret"), []byte("secret\n"), 0o600),
		os.MkdirAll(filepath.Join(top, "log-other"), 0o700),
		os.WriteFile(filepath.Join(top, "log-other/x"), []byte("secret\n"), 0o600),
		os.Symlink("app/1.log", filepath.Join(dir, "current")),
		os.Symlink("../secret", filepath.Join(dir, "out")),
		os.Symlink(filepath.Join(top, "secret"), filepath.Join(dir, "absolute")),
		os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFilesUnderARootAreRead(t *testing.T) {
	dir := logs(t)
	roots := Roots{filepath.Dir(dir) + "/nothing", dir}
	for _, name := range []string{"/app/1.log", "/current"} {
		f, info, err := roots.OpenFile(dir + name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		raw, err := io.ReadAll(f)
		if err != nil || string(raw) != "one\n" || info.Size() != 4 {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
		if _, err := f.WriteString("x"); err == nil {
			t.Errorf("%s can be written", name)
		}
		_ = f.Close()
	}
	for _, name := range []string{"", "/", "/app", "/app/"} {
		f, err := roots.OpenFolder(dir + name)
		if err != nil {
			t.Errorf("folder %q: %v", name, err)
			continue
		}
		_ = f.Close()
	}
}

func TestWhatLeadsOutOrIsNoFileIsRefused(t *testing.T) {
	dir := logs(t)
	roots := Roots{dir}
	for _, tc := range []struct {
		path, reason string
		code         codes.Code
	}{
		{dir + "/out", ReasonLinkOut, codes.FailedPrecondition},
		{dir + "/absolute", ReasonLinkOut, codes.FailedPrecondition},
		{dir + "/up/secret", ReasonLinkOut, codes.FailedPrecondition},
		{dir + "/loop", ReasonLinkOut, codes.FailedPrecondition},
		{dir + "/dangling", "NOT_FOUND", codes.NotFound},
		{dir + "/nothing", "NOT_FOUND", codes.NotFound},
		{dir + "/pipe", ReasonNotFile, codes.FailedPrecondition},
		{dir + "/app", ReasonIsFolder, codes.FailedPrecondition},
		{dir + "/app/1.log/x", ReasonNotFolder, codes.FailedPrecondition},
		{dir + "/../secret", "INVALID_ARGUMENT", codes.InvalidArgument},
		{dir + "/app/../../secret", "INVALID_ARGUMENT", codes.InvalidArgument},
		{dir + "//app", "INVALID_ARGUMENT", codes.InvalidArgument},
		{dir + "/a\x00b", "INVALID_ARGUMENT", codes.InvalidArgument},
		{"app/1.log", "INVALID_ARGUMENT", codes.InvalidArgument},
		{dir + "-other/x", ReasonNotAllowed, codes.PermissionDenied},
		{filepath.Dir(dir) + "/secret", ReasonNotAllowed, codes.PermissionDenied},
		{"/etc/passwd", ReasonNotAllowed, codes.PermissionDenied},
		{"/", ReasonNotAllowed, codes.PermissionDenied},
	} {
		_, _, err := roots.OpenFile(tc.path)
		if e, ok := rpcerr.As(err); !ok || e.Code() != tc.code || e.Reason() != tc.reason {
			t.Errorf("%q: %v, want %s %s", tc.path, err, tc.code, tc.reason)
		}
	}
	if _, err := roots.OpenFolder(dir + "/up"); rpcerr.Reason(err) != ReasonLinkOut {
		t.Errorf("a folder through a link that leads out: %v", err)
	}
	if _, err := roots.OpenFolder(dir + "/current"); rpcerr.Reason(err) != ReasonNotFolder {
		t.Errorf("a file as a folder: %v", err)
	}
	if _, _, err := (Roots)(nil).OpenFile("/var/log/syslog"); rpcerr.Reason(err) != ReasonNotAllowed {
		t.Errorf("without roots: %v", err)
	}
}
