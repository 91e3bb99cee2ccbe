package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

// address is where a database is on a server and how to talk to it.
type address struct {
	cfg   *mysql.Config
	named bool // by the dsn; otherwise by the service
}

var databaseName = regexp.MustCompile(`^[A-Za-z0-9_$-]{1,64}$`)

// errDSN names no part of the dsn: any may hold the password.
var errDSN = errors.New("dsn: want user:password@tcp(host:port)/database, or without database for one of its own; " +
	"a password may hold any character, parameters after ? must be escaped as in a URL")

// CheckDSN says what is wrong with a dsn of MySQL, without any part of it.
func CheckDSN(dsn config.Secret) error {
	_, err := parseAddress(Config{DSN: dsn})
	return err
}

// parseAddress reads the dsn and settles everything that our SQL relies on,
// whatever the dsn says: the bytes of strings are compared as they are, what
// does not fit is an error, a row that matches counts as changed, and a query
// is one statement. Timeouts, TLS and other parameters are left to the dsn.
func parseAddress(c Config) (address, error) {
	cfg, err := mysql.ParseDSN(c.DSN.Reveal())
	if err != nil {
		return address{}, errDSN
	}
	addr := address{cfg: cfg, named: cfg.DBName != ""}
	if !addr.named {
		cfg.DBName = "nanoclaw_" + strings.ReplaceAll(c.Service, "-", "_")
	}
	if !databaseName.MatchString(cfg.DBName) {
		return address{}, errors.New("dsn: the name of the database may have letters, digits, _, $ and -, 64 at most")
	}
	if cfg.User == "" {
		return address{}, errors.New("dsn: it names no user: " + errDSN.Error())
	}
	cfg.ClientFoundRows = true
	cfg.InterpolateParams = true
	cfg.MultiStatements, cfg.ParseTime, cfg.AllowAllFiles, cfg.AllowOldPasswords, cfg.RejectReadOnly = false, false, false, false, false
	cfg.MaxAllowedPacket = 0 // the server's own limit
	cfg.Timeout = either(cfg.Timeout, dialTimeout)
	cfg.ReadTimeout = either(cfg.ReadTimeout, ioTimeout)
	cfg.WriteTimeout = either(cfg.WriteTimeout, ioTimeout)
	cfg.Logger = &mysql.NopLogger{} // what it would say is in the errors
	if err := cfg.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")); err != nil {
		return address{}, fmt.Errorf("dsn: %w", err)
	}
	return addr, nil
}

func either(given, usual time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return usual
}

// dial is how long connecting may take, with all that is said until the first
// query.
func (a address) dial() time.Duration { return a.cfg.Timeout }

// String is the address without the password.
func (a address) String() string {
	return fmt.Sprintf("%s@%s(%s)/%s", a.cfg.User, a.cfg.Net, a.cfg.Addr, a.cfg.DBName)
}

// session is a copy of the address with variables of the session.
func (a address) session(srv server, more map[string]string) *mysql.Config {
	cfg := a.cfg.Clone()
	params := map[string]string{}
	maps.Copy(params, cfg.Params)
	maps.Copy(params, map[string]string{
		// The dialect quotes with backslashes: NO_BACKSLASH_ESCAPES must not be on.
		"sql_mode":                 "'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY,NO_ENGINE_SUBSTITUTION'",
		"time_zone":                "'+00:00'",
		"innodb_lock_wait_timeout": strconv.Itoa(int(lockWait.Seconds())),
		srv.name("transaction_isolation", "tx_isolation"):               "'READ-COMMITTED'",
		srv.name("cte_max_recursion_depth", "max_recursive_iterations"): strconv.Itoa(maxRecursion),
	})
	maps.Copy(params, more)
	cfg.Params = params
	return cfg
}

const waitTimeout = "wait_timeout"

// forWriting begins a transaction with each statement that is in none, so that
// what comes after a transaction was ended by the server is never committed by
// itself.
func (a address) forWriting(srv server) *mysql.Config {
	params := map[string]string{"autocommit": "0"}
	if _, given := a.cfg.Params[waitTimeout]; !given {
		params[waitTimeout] = strconv.Itoa(int(hungTime.Seconds()))
	}
	return a.session(srv, params)
}

func (a address) forReading(srv server) *mysql.Config {
	return a.session(srv, map[string]string{srv.name("transaction_read_only", "tx_read_only"): "1"})
}

// forMigrating has no timeouts: a change of a big table takes its time, and ctx
// bounds it.
func (a address) forMigrating(srv server) *mysql.Config {
	cfg := a.session(srv, nil)
	cfg.ReadTimeout, cfg.WriteTimeout, cfg.ParseTime = 0, 0, true
	return cfg
}

// explain says what to do about an address that does not work.
func (a address) explain(err error) error {
	db, user := a.cfg.DBName, a.cfg.User
	switch mysqlNumber(err) {
	case erAccessDenied, erAccessNoPassword:
		return fmt.Errorf("%w: user %s with the password of the dsn: check both, and from which host the user may come: %w", ErrDenied, user, err)
	case erDBAccessDenied, erTableAccess, erSpecificAccess:
		return fmt.Errorf("%w: user %s has no right to database %s: run as an administrator: "+
			"CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; GRANT ALL ON `%s`.* TO '%s'@'%%': %w",
			ErrDenied, user, db, db, db, user, err)
	case erUnknownDatabase:
		return fmt.Errorf("there is no database %s: create it, or name none in the dsn to have one made: %w", db, err)
	}
	return err
}

// lockName is the name of the migration lock, of at most 64 characters.
func lockName(database, table string) string {
	sum := sha256.Sum256([]byte(database + "." + table))
	return "nanoclaw_migrate_" + hex.EncodeToString(sum[:16])
}

// server is what answers at an address.
type server struct {
	version string
	mariaDB bool
	major   int
	minor   int
}

var versionNumbers = regexp.MustCompile(`^(?:5\.5\.5-)?(\d{1,4})\.(\d{1,4})`) // 5.5.5- is said by MariaDB to old replicas

func parseServer(version string) (server, error) {
	m := versionNumbers.FindStringSubmatch(version)
	if m == nil {
		return server{}, fmt.Errorf("%w: it says to be version %q", ErrOldServer, version)
	}
	s := server{version: version, mariaDB: strings.Contains(strings.ToLower(version), "mariadb")}
	s.major, _ = strconv.Atoi(m[1])
	s.minor, _ = strconv.Atoi(m[2])
	return s, nil
}

func (s server) check() error {
	wantMajor, wantMinor := 8, 0
	if s.mariaDB {
		wantMajor, wantMinor = 10, 6
	}
	if s.major < wantMajor || s.major == wantMajor && s.minor < wantMinor {
		return fmt.Errorf("%w: this is %s", ErrOldServer, s.version)
	}
	return nil
}

// name chooses how the server calls a variable.
func (s server) name(mysql, mariaDB string) string {
	if s.mariaDB {
		return mariaDB
	}
	return mysql
}
