package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
)

func openMySQL(ctx context.Context, cfg Config) (*DB, error) {
	addr, err := parseAddress(cfg)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", cfg.Service, err)
	}
	db, err := openServer(ctx, cfg, addr)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: no answer within %s", ErrUnavailable, addr.dial())
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: open %s: %w", cfg.Service, addr, explain(addr.explain(err)))
	}
	return db, nil
}

func openServer(ctx context.Context, cfg Config, addr address) (*DB, error) {
	srv, err := reach(ctx, addr)
	if err != nil {
		return nil, err
	}
	if err := migrateMySQL(ctx, cfg, addr, srv); err != nil {
		return nil, err
	}
	write, err := openMySQLPool(ctx, addr.forWriting(srv), addr.dial(), cfg.Writers)
	if err != nil {
		return nil, err
	}
	write.SetConnMaxIdleTime(writerIdle)
	read, err := openMySQLPool(ctx, addr.forReading(srv), addr.dial(), cfg.Readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	txs := newTransactions(write, cfg.Writers)
	return &DB{driver: DriverMySQL, read: read, write: txs.db, writes: txs}, nil
}

// reach finds out what the server is and makes the database when the address
// names none and it is not there.
func reach(ctx context.Context, addr address) (server, error) {
	ctx, cancel := context.WithTimeout(ctx, addr.dial())
	defer cancel()
	srv, err := probe(ctx, addr.cfg)
	if err == nil {
		return srv, srv.check()
	}
	if number := mysqlNumber(err); addr.named || number != erUnknownDatabase && number != erDBAccessDenied {
		return srv, err
	}
	// A server tells of a database that is not there only to those who may
	// make it.
	outside := addr.cfg.Clone()
	outside.DBName = ""
	if srv, err = probe(ctx, outside); err != nil {
		return srv, err
	}
	if err := srv.check(); err != nil {
		return srv, err
	}
	return srv, create(ctx, outside, addr.cfg.DBName)
}

// probe connects once and reads the version of the server.
func probe(ctx context.Context, cfg *mysql.Config) (server, error) {
	pool, err := connectMySQL(ctx, cfg, 1)
	if err != nil {
		return server{}, err
	}
	defer pool.Close()
	var version string
	if err := pool.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return server{}, err
	}
	return parseServer(version)
}

func create(ctx context.Context, cfg *mysql.Config, name string) error {
	pool, err := connectMySQL(ctx, cfg, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
	return err
}

func connectMySQL(ctx context.Context, cfg *mysql.Config, conns int) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(connIdle)
	pool.SetConnMaxLifetime(connLife)
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

func openMySQLPool(ctx context.Context, cfg *mysql.Config, dial time.Duration, conns int) (*bun.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, dial)
	defer cancel()
	pool, err := connectMySQL(ctx, cfg, conns)
	if err != nil {
		return nil, err
	}
	// Columns that a newer release has added already are no error for this one.
	return bun.NewDB(pool, safeText{mysqldialect.New()}, bun.WithDiscardUnknownColumns()), nil
}

// migrateMySQL brings the schema up to date. One replica does so at a time; the
// others wait for it. The lock is taken around all that goose does, which looks
// for something to do without it and may meet a table of versions half made.
func migrateMySQL(ctx context.Context, cfg Config, addr address, srv server) (err error) {
	if cfg.Migrations == nil {
		return nil
	}
	pool, err := connectMySQL(ctx, addr.forMigrating(srv), migrationConns+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	lock := &migrationLock{name: lockName(addr.cfg.DBName, cfg.versionTable()), wait: migrationWait}
	if err := lock.take(ctx, conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	defer func() { err = errors.Join(err, lock.release(context.WithoutCancel(ctx), conn), conn.Close()) }()
	return migrate(ctx, cfg, goose.DialectMySQL, pool)
}

// mysqlNow is the clock of the server. Its session is in UTC, where no hour
// comes twice.
func mysqlNow(ctx context.Context, tx bun.IDB) (ms int64, err error) {
	if err := tx.NewRaw("SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)").Scan(ctx, &ms); err != nil {
		return 0, fmt.Errorf("read the clock of the database: %w", err)
	}
	return ms, nil
}

// migrationLock lets one process at a time migrate a database. The server gives
// it up by itself when the connection ends.
type migrationLock struct {
	name string
	wait time.Duration
}

func (l *migrationLock) take(ctx context.Context, conn *sql.Conn) error {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", l.name, strconv.FormatInt(int64(l.wait.Seconds()), 10)).Scan(&got)
	if err != nil {
		return fmt.Errorf("wait for the right to migrate: %w", err)
	}
	if got.Int64 != 1 {
		return fmt.Errorf("%w: another process has been migrating it for %s: wait until it is done, then start again", ErrUnavailable, l.wait)
	}
	return nil
}

func (l *migrationLock) release(ctx context.Context, conn *sql.Conn) error {
	var released sql.NullInt64
	return conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", l.name).Scan(&released)
}
