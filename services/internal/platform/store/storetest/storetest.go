// Package storetest says what every driver of store does the same way, as tests
// that run on each, and makes empty databases for the tests of others.
//
// With the build tag backends, [Fresh] makes databases on the MySQL or MariaDB
// server of NANOCLAW_TEST_MYSQL_DSN, and without it SQLite files.
package storetest

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

// SQLite is a new empty SQLite database.
func SQLite(t testing.TB) store.Config {
	return store.Config{Service: "test-notes", Path: filepath.Join(t.TempDir(), "notes.db")}
}

// Open opens a database and closes it at the end of the test.
func Open(t testing.TB, cfg store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// Run runs every test on databases that fresh makes, one a test.
func Run(t *testing.T, fresh func(t testing.TB) store.Config) {
	for _, tests := range [][]test{writes, contexts, reads, schemas} {
		for _, tc := range tests {
			t.Run(tc.name, func(t *testing.T) {
				cfg := fresh(t)
				if cfg.Migrations == nil {
					cfg.Migrations = Notes()
				}
				tc.run(&world{T: t, cfg: cfg})
			})
		}
	}
}

type test struct {
	name string
	run  func(w *world)
}

// world is one test with a database.
type world struct {
	*testing.T
	cfg store.Config
}

func (w *world) open() *store.DB {
	w.Helper()
	return Open(w.T, w.cfg)
}

// createNotes is understood by every driver.
const createNotes = `CREATE TABLE notes (
	id BIGINT NOT NULL PRIMARY KEY, text VARCHAR(100) NOT NULL UNIQUE, parent BIGINT NULL,
	FOREIGN KEY (parent) REFERENCES notes(id)
);`

// Notes are migrations that make the table of [Note], and then take the steps.
func Notes(steps ...string) fstest.MapFS {
	return migrations(append([]string{createNotes}, steps...)...)
}

func migrations(steps ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, sql := range steps {
		files["0000"+string(rune('1'+i))+"_step.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)}
	}
	return files
}

// Note is a row of notes.
type Note struct {
	bun.BaseModel `bun:"table:notes"`

	ID     int64  `bun:"id,pk"`
	Text   string `bun:"text"`
	Parent *int64 `bun:"parent"`
}

// Insert is a closure of a write that stores a note.
func Insert(id int64, text string) func(context.Context, bun.IDB) error {
	return func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&Note{ID: id, Text: text}).Exec(ctx)
		return err
	}
}

// Texts are the texts of all notes, by their ids.
func Texts(t testing.TB, db *store.DB) []string {
	t.Helper()
	var got []string
	if err := db.Read().NewSelect().Model((*Note)(nil)).Column("text").Order("id").Scan(context.Background(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// have fails the test when the texts are not those.
func (w *world) have(db *store.DB, want ...string) {
	w.Helper()
	if got := Texts(w.T, db); !slices.Equal(got, want) {
		w.Errorf("rows = %q, want %q", got, want)
	}
}
