package workspace

import (
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

// badPaths must never reach the file system.
var badPaths = []struct{ name, path string }{
	{"nothing", ""},
	{"the folder above", ".."},
	{"up at the beginning", "../x"},
	{"up in the middle", "a/../../x"},
	{"up at the end", "a/.."},
	{"up that stays inside", "a/../b"},
	{"up as an address writes it", "%2e%2e/x"},
	{"up as an address writes it, half", ".%2E/x"},
	{"the folder itself", "."},
	{"the folder itself in the middle", "a/./b"},
	{"from the root", "/etc/passwd"},
	{"from the root of a share", "//server/x"},
	{"back slashes", `a\b`},
	{"up with back slashes", `..\x`},
	{"a drive", `C:\x`},
	{"a zero byte", "a\x00b"},
	{"a zero byte that would cut the end off", "a.txt\x00/../../x"},
	{"a slash at the end", "a/"},
	{"two slashes", "a//b"},
	{"a name of 256 bytes", strings.Repeat("x", 256)},
	{"a name of 256 bytes in letters of three", strings.Repeat("国", 86)},
	{"65 names", strings.Repeat("a/", 64) + "a"},
	{"bytes that are no UTF-8", "a\xff"},
}

func TestBadPathsAreRefusedByEveryOperation(t *testing.T) {
	s := newStore(t, roomy)
	s.mustWrite(t, ws, "a/b", "x")
	for _, tc := range badPaths {
		t.Run(tc.name, func(t *testing.T) {
			_, err := s.read(ann, ws, tc.path)
			mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			_, err = s.write(ann, ws, tc.path, "x")
			mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			mustBe(t, s.Delete(t.Context(), ann, ws, tc.path, true), codes.InvalidArgument, "INVALID_ARGUMENT")
			if tc.path != "" { // to list, it is the workspace itself
				_, err = s.List(t.Context(), ann, ws, tc.path, "", 10)
				mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
			}
		})
	}
	equal(t, names(s.all(t, ws, "", 10)), []string{"a"})
}

func TestUnusualNamesAreKeptExactly(t *testing.T) {
	s := newStore(t, roomy)
	for _, name := range []string{
		"-rf", "--", "a b", "a\nb", "a\tb", "\u202etxt.exe", "…", "...", "..a", "a..", "%2e%2e.txt", "~", "$(id)", "`id`", "*", "con", "a:b", "'\"",
		strings.Repeat("x", 255), strings.Repeat("d/", 63) + "x", "e\u0301", "\u00e9", "<script>", "\x1b[2J",
	} {
		done, err := s.write(ann, ws, name, name)
		if err != nil {
			t.Errorf("write %q: %v", name, err)
			continue
		}
		if got, err := s.read(ann, ws, name); err != nil || got != name || done.Path != name {
			t.Errorf("%q is %q at %q, %v", name, got, done.Path, err)
		}
		must(t, s.Delete(t.Context(), ann, ws, name, false))
	}
}

func TestWorkspacesAreNamedAsInTheContract(t *testing.T) {
	s := newStore(t, roomy)
	for _, id := range []string{"", ".", "..", "a/b", "../x", "-a", "_a", "a.b", "a b", "=a", strings.Repeat("a", 65), "a\x00", "é"} {
		_, err := s.write(ann, id, "a", "x")
		mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		_, err = s.read(ann, id, "a")
		mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		_, _, err = s.Use(ann, id)
		mustBe(t, err, codes.InvalidArgument, "INVALID_ARGUMENT")
		mustBe(t, s.DeleteWorkspace(t.Context(), ann, id), codes.InvalidArgument, "INVALID_ARGUMENT")
	}
}

func TestUsersOfAnyIDHaveFoldersOfTheirOwn(t *testing.T) {
	s := newStore(t, roomy)
	users := []string{"a", "../a", "a/b", ".staging", ".", "..", "", "ann@example.com", "a\x00", "=a", strings.Repeat("u", 300), "A"}
	for _, user := range users {
		if _, err := s.write(user, ws, "mine", user); err != nil {
			t.Fatalf("user %q: %v", user, err)
		}
	}
	seen := map[string]string{}
	for _, user := range users {
		if got, err := s.read(user, ws, "mine"); err != nil || got != user {
			t.Errorf("user %q reads %q, %v", user, got, err)
		}
		folder := userFolder(user)
		if other, taken := seen[folder]; taken || filepath.Base(folder) != folder {
			t.Errorf("users %q and %q have the folder %q", user, other, folder)
		}
		seen[folder] = user
	}
}

func FuzzLocate(f *testing.F) {
	for _, tc := range badPaths {
		f.Add(tc.path)
	}
	f.Add("a/b.txt")
	f.Fuzz(func(t *testing.T, path string) {
		l, err := locate(path)
		if err != nil {
			return
		}
		if l.String() != path || !filepath.IsLocal(path) || filepath.Clean(path) != path || len(l) > maxDepth {
			t.Fatalf("%q is taken as %q", path, l)
		}
	})
}
