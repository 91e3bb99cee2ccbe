package world

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", to look into the suite's databases
)

// The databases of the services, in the data folder. Users are in the first.
var databaseFiles = []string{"orchestrator.db", "taskmanager.db", "sandbox.db"}

// folders of files beside them.
var folders = []string{"blobs", "workspaces"}

// User is somebody beside the deployment's owner.
type User struct {
	ID, Name string
	dataDir  string
}

// AddUser writes a user into the database of a data folder in which a suite ran
// before. The product itself makes one user only, its owner.
func AddUser(t testing.TB, dataDir, name string) User {
	t.Helper()
	u := User{ID: "usr_" + name, Name: name, dataDir: dataDir}
	writeRow(t, dataDir, "INSERT INTO users (id, name, created_at) VALUES (?, ?, ?)", u.ID, u.Name, time.Now().UnixMilli())
	return u
}

// Token gives the user an API token with the scopes. As in the product, only its
// hash is stored.
func (u User) Token(t testing.TB, name string, scopes ...string) string {
	t.Helper()
	token := fmt.Sprintf("nc_%s_%s_%s", u.Name, name, strings.Repeat("x", 24))
	sum := sha256.Sum256([]byte(token))
	writeRow(t, u.dataDir, `INSERT INTO api_tokens (id, user_id, name, hash, prefix, scopes, created_at, expires_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0)`,
		"tok_"+u.Name+"_"+name, u.ID, name, hex.EncodeToString(sum[:]), token[:9], strings.Join(scopes, " "), time.Now().UnixMilli())
	return token
}

func writeRow(t testing.TB, dataDir, query string, args ...any) {
	t.Helper()
	db := openDatabase(t, dataDir, databaseFiles[0])
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func openDatabase(t testing.TB, dataDir, name string) *sql.DB {
	t.Helper()
	dsn := url.URL{Scheme: "file", Path: filepath.Join(dataDir, name), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Stored is everything that a data folder holds: a line "table: column=value ..."
// for each row and a line for each stored file, sorted. When a token was last
// used is left out: whoever shows a token changes that.
func Stored(t testing.TB, dataDir string) []string {
	t.Helper()
	var lines []string
	for _, name := range databaseFiles {
		lines = append(lines, databaseRows(t, dataDir, name)...)
	}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(dataDir, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				lines = append(lines, "file: "+strings.TrimPrefix(path, dataDir))
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // made with the first file
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(lines)
	return lines
}

func databaseRows(t testing.TB, dataDir, name string) (lines []string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dataDir, name)); err != nil {
		t.Fatal(err)
	}
	db := openDatabase(t, dataDir, name)
	defer db.Close()
	for _, table := range column(t, db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		lines = append(lines, tableRows(t, db, table)...)
	}
	return lines
}

func tableRows(t testing.TB, db *sql.DB, table string) []string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	columns, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for found.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := found.Scan(values...); err != nil {
			t.Fatal(err)
		}
		line := table + ":"
		for i, name := range columns {
			if name != "last_used_at" {
				line += fmt.Sprintf(" %s=%q", name, fmt.Sprint(*values[i].(*any)))
			}
		}
		lines = append(lines, line)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func column(t testing.TB, db *sql.DB, query string) []string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	var all []string
	for found.Next() {
		var s string
		if err := found.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
