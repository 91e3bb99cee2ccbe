package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
)

// beside lists the files of a SQLite database; none on a server.
func beside(t *testing.T, cfg store.Config) (names []string) {
	t.Helper()
	if cfg.Path == "" {
		return nil
	}
	files, err := os.ReadDir(filepath.Dir(cfg.Path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestInspectTellsOfADatabaseAndLeavesItAlone(t *testing.T) {
	cfg := storetest.Fresh(t)
	cfg.Migrations = storetest.Notes()
	inspect := func() (store.Report, error) {
		t.Helper()
		before := beside(t, cfg)
		r, err := store.Inspect(context.Background(), cfg)
		if after := beside(t, cfg); !slices.Equal(before, after) {
			t.Errorf("files before %v, after %v", before, after)
		}
		return r, err
	}
	onServer := cfg.Driver == store.DriverMySQL

	r, err := inspect()
	if err != nil || r.Exists != onServer || r.Schema != 0 || r.Latest == 0 || r.Timed != onServer {
		t.Fatalf("before the first start: %+v, %v", r, err)
	}
	latest := r.Latest
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err = store.Inspect(context.Background(), cfg)
	if err != nil || !r.Exists || r.Schema != latest {
		t.Errorf("while it is open: %+v, %v", r, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = inspect()
	if err != nil || !r.Exists || r.Schema != latest || r.Latest != latest || r.Where == "" || r.Server == "" {
		t.Errorf("afterwards: %+v, %v", r, err)
	}

	now := cfg.Migrations
	cfg.Migrations = storetest.Notes("CREATE TABLE tomorrow (id BIGINT NOT NULL PRIMARY KEY);")
	r, err = inspect()
	if err != nil || r.Schema != latest || r.Latest <= latest {
		t.Errorf("before a migration: %+v, %v", r, err)
	}
	db, err = store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Migrations = now
	if _, err = inspect(); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("of a newer release: %v", err)
	}
}

func TestInspectSaysWhatOpenWould(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := store.Inspect(context.Background(), store.Config{Service: "notes", Path: path, Migrations: storetest.Notes()})
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v, want ErrCorrupt that names the file", err)
	}
	_, err = store.Inspect(context.Background(), store.Config{Service: "notes", Driver: store.DriverMySQL, DSN: "user:s3cr3t@tcp(127.0.0.1:1)/", Migrations: storetest.Notes()})
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("err = %v, want ErrUnavailable without the password", err)
	}
}

func TestWhoHoldsADataFolder(t *testing.T) {
	dir := t.TempDir()
	holds := func(want int) {
		t.Helper()
		if pid, err := store.Holder(dir); pid != want || err != nil {
			t.Errorf("holder = %d, %v; want %d", pid, err, want)
		}
	}
	holds(0)
	lock, err := store.LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	holds(os.Getpid())
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	holds(0)
	// A holder that was killed leaves its pid behind.
	if err := os.WriteFile(filepath.Join(dir, "nanoclaw.lock"), []byte("12345\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(0)
}
