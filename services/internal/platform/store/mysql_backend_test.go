//go:build backends

package store_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
)

func TestMySQL(t *testing.T) { storetest.Run(t, storetest.MySQL) }

var ctx = context.Background()

func notes(t testing.TB) store.Config {
	cfg := storetest.MySQL(t)
	cfg.Migrations = storetest.Notes()
	return cfg
}

func TestSessionsAreAsOurSQLNeedsThem(t *testing.T) {
	db := storetest.Open(t, notes(t))
	isolation, readOnly := "transaction_isolation", "transaction_read_only"
	if strings.Contains(version(t, db), "MariaDB") {
		isolation, readOnly = "tx_isolation", "tx_read_only"
	}
	want := map[string]string{
		"sql_mode": "STRICT_ALL_TABLES", "time_zone": "+00:00", "character_set_client": "utf8mb4", "character_set_connection": "utf8mb4",
		"collation_connection": "utf8mb4_bin", isolation: "READ-COMMITTED", "innodb_lock_wait_timeout": "5",
	}
	check := func(who string, tx bun.IDB, name, want string) {
		var got string
		if err := tx.NewRaw("SELECT @@SESSION."+name).Scan(ctx, &got); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s = %s, want %s (%v)", who, name, got, want, err)
		}
	}
	for name, value := range want {
		check("reader", db.Read(), name, value)
	}
	check("reader", db.Read(), readOnly, "1")
	err := db.Write(ctx, func(_ context.Context, tx bun.IDB) error {
		for name, value := range want {
			check("writer", tx, name, value)
		}
		check("writer", tx, readOnly, "0")
		check("writer", tx, "autocommit", "0")
		check("writer", tx, "wait_timeout", "15")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := db.Write(ctx, storetest.Insert(1, strings.Repeat("x", 101))); err == nil || len(storetest.Texts(t, db)) != 0 {
		t.Errorf("a text that does not fit: %v", err)
	}
}

func version(t testing.TB, db *store.DB) (v string) {
	if err := db.Read().NewRaw("SELECT VERSION()").Scan(ctx, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestADatabaseIsMadeWhenTheDSNNamesNone(t *testing.T) {
	addr := storetest.Server(t)
	addr.DBName = ""
	service := "test-" + strings.ToLower(rand.Text()[:12])
	cfg := store.Config{Service: service, Driver: store.DriverMySQL, DSN: config.Secret(addr.FormatDSN()), Migrations: storetest.Notes()}
	name := "nanoclaw_" + strings.ReplaceAll(service, "-", "_")
	t.Cleanup(func() { storetest.Admin(t, "DROP DATABASE "+name) })
	var starts sync.WaitGroup
	for range 3 {
		starts.Go(func() {
			db, err := store.Open(ctx, cfg)
			if err != nil {
				t.Error(err)
				return
			}
			var database, collation string
			if err := db.Read().NewRaw("SELECT DATABASE(), @@collation_database").Scan(ctx, &database, &collation); err != nil || database != name || collation != "utf8mb4_bin" {
				t.Errorf("%s with %s, %v", database, collation, err)
			}
			_ = db.Close()
		})
	}
	starts.Wait()
}

// user makes a user that is dropped at the end of the test, and an address for
// it.
func user(t *testing.T, options string) *mysql.Config {
	addr := storetest.Server(t)
	addr.User, addr.Passwd = "nanoclaw_t_"+strings.ToLower(rand.Text()[:10]), "s3cr3t@/:x"
	storetest.Admin(t, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s' %s", addr.User, addr.Passwd, options))
	t.Cleanup(func() { storetest.Admin(t, fmt.Sprintf("DROP USER '%s'@'%%'", addr.User)) })
	return addr
}

func nameOf(t *testing.T, cfg store.Config) string {
	addr, err := mysql.ParseDSN(cfg.DSN.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return addr.DBName
}

func TestAStartThatIsDeniedSaysWhomWhatAndHow(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grant string // to the user on the database
		named bool
		wrong bool // password
		want  []string
	}{
		{"a wrong password", "ALL", true, true, []string{"user nanoclaw_t_", "password of the dsn"}},
		{"no right to the database", "", true, false, []string{"GRANT ALL ON `nanoclaw_test_", "TO 'nanoclaw_t_"}},
		{"no right to make one", "", false, false, []string{"CREATE DATABASE IF NOT EXISTS `nanoclaw_test_notes`", "GRANT ALL ON `nanoclaw_test_notes`"}},
		{"no right to make tables", "SELECT, INSERT", true, false, []string{"GRANT ALL ON `nanoclaw_test_"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := notes(t)
			addr := user(t, "")
			if tc.grant != "" {
				storetest.Admin(t, fmt.Sprintf("GRANT %s ON %s.* TO '%s'@'%%'", tc.grant, nameOf(t, cfg), addr.User))
			}
			addr.DBName = nameOf(t, cfg)
			if !tc.named {
				addr.DBName = ""
			}
			if tc.wrong {
				addr.Passwd += "!"
			}
			cfg.DSN = config.Secret(addr.FormatDSN())
			_, err := store.Open(ctx, cfg)
			if !errors.Is(err, store.ErrDenied) || strings.Contains(err.Error(), "s3cr3t") || strings.Count(err.Error(), store.ErrDenied.Error()) != 1 {
				t.Errorf("err = %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("err = %v\nwant it to contain %q", err, want)
				}
			}
		})
	}
}

func TestADatabaseThatTheDSNNamesMustBeThere(t *testing.T) {
	addr := storetest.Server(t)
	addr.DBName = "nanoclaw_test_none"
	_, err := store.Open(ctx, store.Config{Service: "test-notes", Driver: store.DriverMySQL, DSN: config.Secret(addr.FormatDSN())})
	if err == nil || !strings.Contains(err.Error(), "there is no database nanoclaw_test_none: create it, or name none in the dsn") {
		t.Errorf("err = %v", err)
	}
}

func TestAServerWithoutAConnectionLeftIsUnavailable(t *testing.T) {
	cfg := notes(t)
	addr := user(t, "WITH MAX_USER_CONNECTIONS 2")
	addr.DBName = nameOf(t, cfg)
	storetest.Admin(t, fmt.Sprintf("GRANT ALL ON %s.* TO '%s'@'%%'", addr.DBName, addr.User))
	holder, err := sql.Open("mysql", addr.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	for range 2 {
		conn, err := holder.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	cfg.DSN = config.Secret(addr.FormatDSN())
	if _, err := store.Open(ctx, cfg); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "max_connections") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("err = %v", err)
	}
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	cfg := notes(t)
	p := newProxy(t, cfg)
	now := version(t, storetest.Open(t, cfg))
	old := "0" + now[1:]
	p.rewrite.Store(&[2]string{now, old}) // of what the server says
	if _, err := store.Open(ctx, p.cfg); !errors.Is(err, store.ErrOldServer) || !strings.Contains(err.Error(), old) {
		t.Errorf("err = %v", err)
	}
}

func TestAFullTableIsAFullDisk(t *testing.T) {
	cfg := notes(t)
	cfg.Migrations = storetest.Notes("CREATE TABLE small (id BIGINT NOT NULL PRIMARY KEY, text CHAR(200) NOT NULL) ENGINE=MEMORY MAX_ROWS=10;")
	db := storetest.Open(t, cfg)
	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		if _, err := tx.ExecContext(ctx, "SET SESSION max_heap_table_size = 16384"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "ALTER TABLE small ENGINE=MEMORY"); err != nil { // takes the limit over
			return err
		}
		for id := range 10_000 {
			if _, err := tx.ExecContext(ctx, "INSERT INTO small VALUES (?, 'x')", id); err != nil {
				return fmt.Errorf("row %d: %w", id, err)
			}
		}
		return nil
	})
	if !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("err = %v", err)
	}
}

func TestAReplicaWaitsForAnotherThatMigrates(t *testing.T) {
	cfg := notes(t)
	// A migration that takes long, then another replica with more steps.
	cfg.Migrations = storetest.Notes("DO SLEEP(0.3);")
	first := make(chan error, 1)
	go func() {
		db, err := store.Open(ctx, cfg)
		if err == nil {
			err = db.Close()
		}
		first <- err
	}()
	more := cfg
	more.Migrations = storetest.Notes("DO SLEEP(0.3);", "INSERT INTO notes (id, text) VALUES (1, 'of the newer one');")
	if got := storetest.Texts(t, storetest.Open(t, more)); len(got) != 1 {
		t.Errorf("rows = %q", got)
	}
	// Whoever was later is refused when it is the older one, and not otherwise.
	if err := <-first; err != nil && !errors.Is(err, store.ErrNewerSchema) {
		t.Error(err)
	}
	if _, err := store.Open(ctx, cfg); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("an older replica: %v", err)
	}
}

// A closure that passes a failure over would go on without its transaction.
func TestAClosureThatHidesADeadlockIsRunAgainAsAWhole(t *testing.T) {
	cfg := notes(t)
	cfg.Migrations = storetest.Notes("CREATE TABLE counters (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);", "INSERT INTO counters (id, n) VALUES (0, 0), (1, 0);")
	db := storetest.Open(t, cfg)
	var runs atomic.Int64
	const goroutines, each = 8, 20
	var calls sync.WaitGroup
	for g := range goroutines {
		calls.Go(func() {
			for range each {
				err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
					runs.Add(1)
					for _, id := range []int{g % 2, 1 - g%2} {
						_, _ = tx.ExecContext(ctx, "UPDATE counters SET n = n + 1 WHERE id = ?", id)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	var counts []int
	if err := db.Read().NewSelect().Table("counters").Column("n").Order("id").Scan(ctx, &counts); err != nil {
		t.Fatal(err)
	}
	if counts[0] != goroutines*each || counts[1] != goroutines*each {
		t.Errorf("counters = %v after %d runs, want %d each", counts, runs.Load(), goroutines*each)
	}
	t.Logf("%d closures were run %d times", goroutines*each, runs.Load())
}

func TestAConnectionThatIsKilledIsAnotherAttempt(t *testing.T) {
	db := storetest.Open(t, notes(t))
	runs := 0
	err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		runs++
		if err := storetest.Insert(1, fmt.Sprint("attempt ", runs))(ctx, tx); err != nil {
			return err
		}
		if runs == 1 {
			var id int64
			if err := tx.NewRaw("SELECT CONNECTION_ID()").Scan(ctx, &id); err != nil {
				return err
			}
			storetest.Admin(t, fmt.Sprint("KILL ", id))
		}
		return storetest.Insert(2, "second")(ctx, tx)
	})
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
	if got := storetest.Texts(t, db); len(got) != 2 || got[0] != "attempt 2" {
		t.Errorf("rows = %q", got)
	}
}

func TestACommitWhoseAnswerIsLostIsNeitherRepeatedNorDenied(t *testing.T) {
	for _, tc := range []struct {
		name string
		cut  cut
		want int // rows
	}{
		{"the server never got it", before, 0},
		{"the server did it", after, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := notes(t)
			p := newProxy(t, cfg)
			db := storetest.Open(t, p.cfg)
			p.at("COMMIT", tc.cut)
			runs := 0
			err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
				runs++
				return storetest.Insert(1, "x")(ctx, tx)
			})
			if !errors.Is(err, store.ErrUnknownCommit) || store.IsUnavailable(err) || runs != 1 {
				t.Errorf("%d runs, %v", runs, err)
			}
			direct := storetest.Open(t, cfg)
			if got := storetest.Texts(t, direct); len(got) != tc.want {
				t.Errorf("rows = %q, want %d", got, tc.want)
			}
		})
	}
}

func TestAConnectionLostBeforeTheCommitIsAnotherAttempt(t *testing.T) {
	for _, statement := range []string{"START TRANSACTION", "INSERT"} {
		for name, cut := range map[string]cut{"before": before, "after": after} {
			t.Run(name+" "+statement, func(t *testing.T) {
				p := newProxy(t, notes(t))
				db := storetest.Open(t, p.cfg)
				p.at(statement, cut)
				if err := db.Write(ctx, storetest.Insert(1, "x")); err != nil {
					t.Error(err)
				}
				if got := storetest.Texts(t, db); len(got) != 1 {
					t.Errorf("rows = %q", got)
				}
			})
		}
	}
}

func TestADatabaseThatGoesAndComesBack(t *testing.T) {
	p := newProxy(t, notes(t))
	db := storetest.Open(t, p.cfg)
	if err := db.Write(ctx, storetest.Insert(1, "before")); err != nil {
		t.Fatal(err)
	}
	p.down()
	begun := time.Now()
	if err := db.Write(ctx, storetest.Insert(2, "meanwhile")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a write: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("a write was refused after %s", took)
	}
	if err := db.Read().NewSelect().Model(&storetest.Note{}).Where("id = 1").Scan(ctx); !store.IsUnavailable(err) {
		t.Errorf("a read: %v", err)
	}
	if _, err := store.Open(ctx, p.cfg); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a start: %v", err)
	}
	p.up()
	if err := db.Write(ctx, storetest.Insert(3, "after")); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
	if got := strings.Join(storetest.Texts(t, db), " "); got != "before after" {
		t.Errorf("rows = %q", got)
	}
}

func TestASlowDatabaseKeepsNobodyBeyondTheirDeadline(t *testing.T) {
	p := newProxy(t, notes(t))
	db := storetest.Open(t, p.cfg)
	for name, call := range map[string]func(ctx context.Context) error{
		"a write": func(ctx context.Context) error { return db.Write(ctx, storetest.Insert(1, "late")) },
		"a read": func(ctx context.Context) error {
			return db.Read().NewSelect().Model(&storetest.Note{}).Where("id = 1").Scan(ctx)
		},
		"a start": func(ctx context.Context) error { _, err := store.Open(ctx, p.cfg); return err },
	} {
		t.Run(name, func(t *testing.T) {
			p.stall(true)
			defer p.stall(false)
			ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			begun := time.Now()
			if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("err = %v", err)
			}
			if took := time.Since(begun); took > 8*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
	if err := db.Write(ctx, storetest.Insert(2, "next")); err != nil {
		t.Error(err)
	}
	if got := strings.Join(storetest.Texts(t, db), " "); got != "next" {
		t.Errorf("rows = %q", got)
	}
}

// BenchmarkMySQLWrite is one row of 1 KiB a write.
func BenchmarkMySQLWrite(b *testing.B) {
	text := strings.Repeat("x", 1000)
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("callers=", callers), func(b *testing.B) {
			cfg := storetest.MySQL(b)
			cfg.Migrations = storetest.Notes("CREATE TABLE blobs (id BIGINT NOT NULL PRIMARY KEY, text VARCHAR(2000) NOT NULL);")
			db := storetest.Open(b, cfg)
			var next atomic.Int64
			var calls sync.WaitGroup
			b.ResetTimer()
			for range callers {
				calls.Go(func() {
					for id := next.Add(1); id <= int64(b.N); id = next.Add(1) {
						err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
							_, err := tx.ExecContext(ctx, "INSERT INTO blobs (id, text) VALUES (?, ?)", id, text)
							return err
						})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			calls.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

func TestARowThatSomebodyElseIsAtIsLeftOut(t *testing.T) {
	db := storetest.Open(t, notes(t))
	if err := db.Write(ctx, storetest.Insert(1, "first")); err != nil {
		t.Fatal(err)
	}
	look := func(ctx context.Context, tx bun.IDB) (found int, err error) {
		var texts []string
		err = store.ForUpdateFree(tx.NewSelect().Table("notes").Column("text").Where("id = ?", 1)).Scan(ctx, &texts)
		return len(texts), err
	}
	err := db.Write(ctx, func(inner context.Context, tx bun.IDB) error {
		if n, err := look(inner, tx); n != 1 || err != nil {
			t.Errorf("a row that nobody is at: %d rows, %v", n, err)
		}
		begun := time.Now()
		err := db.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
			n, err := look(ctx, tx)
			if n != 0 {
				t.Errorf("a row that somebody is at: %d rows", n)
			}
			return err
		})
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("it was waited for: %s", took)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
