package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestMigrationsGoForward(t *testing.T) {
	cfg := testConfig(t)
	open(t, cfg).Close()
	cfg.Migrations = migrations(createNotes, "ALTER TABLE notes ADD COLUMN colour VARCHAR(10) NOT NULL DEFAULT 'red';")
	db := open(t, cfg)
	if err := db.Write(context.Background(), insert(1, "x")); err != nil {
		t.Fatal(err)
	}
	var colour string
	if err := db.Read().NewRaw("SELECT colour FROM notes").Scan(context.Background(), &colour); err != nil || colour != "red" {
		t.Errorf("colour = %q, %v", colour, err)
	}
	// A query for a struct of the old release still works on the new schema.
	var old note
	if err := db.Read().NewRaw("SELECT * FROM notes").Scan(context.Background(), &old); err != nil || old.Text != "x" {
		t.Errorf("old struct = %+v, %v", old, err)
	}
	var version int
	if err := db.Read().NewRaw("SELECT max(version_id) FROM goose_test_notes").Scan(context.Background(), &version); err != nil || version != 2 {
		t.Errorf("version = %d, %v", version, err)
	}
}

func TestAFolderNamedAfterTheDriverIsPreferred(t *testing.T) {
	cfg := testConfig(t)
	cfg.Migrations = fstest.MapFS{
		"sqlite/00001_notes.sql": migrations(createNotes)["00001_step.sql"],
		"mysql/00001_notes.sql":  {Data: []byte("-- +goose Up\nNOT FOR SQLITE;")},
	}
	if got := texts(t, open(t, cfg)); len(got) != 0 {
		t.Errorf("rows = %q", got)
	}
}

func TestMigrationErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		now  fstest.MapFS
		want []string
	}{
		{"a broken step is named and undone", migrations(createNotes, "CREATE TABLE extra (id INTEGER); CREATE TABL oops;"),
			[]string{"migration 00002_step.sql failed and was undone", "syntax error"}},
		{"a database from the future is left alone", migrations(createNotes),
			[]string{"the database was written by a newer nanoclaw: version 2 > 1"}},
		{"files in a subfolder are not found", fstest.MapFS{"migrations/00001_a.sql": {Data: []byte("x")}},
			[]string{"embedded without fs.Sub?"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := testConfig(t)
			before := cfg
			if strings.Contains(tc.name, "future") {
				before.Migrations = migrations(createNotes, "CREATE TABLE tomorrow (id INTEGER);")
			}
			open(t, before).Close()

			cfg.Migrations = tc.now
			_, err := Open(context.Background(), cfg)
			if err == nil {
				t.Fatal("want an error")
			}
			for _, want := range append(tc.want, cfg.Path, "store test-notes") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v\nwant it to contain %q", err, want)
				}
			}
			if strings.Contains(tc.name, "future") != errors.Is(err, ErrNewerSchema) {
				t.Errorf("ErrNewerSchema: %v", err)
			}
			cfg.Migrations = nil
			var tables int
			if err := open(t, cfg).Read().NewRaw("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").Scan(context.Background(), &tables); err != nil || tables != 0 {
				t.Errorf("%d tables left behind, %v", tables, err)
			}
		})
	}
}
