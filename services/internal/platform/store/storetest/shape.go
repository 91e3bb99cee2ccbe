package storetest

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

var (
	tableText = regexp.MustCompile(`(?s)CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(\n(.*?)\n\)`)
	indexText = regexp.MustCompile(`CREATE INDEX (\w+) ON (\w+) \((.*)\);`)
	spaces    = regexp.MustCompile(` +`)
)

// SameShape checks that the first migration of a service makes the same tables,
// columns and keys on every driver, and that the server's one can be run again
// and compares bytes. known names a line of each of some tables, such as
// "UNIQUE (task_id, url_key)": a reader that saw nothing would find no difference.
func SameShape(t *testing.T, migrations fs.FS, known map[string]string) {
	t.Helper()
	sqlite, mysql := initial(t, migrations, store.DriverSQLite), initial(t, migrations, store.DriverMySQL)
	want, got := shape(sqlite), shape(mysql)
	for table, line := range known {
		if !slices.Contains(want[table], line) {
			t.Errorf("%s has no %q, but %q", table, line, want[table])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("(-sqlite +mysql):\n%s", diff)
	}
	for _, each := range []string{"CREATE TABLE IF NOT EXISTS ", ") ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;", "DROP TABLE IF EXISTS "} {
		if n := strings.Count(mysql, each); n != len(got) {
			t.Errorf("%q stands %d times for %d tables", each, n, len(got))
		}
	}
}

func initial(t *testing.T, migrations fs.FS, driver string) string {
	t.Helper()
	text, err := fs.ReadFile(migrations, driver+"/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shape is what a migration makes: for each table its columns without their
// types, and its keys.
func shape(migration string) map[string][]string {
	tables := map[string][]string{}
	for _, m := range tableText.FindAllStringSubmatch(migration, -1) {
		for line := range strings.SplitSeq(m[2], "\n") {
			words := strings.SplitN(spaces.ReplaceAllString(strings.Trim(line, " ,"), " "), " ", 3)
			if words[0] == strings.ToLower(words[0]) { // a column
				words = append(words[:1], words[2:]...)
			}
			tables[m[1]] = append(tables[m[1]], strings.Join(words, " "))
		}
	}
	for _, m := range indexText.FindAllStringSubmatch(migration, -1) {
		tables[m[2]] = append(tables[m[2]], "INDEX "+m[1]+" ("+m[3]+")")
	}
	for _, lines := range tables {
		slices.Sort(lines)
	}
	return tables
}
