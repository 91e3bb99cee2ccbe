package identity

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

var ann = auth.UserPrincipal("usr_ann", auth.ScopeAll)

func TestATokenIsItsUserWithItsScopes(t *testing.T) {
	w := open(t)
	token, row, err := w.Create(t.Context(), ann, "bot", []string{"tools", "chat", "tools"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Exchange(t.Context(), token)
	if err != nil || p.UserID != "usr_ann" || p.TokenID != row.ID || !slices.Equal(p.Scopes, []string{"chat", "tools"}) || p.Kind != auth.KindUser {
		t.Errorf("%+v, %v", p, err)
	}
	if !strings.HasPrefix(token, "nc_") || len(token) != 46 || row.Prefix != token[:9] || row.ExpiresAt != 0 {
		t.Errorf("token of %d characters, row %+v", len(token), row)
	}
}

func TestNoFileOfTheDatabaseHoldsAToken(t *testing.T) {
	dir := t.TempDir()
	w := over(t, schematest.OpenFile(t, filepath.Join(dir, "o.db")))
	token, row, err := w.Create(t.Context(), ann, "bot", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "o.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := false
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte(token)) || bytes.Contains(content, []byte(token[3:30])) {
			t.Errorf("%s holds the token", filepath.Base(f))
		}
		found = found || bytes.Contains(content, []byte(row.Hash))
	}
	if !found {
		t.Error("the hash is nowhere either: the test looks in the wrong place")
	}
}

func TestWhoGetsNoPrincipal(t *testing.T) {
	w := open(t)
	create := func(life time.Duration) (string, string) {
		token, row, err := w.Create(t.Context(), ann, "t", nil, life)
		if err != nil {
			t.Fatal(err)
		}
		return token, row.ID
	}
	fleeting, _ := create(24 * time.Hour)
	revoked, id := create(0)
	if err := w.Delete(t.Context(), "usr_ann", id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Exchange(t.Context(), fleeting); err != nil {
		t.Fatalf("before its end: %v", err)
	}
	w.now = w.now.Add(24 * time.Hour)
	good, _ := create(0)
	for name, token := range map[string]string{
		"expired": fleeting, "revoked": revoked, "empty": "", "without a prefix": good[3:], "cut": good[:len(good)-1],
		"of other letters": strings.ToUpper(good), "of nobody": "nc_" + strings.Repeat("A", 43), "with a space": good + " ", "a hash": "nc_" + hash(good),
	} {
		if p, err := w.Exchange(t.Context(), token); !errors.Is(err, ErrBadToken) || p.UserID != "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestNobodyGivesWhatTheyLack(t *testing.T) {
	w := open(t)
	few := auth.UserPrincipal("usr_bob", "chat", "tokens")
	cases := []struct {
		name   string
		by     auth.Principal
		asked  []string
		want   string
		lacked string
	}{
		{"the usual ones", ann, nil, "chat crawl fetch files search tools usage", ""},
		{"the usual ones, as far as one has them", few, nil, "chat", ""},
		{"one of one's own", few, []string{"chat"}, "chat", ""},
		{"one that one lacks", few, []string{"chat", "tools"}, "", "tools"},
		{"all of them", ann, []string{"*"}, "*", ""},
		{"all of them without having all", few, []string{"*"}, "", "*"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, row, err := w.Create(t.Context(), c.by, "t", c.asked, 0)
			if c.lacked == "" {
				if err != nil || row.Scopes != c.want || row.UserID != c.by.UserID {
					t.Errorf("%+v, %v", row, err)
				}
				return
			}
			if lacking, ok := errors.AsType[*ScopeError](err); !ok || lacking.Scope != c.lacked {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestATokenForNothingIsNotMade(t *testing.T) {
	w := open(t)
	if _, _, err := w.Create(t.Context(), auth.UserPrincipal("usr_bob", "tokens"), "t", nil, 0); !errors.Is(err, ErrNoScopes) {
		t.Errorf("%v", err)
	}
}

func TestATokenDoesNotOutliveTheOneThatMadeIt(t *testing.T) {
	const day = 24 * time.Hour
	cases := []struct {
		name         string
		parent, life time.Duration // 0: no end
		after        time.Duration // when the child is made
		end          time.Duration // of the child, from the beginning; 0: none
		refused      bool
	}{
		{"both without an end", 0, 0, 0, 0, false},
		{"a life of its own", 0, day, 0, day, false},
		{"a shorter life", 3 * day, day, day, 2 * day, false},
		{"the same end", 3 * day, 2 * day, day, 3 * day, false},
		{"a longer life", 3 * day, 2 * day, day + time.Minute, 0, true},
		{"no end asked for", 3 * day, 0, day, 3 * day, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			begun := w.now
			token, _, err := w.Create(t.Context(), ann, "parent", []string{"*"}, c.parent)
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Exchange(t.Context(), token)
			if err != nil || p.ExpiresAt.IsZero() != (c.parent == 0) {
				t.Fatalf("%+v, %v", p, err)
			}
			w.now = begun.Add(c.after)
			_, child, err := w.Create(t.Context(), p, "child", nil, c.life)
			if end, ok := errors.AsType[*EndError](err); c.refused {
				if !ok || !end.At.Equal(begun.Add(c.parent)) {
					t.Errorf("%v", err)
				}
				return
			}
			want := int64(0)
			if c.end != 0 {
				want = begun.Add(c.end).UnixMilli()
			}
			if err != nil || child.ExpiresAt != want {
				t.Errorf("the child ends at %d, want %d (%v)", child.ExpiresAt, want, err)
			}
		})
	}
}

func TestATokenThatHasEndedMakesNone(t *testing.T) {
	for name, end := range map[string]func(w *world, id string) error{
		"revoked": func(w *world, id string) error { return w.Delete(t.Context(), "usr_ann", id) },
		"expired": func(w *world, _ string) error { w.now = w.now.Add(24 * time.Hour); return nil },
	} {
		w := open(t)
		token, row, err := w.Create(t.Context(), ann, "t", []string{"*"}, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Exchange(t.Context(), token) // what a cache remembers
		if err := errors.Join(err, end(w, row.ID)); err != nil {
			t.Fatal(err)
		}
		if token, _, err := w.Create(t.Context(), p, "heir", nil, 0); !errors.Is(err, ErrBadToken) || token != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLastUseIsKeptToTheMinute(t *testing.T) {
	w := open(t)
	token, row, err := w.Create(t.Context(), ann, "t", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := w.now
	for _, c := range []struct{ after, noted time.Duration }{{0, 0}, {30 * time.Second, 0}, {time.Minute, 0}, {61 * time.Second, 61 * time.Second}} {
		w.now = begun.Add(c.after)
		if _, err := w.Exchange(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Get(t.Context(), "usr_ann", row.ID); err != nil || got.LastUsedAt != begun.Add(c.noted).UnixMilli() {
			t.Errorf("after %s: used at %d, %v", c.after, got.LastUsedAt, err)
		}
	}
}

func TestTokensOfOthersAreNotThere(t *testing.T) {
	w := open(t)
	token, row, err := w.Create(t.Context(), ann, "t", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Get(t.Context(), "usr_bob", row.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := w.Rename(t.Context(), "usr_bob", row.ID, "mine"); !errors.Is(err, ErrNotFound) {
		t.Errorf("rename: %v", err)
	}
	if err := w.Delete(t.Context(), "usr_bob", row.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
	if list, err := w.List(t.Context(), "usr_bob", "", 10); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	if _, err := w.Exchange(t.Context(), token); err != nil {
		t.Errorf("the token has suffered: %v", err)
	}
	if got, err := w.Rename(t.Context(), "usr_ann", row.ID, "bot"); err != nil || got.Name != "bot" || got.Hash != row.Hash {
		t.Errorf("rename by its owner: %+v, %v", got, err)
	}
}

func TestTokensAreListedNewestFirst(t *testing.T) {
	w := open(t)
	for i := range 5 {
		if _, _, err := w.Create(t.Context(), ann, fmt.Sprint(i), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	before := ""
	for {
		list, err := w.List(t.Context(), "usr_ann", before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, row := range list {
			names = append(names, row.Name)
			before = row.ID
		}
	}
	if got := strings.Join(names, ""); got != "43210" {
		t.Errorf("listed %s", got)
	}
}

func TestAUserHasABoundedNumberOfTokens(t *testing.T) {
	w := open(t)
	for range maxTokens {
		if _, _, err := w.Create(t.Context(), ann, "t", nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := w.Create(t.Context(), ann, "t", nil, 0); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
	if _, _, err := w.Create(t.Context(), auth.UserPrincipal("usr_bob", "*"), "t", nil, 0); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := w.LocalToken(t.Context(), "usr_ann", filepath.Join(w.dir, "local.token")); err != nil {
		t.Errorf("the server would not start: %v", err)
	}
}

func TestReplicasThatStartTogetherHaveOneOwner(t *testing.T) {
	w := open(t)
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, err := w.Owner(t.Context())
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	wg.Wait()
	if slices.Sort(ids); ids[0] == "" || ids[0] != ids[len(ids)-1] {
		t.Errorf("owners %q", ids)
	}
}

func TestThereIsOneOwner(t *testing.T) {
	w := open(t)
	first, err := w.Owner(t.Context())
	if err != nil || !strings.HasPrefix(first, "usr_") {
		t.Fatal(first, err)
	}
	if second, err := w.Owner(t.Context()); err != nil || second != first {
		t.Errorf("%s, then %s (%v)", first, second, err)
	}
}
