package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uptrace/bun"
)

func TestSettingsAreReallyApplied(t *testing.T) {
	for _, tc := range []struct {
		name        string
		synchronous Synchronous
		want        string
	}{
		{"default is NORMAL", "", "1"},
		{"NORMAL", SyncNormal, "1"},
		{"FULL", SyncFull, "2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.Synchronous = tc.synchronous
			db := open(t, cfg)
			for pragma, want := range map[string]string{
				"synchronous": tc.want, "journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000",
				"query_only": "0", "wal_autocheckpoint": "4000", "journal_size_limit": "67108864",
			} {
				var got string
				err := db.Write(context.Background(), func(ctx context.Context, tx bun.IDB) error {
					return tx.NewRaw("PRAGMA "+pragma).Scan(ctx, &got)
				})
				if err != nil || got != want {
					t.Errorf("writer: %s = %q (%v), want %q", pragma, got, err, want)
				}
			}
			for pragma, want := range map[string]string{"query_only": "1", "journal_mode": "wal", "foreign_keys": "1"} {
				var got string
				if err := db.Read().NewRaw("PRAGMA "+pragma).Scan(context.Background(), &got); err != nil || got != want {
					t.Errorf("reader: %s = %q (%v), want %q", pragma, got, err, want)
				}
			}
		})
	}
}

func TestFilesBelongToTheirOwnerAlone(t *testing.T) {
	cfg := testConfig(t)
	if err := os.WriteFile(cfg.Path, nil, 0o644); err != nil { // left too open by a copy
		t.Fatal(err)
	}
	db := open(t, cfg)
	if err := db.Write(context.Background(), insert(1, "x")); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(cfg.Path + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("notes.db%s: mode %v, %v", suffix, info.Mode(), err)
		}
	}
}

func TestAPathWithOddCharactersIsOneFile(t *testing.T) {
	cfg := testConfig(t)
	cfg.Path = filepath.Join(t.TempDir(), "a b?c#d%41é.db")
	db := open(t, cfg)
	if err := db.Write(context.Background(), insert(1, "x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(cfg.Path); err != nil || info.Size() == 0 {
		t.Errorf("%s: %v, %v", cfg.Path, info, err)
	}
}

func TestConfigErrors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no service", func(c *Config) { c.Service = "" }, `store: service name "": want lower-case letters, digits, - and _`},
		{"service that is no identifier", func(c *Config) { c.Service = "a; drop" }, `service name "a; drop"`},
		{"driver of another day", func(c *Config) { c.Driver = "postgres" }, `store test-notes: driver "postgres" is not supported; supported: sqlite, mysql`},
		{"path for mysql", func(c *Config) { c.Driver, c.DSN = "mysql", "u@tcp(127.0.0.1:1)/" }, "takes a dsn, not a path"},
		{"no dsn for mysql", func(c *Config) { c.Driver, c.Path = "mysql", "" }, "want user:password@tcp(host:port)/database"},
		{"no path", func(c *Config) { c.Path = "" }, "path of the database file is empty"},
		{"dsn for sqlite", func(c *Config) { c.DSN = "x" }, "takes a path, not a dsn"},
		{"synchronous OFF", func(c *Config) { c.Synchronous = "OFF" }, `synchronous "OFF": want NORMAL or FULL`},
		{"negative pool", func(c *Config) { c.Readers = -1 }, "cannot be negative"},
		{"missing folder", func(c *Config) { c.Path = filepath.Join(c.Path, "no", "x.db") }, "no such file or directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig(t)
			tc.change(&cfg)
			_, err := Open(context.Background(), cfg)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want it to contain %q", err, tc.want)
			}
		})
	}
}

func TestACorruptFileIsNamedAsSuch(t *testing.T) {
	for name, content := range map[string]string{
		"text":              strings.Repeat("this is no database\n", 500),
		"header then noise": "SQLite format 3\x00" + strings.Repeat("\xa5", 8000),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			if err := os.WriteFile(cfg.Path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(context.Background(), cfg)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), cfg.Path) {
				t.Errorf("err = %v", err)
			}
			if left, _ := os.ReadFile(cfg.Path); string(left) != content {
				t.Error("the file must be left as it was")
			}
		})
	}
}

func TestAFullDiskIsNamedAsSuchAndNothingIsWritten(t *testing.T) {
	db := open(t, testConfig(t))
	ctx := context.Background()
	// A page limit makes SQLite see a full disk.
	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var pages int
		if err := tx.NewRaw("PRAGMA page_count").Scan(ctx, &pages); err != nil {
			return err
		}
		return tx.NewRaw("PRAGMA max_page_count = "+strconv.Itoa(pages+1)).Scan(ctx, &pages)
	})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, db)
	var calls sync.WaitGroup
	var small, big error
	queued(&calls,
		func() { small = db.Write(ctx, insert(1, "small")) },
		func() { big = db.Write(ctx, insert(2, strings.Repeat("x", 100<<10))) },
	)
	if err := release(); err != nil {
		t.Errorf("holding write: %v", err)
	}
	calls.Wait()
	if small != nil {
		t.Errorf("the neighbour that fits: %v", small)
	}
	if !errors.Is(big, ErrDiskFull) {
		t.Errorf("the write that does not fit: %v", big)
	}
	if got := texts(t, db); len(got) != 1 || got[0] != "small" {
		t.Errorf("%d rows", len(got))
	}
}

// TestCommittedMeansPresentAfterKill9 lets a child process write from many
// goroutines, kills it at a random point, and looks for every row that the child
// had reported as committed.
func TestCommittedMeansPresentAfterKill9(t *testing.T) {
	cfg := testConfig(t)
	cfg.Synchronous = SyncFull
	seen := 0
	for round := range 3 {
		child := exec.Command(os.Args[0], cfg.Path)
		child.Env = append(os.Environ(), childEnv+"=writer")
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		var committed []int64
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			id, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				break // the last line, cut by the kill
			}
			committed = append(committed, id)
			if len(committed) == 150+100*round {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait()
		if len(committed) < 150 {
			t.Fatalf("the child wrote only %d rows", len(committed))
		}

		db, err := Open(context.Background(), cfg)
		if err != nil {
			t.Fatalf("open after kill: %v", err)
		}
		for _, id := range committed {
			if n, err := db.Read().NewSelect().Model((*note)(nil)).Where("id = ?", id).Count(context.Background()); err != nil || n != 1 {
				t.Errorf("round %d: committed row %d: %d, %v", round, id, n, err)
			}
		}
		var integrity string
		if err := db.Read().NewRaw("PRAGMA integrity_check").Scan(context.Background(), &integrity); err != nil || integrity != "ok" {
			t.Errorf("integrity = %q, %v", integrity, err)
		}
		seen += len(committed)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d committed rows checked over 3 kills", seen)
}

// runChild is the helper process. It returns only on an error.
func runChild(task, arg string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	if task == "locker" {
		lock, err := LockDir(arg)
		if err != nil {
			return fail(err)
		}
		fmt.Println("locked")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the parent closes it
		if err := lock.Unlock(); err != nil {
			return fail(err)
		}
		return 0
	}
	db, err := Open(context.Background(), Config{Service: "test-notes", Path: arg, Synchronous: SyncFull, Migrations: migrations(createNotes)})
	if err != nil {
		return fail(err)
	}
	var last int64
	if err := db.Read().NewRaw("SELECT coalesce(max(id), 0) FROM notes").Scan(context.Background(), &last); err != nil {
		return fail(err)
	}
	const writers = 16
	failed := make(chan error)
	for g := range int64(writers) {
		go func() {
			for id := last + 1 + g; ; id += writers {
				if err := db.Write(context.Background(), insert(id, fmt.Sprint("row ", id))); err != nil {
					failed <- err
					return
				}
				fmt.Println(id)
			}
		}()
	}
	return fail(<-failed)
}
