package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

func mysqlConfig(dsn string) Config {
	return Config{Service: "test-notes", Driver: DriverMySQL, DSN: config.Secret(dsn)}
}

func TestWhatOurSQLReliesOnHoldsWhateverTheDSNSays(t *testing.T) {
	addr, err := parseAddress(mysqlConfig("u:p@tcp(db:3307)/?parseTime=true&multiStatements=true&clientFoundRows=false&allowAllFiles=true&charset=latin1" +
		"&collation=utf8mb4_general_ci&sql_mode=%27NO_BACKSLASH_ESCAPES%27&time_zone=%27%2B08:00%27&autocommit=1&wait_timeout=77&readTimeout=3s&tls=skip-verify"))
	if err != nil {
		t.Fatal(err)
	}
	mariaDB, err := parseServer("10.11.19-MariaDB")
	if err != nil {
		t.Fatal(err)
	}
	mySQL, err := parseServer("8.4.2")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		cfg  *mysql.Config
		want map[string]string
	}{
		"writing to MariaDB": {addr.forWriting(mariaDB), map[string]string{"autocommit": "0", "tx_isolation": "'READ-COMMITTED'", "max_recursive_iterations": "100000"}},
		"reading MariaDB":    {addr.forReading(mariaDB), map[string]string{"tx_read_only": "1"}},
		"writing to MySQL":   {addr.forWriting(mySQL), map[string]string{"autocommit": "0", "transaction_isolation": "'READ-COMMITTED'", "cte_max_recursion_depth": "100000"}},
		"reading MySQL":      {addr.forReading(mySQL), map[string]string{"transaction_read_only": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := tc.cfg
			if !c.ClientFoundRows || c.MultiStatements || c.ParseTime || c.AllowAllFiles || !c.InterpolateParams || c.Collation != "utf8mb4_bin" {
				t.Errorf("%+v", c)
			}
			if !strings.Contains(c.FormatDSN(), "charset=utf8mb4&") {
				t.Errorf("charset of %s", c.FormatDSN())
			}
			if c.DBName != "nanoclaw_test_notes" || c.Addr != "db:3307" || c.Timeout != 5*time.Second || c.ReadTimeout != 3*time.Second || c.WriteTimeout != 30*time.Second || c.TLSConfig != "skip-verify" {
				t.Errorf("%+v", c)
			}
			for name, want := range map[string]string{"time_zone": "'+00:00'", "wait_timeout": "77", "innodb_lock_wait_timeout": "5"} {
				if c.Params[name] != want {
					t.Errorf("%s = %s, want %s", name, c.Params[name], want)
				}
			}
			for name, want := range tc.want {
				if c.Params[name] != want {
					t.Errorf("%s = %s, want %s", name, c.Params[name], want)
				}
			}
			if mode := c.Params["sql_mode"]; !strings.Contains(mode, "STRICT_ALL_TABLES") || strings.Contains(mode, "NO_BACKSLASH") {
				t.Errorf("sql_mode = %s", mode)
			}
		})
	}
	if _, sets := addr.forReading(mariaDB).Params["autocommit"]; sets && addr.forReading(mariaDB).Params["autocommit"] == "0" {
		t.Error("a reader would keep a snapshot open")
	}
	if c := addr.forMigrating(mariaDB); c.ReadTimeout != 0 || c.MultiStatements {
		t.Errorf("migrating: %+v", c)
	}
}

func TestNoErrorShowsThePassword(t *testing.T) {
	const password = "hun/ter@2:)?x"
	for name, dsn := range map[string]string{
		"without a slash":        "root:" + password + "@tcp(127.0.0.1:3306)",
		"with a parameter":       "root:" + password + "@tcp(127.0.0.1:3306)/db?timeout=" + password,
		"unescaped in the name":  "root:" + password + "@tcp(127.0.0.1:3306)/%zz",
		"a url":                  "mysql://root:" + password + "@127.0.0.1:3306/db",
		"an address not closed":  "root:" + password + "@tcp(127.0.0.1:3306/db",
		"a network that is none": "root:" + password + "@" + password + "/db",
		"no user":                ":" + password + "@tcp(127.0.0.1:3306)/db",
		"a strange name":         "root@tcp(127.0.0.1:3306)/" + strings.ReplaceAll(password, "?", ""),
		"nobody answers":         "root:" + password + "@tcp(127.0.0.1:1)/",
		"unknown TLS":            "root:" + password + "@tcp(127.0.0.1:1)/?tls=" + password,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := mysqlConfig(dsn)
			_, err := Open(context.Background(), cfg)
			if err == nil {
				t.Fatal("want an error")
			}
			if text := fmt.Sprintf("%v %+v %v", err, err, cfg); strings.Contains(text, "hun") || strings.Contains(text, "ter@2") {
				t.Errorf("%s", text)
			}
			if !strings.HasPrefix(err.Error(), "store test-notes: ") {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestAServerThatIsNotThereIsUnavailableAtOnce(t *testing.T) {
	begun := time.Now()
	_, err := Open(context.Background(), mysqlConfig("nina:pw@tcp(127.0.0.1:1)/notes"))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "open nina@tcp(127.0.0.1:1)/notes: the database is not available: ") {
		t.Errorf("err = %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestAServerThatIsSilentIsUnavailableInTime(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	_, err = Open(context.Background(), mysqlConfig("nina:pw@tcp("+silent.Addr().String()+")/?timeout=100ms"))
	if !errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 100ms") {
		t.Errorf("err = %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err = Open(ctx, mysqlConfig("nina:pw@tcp("+silent.Addr().String()+")/")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a ctx that ends: %v", err)
	}
}

func TestOldServersAreRefused(t *testing.T) {
	for version, ok := range map[string]bool{
		"8.0.36": true, "8.4.2-commercial": true, "9.1.0": true, "10.6.0-MariaDB": true, "10.11.19-MariaDB-0+deb12u1": true, "11.4.2-MariaDB-log": true,
		"5.5.5-10.11.2-MariaDB": true, "12.0.1-MariaDB": true,
		"5.7.44-log": false, "5.5.5-10.5.1-MariaDB": false, "10.5.23-MariaDB": false, "10.3-mariadb": false, "": false, "?": false, "4": false,
	} {
		s, err := parseServer(version)
		if err == nil {
			err = s.check()
		}
		if (err == nil) != ok || (err != nil && !errors.Is(err, ErrOldServer)) {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), version) {
			t.Errorf("%q is not named: %v", version, err)
		}
	}
}

func FuzzParseServer(f *testing.F) {
	for _, version := range []string{"8.0.36", "5.5.5-10.11.2-MariaDB", "10.", "99999.1"} {
		f.Add(version)
	}
	f.Fuzz(func(t *testing.T, version string) {
		s, err := parseServer(version)
		if err == nil && (s.major < 0 || s.major > 9999 || s.minor < 0 || s.minor > 9999) {
			t.Errorf("%q is %+v", version, s)
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, dsn := range []string{"u:p@tcp(h:1)/db?x=y", "u@unix(/tmp/s)/", "/", "u@/a`b", "@/"} {
		f.Add(dsn)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		addr, err := parseAddress(mysqlConfig(dsn))
		if err == nil && (addr.cfg.MultiStatements || !databaseName.MatchString(addr.cfg.DBName) || addr.cfg.User == "") {
			t.Errorf("%q is %+v", dsn, addr.cfg)
		}
	})
}

func TestWhatTheServerSaysIsToldApart(t *testing.T) {
	said := func(number uint16, text string) error {
		return fmt.Errorf("insert: %w", &mysql.MySQLError{Number: number, Message: text})
	}
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tc := range []struct {
		name string
		err  error
		is   error // nil: left as it is
		says string
	}{
		{"a deadlock each time", said(1213, "Deadlock found"), ErrUnavailable, "in the way"},
		{"a lock that is held", said(1205, "Lock wait timeout exceeded"), ErrUnavailable, "in the way"},
		{"no connection left", said(1040, "Too many connections"), ErrUnavailable, "max_connections"},
		{"no connection left for the user", said(1203, "max_user_connections"), ErrUnavailable, "max_connections"},
		{"shutdown", said(1053, "Server shutdown in progress"), ErrUnavailable, ""},
		{"a replica", said(1290, "--read-only"), ErrUnavailable, "failover"},
		{"refused", refused, ErrUnavailable, "refused"},
		{"broken", mysql.ErrInvalidConn, ErrUnavailable, ""},
		{"bad", driver.ErrBadConn, ErrUnavailable, ""},
		{"cut", io.ErrUnexpectedEOF, ErrUnavailable, ""},
		{"full disk", said(1021, "Disk full"), ErrDiskFull, ""},
		{"full table", said(1114, "The table 'x' is full"), ErrDiskFull, ""},
		{"full disk at a file", said(1026, `Error writing file (Errcode: 28 "No space left on device")`), ErrDiskFull, ""},
		{"another trouble with a file", said(1026, "Errcode: 13"), nil, "Errcode"},
		{"no right to the table", said(1142, "INSERT command denied"), ErrDenied, ""},
		{"a row that is too big", mysql.ErrPktTooLarge, nil, "max_allowed_packet"},
		{"a duplicate", said(1062, "Duplicate entry"), nil, "Duplicate"},
		{"the caller's deadline", context.DeadlineExceeded, nil, "deadline"},
		{"an unknown commit", fmt.Errorf("%w: %w", ErrUnknownCommit, io.EOF), ErrUnknownCommit, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := explain(tc.err)
			for _, kind := range []error{ErrUnavailable, ErrDiskFull, ErrDenied, ErrUnknownCommit} {
				if errors.Is(err, kind) != (kind == tc.is) {
					t.Errorf("%v: is %q: %v", err, kind, errors.Is(err, kind))
				}
			}
			if !errors.Is(err, tc.err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("err = %v", err)
			}
			if again := explain(err); again.Error() != err.Error() && tc.is != nil {
				t.Errorf("told twice: %v", again)
			}
			if IsUnavailable(err) != (tc.is == ErrUnavailable) {
				t.Errorf("unavailable: %v", IsUnavailable(err))
			}
		})
	}
	if !IsUnique(said(1062, "Duplicate entry")) || IsUnique(said(1452, "foreign key")) {
		t.Error("duplicates are not told from other failures")
	}
}
