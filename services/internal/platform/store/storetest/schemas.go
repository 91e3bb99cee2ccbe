package storetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

var schemas = []test{
	{"migrations go forward", forward},
	{"many who start at once migrate once", together},
	{"a folder named after the driver is preferred", folder},
	{"a database from the future is left alone", future},
	{"a broken step is named, and those before it stand", broken},
	{"files in a subfolder are not found", misplaced},
}

func forward(w *world) {
	w.open().Close()
	w.cfg.Migrations = Notes("ALTER TABLE notes ADD COLUMN colour VARCHAR(10) NOT NULL DEFAULT 'red';")
	db := w.open()
	if err := db.Write(context.Background(), Insert(1, "x")); err != nil {
		w.Fatal(err)
	}
	var colour string
	if err := db.Read().NewRaw("SELECT colour FROM notes").Scan(context.Background(), &colour); err != nil || colour != "red" {
		w.Errorf("colour = %q, %v", colour, err)
	}
	// A query for a struct of the old release still works on the new schema.
	var old Note
	if err := db.Read().NewRaw("SELECT * FROM notes").Scan(context.Background(), &old); err != nil || old.Text != "x" {
		w.Errorf("old struct = %+v, %v", old, err)
	}
	var version int
	if err := db.Read().NewRaw("SELECT max(version_id) FROM goose_test_notes").Scan(context.Background(), &version); err != nil || version != 2 {
		w.Errorf("version = %d, %v", version, err)
	}
}

// together has one process at a time on SQLite, where the lock of the data
// folder sees to that.
func together(w *world) {
	w.cfg.Migrations = Notes("CREATE TABLE extra (id BIGINT NOT NULL PRIMARY KEY);", "INSERT INTO extra (id) VALUES (1);")
	starts := 6
	if w.cfg.Driver != store.DriverMySQL {
		starts = 1
	}
	var calls sync.WaitGroup
	for range starts {
		calls.Go(func() {
			db, err := store.Open(context.Background(), w.cfg)
			if err != nil {
				w.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				w.Error(err)
			}
		})
	}
	calls.Wait()
	var n int
	if err := w.open().Read().NewRaw("SELECT COUNT(*) FROM goose_test_notes WHERE version_id > 0").Scan(context.Background(), &n); err != nil || n != 3 {
		w.Errorf("%d steps were noted, %v", n, err)
	}
}

func folder(w *world) {
	driver, other := store.DriverSQLite, store.DriverMySQL
	if w.cfg.Driver == store.DriverMySQL {
		driver, other = other, driver
	}
	w.cfg.Migrations = fstest.MapFS{
		driver + "/00001_notes.sql": Notes()["00001_step.sql"],
		other + "/00001_notes.sql":  {Data: []byte("-- +goose Up\nNOT FOR THIS DRIVER;")},
	}
	w.have(w.open())
}

func (w *world) refused(want ...string) error {
	w.Helper()
	_, err := store.Open(context.Background(), w.cfg)
	if err == nil {
		w.Fatal("want an error")
	}
	for _, want := range append(want, "store test-notes: open ") {
		if !strings.Contains(err.Error(), want) {
			w.Errorf("err = %v\nwant it to contain %q", err, want)
		}
	}
	return err
}

func future(w *world) {
	now := w.cfg.Migrations
	w.cfg.Migrations = Notes("CREATE TABLE tomorrow (id BIGINT NOT NULL PRIMARY KEY);")
	db := w.open()
	if err := db.Write(context.Background(), Insert(1, "of tomorrow")); err != nil {
		w.Fatal(err)
	}
	w.cfg.Migrations = now
	if err := w.refused("the database was written by a newer nanoclaw: version 2 > 1"); !errors.Is(err, store.ErrNewerSchema) {
		w.Errorf("err = %v", err)
	}
	w.have(db, "of tomorrow")
}

func broken(w *world) {
	w.open().Close()
	w.cfg.Migrations = Notes("CREATE TABLE extra (id BIGINT NOT NULL PRIMARY KEY);", "CREATE TABL oops;")
	if err := w.refused("migration 00003_step.sql failed", "syntax"); errors.Is(err, store.ErrNewerSchema) {
		w.Errorf("err = %v", err)
	}
	w.cfg.Migrations = nil
	db := w.open()
	for table, want := range map[string]bool{"extra": true, "oops": false} {
		if _, err := db.Read().NewSelect().Table(table).Count(context.Background()); (err == nil) != want {
			w.Errorf("%s: %v", table, err)
		}
	}
}

func misplaced(w *world) {
	w.cfg.Migrations = fstest.MapFS{"migrations/00001_a.sql": {Data: []byte("x")}}
	w.refused("embedded without fs.Sub?")
}
