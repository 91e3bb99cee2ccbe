//go:build backends

package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
)

// MySQLEnv names a server on which the tests may make and drop databases named
// nanoclaw_test_*. Without it that is the one at the standard local port.
const MySQLEnv = "NANOCLAW_TEST_MYSQL_DSN"

const localServer = "root@tcp(127.0.0.1:3306)/"

// Fresh is a new empty database of the lane that the test runs in.
func Fresh(t testing.TB) store.Config { return MySQL(t) }

// MySQL is a new empty database on the server, dropped at the end of the test.
func MySQL(t testing.TB) store.Config {
	t.Helper()
	addr := Server(t)
	addr.DBName = "nanoclaw_test_" + strings.ToLower(rand.Text()[:16])
	Admin(t, "CREATE DATABASE "+addr.DBName+" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	t.Cleanup(func() { Admin(t, "DROP DATABASE "+addr.DBName) })
	return store.Config{Service: "test-notes", Driver: store.DriverMySQL, DSN: config.Secret(addr.FormatDSN())}
}

// Server is the address of the server.
func Server(t testing.TB) *mysql.Config {
	t.Helper()
	dsn := os.Getenv(MySQLEnv)
	if dsn == "" {
		dsn = localServer
	}
	addr, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("%s: %v", MySQLEnv, err)
	}
	return addr
}

// Admin runs a statement on the server, outside of any database.
func Admin(t testing.TB, statement string) {
	t.Helper()
	addr := Server(t)
	addr.DBName = ""
	connector, err := mysql.NewConnector(addr)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatalf("%s at %s: %v (start a server, or name one in %s)", statement, addr.Addr, err, MySQLEnv)
	}
}
