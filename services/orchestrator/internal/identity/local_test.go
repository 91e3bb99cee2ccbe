package identity

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// local reads the token for this machine as a start does.
func local(t *testing.T, w *world) (token string) {
	t.Helper()
	token, err := w.LocalToken(t.Context(), "usr_ann", filepath.Join(w.dir, "local.token"))
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(w.dir, "local.token"))
	if err != nil || string(content) != token+"\n" {
		t.Fatalf("the file holds %q, %v", content, err)
	}
	info, err := os.Stat(filepath.Join(w.dir, "local.token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if p, err := w.Exchange(t.Context(), token); err != nil || p.UserID != "usr_ann" || !p.Has("tokens") {
		t.Errorf("the token is %+v, %v", p, err)
	}
	left, err := filepath.Glob(filepath.Join(w.dir, "local.token.*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return token
}

func TestTheTokenOfThisMachineStays(t *testing.T) {
	w := open(t)
	if first := local(t, w); local(t, w) != first {
		t.Error("every start makes a new one")
	}
}

func TestTheTokenOfThisMachineIsMadeAnew(t *testing.T) {
	file := func(w *world) string { return filepath.Join(w.dir, "local.token") }
	cases := []struct {
		name string
		do   func(t *testing.T, w *world, token string) error
	}{
		{"when its file is removed", func(_ *testing.T, w *world, _ string) error { return os.Remove(file(w)) }},
		{"when its file is emptied", func(_ *testing.T, w *world, _ string) error { return os.WriteFile(file(w), []byte("\n"), 0o600) }},
		{"when its file holds something else", func(_ *testing.T, w *world, _ string) error {
			return os.WriteFile(file(w), []byte("nc_"+strings.Repeat("x", 43)), 0o600)
		}},
		{"when its file holds a token of somebody else", func(t *testing.T, w *world, _ string) error {
			token, _, err := w.Create(t.Context(), auth.UserPrincipal("usr_bob", auth.ScopeAll), "t", []string{"*"}, 0)
			return errors.Join(err, os.WriteFile(file(w), []byte(token), 0o600))
		}},
		{"when its file holds a token of few scopes", func(t *testing.T, w *world, _ string) error {
			token, _, err := w.Create(t.Context(), ann, "t", []string{"chat"}, 0)
			return errors.Join(err, os.WriteFile(file(w), []byte(token), 0o600))
		}},
		{"when it is revoked", func(t *testing.T, w *world, token string) error {
			p, err := w.Exchange(t.Context(), token)
			return errors.Join(err, w.Delete(t.Context(), "usr_ann", p.TokenID))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			other, _, err := w.Create(t.Context(), ann, "local", nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			old := local(t, w)
			if err := c.do(t, w, old); err != nil {
				t.Fatal(err)
			}
			if local(t, w) == old {
				t.Fatal("it was not")
			}
			if _, err := w.Exchange(t.Context(), old); !errors.Is(err, ErrBadToken) {
				t.Errorf("the old one still works: %v", err)
			}
			if _, err := w.Exchange(t.Context(), other); err != nil {
				t.Errorf("a token that somebody made was revoked: %v", err)
			}
		})
	}
}

func TestAFileThatOthersCanReadIsClosed(t *testing.T) {
	w := open(t)
	token := local(t, w)
	if err := os.Chmod(filepath.Join(w.dir, "local.token"), 0o644); err != nil {
		t.Fatal(err)
	}
	if local(t, w) != token {
		t.Error("it was made anew")
	}
}

func TestATokenThatCannotBeKeptIsNotGiven(t *testing.T) {
	w := open(t)
	for name, path := range map[string]string{
		"a folder is in its place":  w.dir,
		"its folder does not exist": filepath.Join(w.dir, "none", "local.token"),
	} {
		if token, err := w.LocalToken(t.Context(), "usr_ann", path); err == nil || token != "" || strings.Contains(err.Error(), "nc_") {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
}
