package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"
)

// childEnv makes the test binary act as a helper process on the named folder.
const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(runChild(child, os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

func migrations(upgrades ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, sql := range upgrades {
		files["0000"+string(rune('1'+i))+"_step.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql)}
	}
	return files
}

const createNotes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text VARCHAR(100) NOT NULL UNIQUE, parent INTEGER REFERENCES notes(id));"

type note struct {
	ID     int64  `bun:"id,pk"`
	Text   string `bun:"text"`
	Parent *int64 `bun:"parent"`
}

func testConfig(t testing.TB) Config {
	return Config{Service: "test-notes", Path: filepath.Join(t.TempDir(), "notes.db"), Migrations: migrations(createNotes)}
}

func open(t testing.TB, cfg Config) *DB {
	t.Helper()
	db, err := Open(context.Background(), cfg)
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

func group(db *DB) *writer { return db.writes.(*writer) }

func insert(id int64, text string) func(context.Context, bun.IDB) error {
	return func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&note{ID: id, Text: text}).Exec(ctx)
		return err
	}
}

func texts(t testing.TB, db *DB) []string {
	t.Helper()
	var got []string
	if err := db.Read().NewSelect().Model((*note)(nil)).Column("text").Order("id").Scan(context.Background(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}
