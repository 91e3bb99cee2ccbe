package schema_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

var (
	tableText = regexp.MustCompile(`(?s)CREATE TABLE (?:IF NOT EXISTS )?(\w+) \(\n(.*?)\n\)`)
	indexText = regexp.MustCompile(`CREATE INDEX (\w+) ON (\w+) \((.*)\);`)
	spaces    = regexp.MustCompile(` +`)
)

// shape is what a migration makes: for each table its columns without their
// types, and its keys.
func shape(t *testing.T, driver string) map[string][]string {
	t.Helper()
	text, err := fs.ReadFile(schema.Migrations(), driver+"/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	for _, m := range tableText.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.SplitSeq(m[2], "\n") {
			words := strings.SplitN(spaces.ReplaceAllString(strings.Trim(line, " ,"), " "), " ", 3)
			if words[0] == strings.ToLower(words[0]) { // a column
				words = append(words[:1], words[2:]...)
			}
			tables[m[1]] = append(tables[m[1]], strings.Join(words, " "))
		}
	}
	for _, m := range indexText.FindAllStringSubmatch(string(text), -1) {
		tables[m[2]] = append(tables[m[2]], "INDEX "+m[1]+" ("+m[3]+")")
	}
	for _, lines := range tables {
		slices.Sort(lines)
	}
	return tables
}

func TestEveryDriverHasTheSameTablesColumnsAndKeys(t *testing.T) {
	sqlite, mysql := shape(t, "sqlite"), shape(t, "mysql")
	if len(sqlite) < 10 || !slices.Contains(sqlite["crawl_tasks"], "INDEX crawl_tasks_user (user_id, id)") || !slices.Contains(sqlite["crawl_results"], "UNIQUE (task_id, url_key)") {
		t.Fatalf("the test reads the migration wrongly: %q", sqlite)
	}
	if diff := cmp.Diff(sqlite, mysql); diff != "" {
		t.Errorf("(-sqlite +mysql):\n%s", diff)
	}
}

func TestTheServersMigrationCanBeRunAgainAndComparesBytes(t *testing.T) {
	text, err := fs.ReadFile(schema.Migrations(), "mysql/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(text), "CREATE TABLE")
	for _, each := range []string{"CREATE TABLE IF NOT EXISTS ", ") ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;", "DROP TABLE IF EXISTS "} {
		if got := strings.Count(string(text), each); got != n {
			t.Errorf("%q stands %d times for %d tables", each, got, n)
		}
	}
}
