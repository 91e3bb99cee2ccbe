package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Error numbers of MySQL and MariaDB.
const (
	erDiskFull         = 1021
	erChangedSinceRead = 1020 // MariaDB: the row is newer than the snapshot
	erWriteFile        = 1026
	erTooManyConns     = 1040
	erDBAccessDenied   = 1044
	erAccessDenied     = 1045
	erUnknownDatabase  = 1049
	erUnknownTable     = 1051
	erShutdown         = 1053
	erDuplicateColumn  = 1060
	erDupEntry         = 1062
	erHostBlocked      = 1129
	erTableAccess      = 1142
	erNoSuchTable      = 1146
	erTableFull        = 1114
	erNetReadError     = 1158
	erNetReadTimeout   = 1159
	erNetWriteError    = 1160
	erNetWriteTimeout  = 1161
	erTooManyOfUser    = 1203
	erLockWait         = 1205
	erDeadlock         = 1213
	erUserLimit        = 1226
	erSpecificAccess   = 1227
	erReadOnlyServer   = 1290
	erAccessNoPassword = 1698
	erReadOnlyMode     = 1836
	erConnKilled       = 1927 // MariaDB
	erSessionKilled    = 3169 // MySQL
	erIdleTooLong      = 4031 // MySQL: the server closed an idle connection
)

func mysqlNumber(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// isConflict says that another transaction was in the way: the same closure can
// succeed when it is run again.
func isConflict(err error) bool {
	switch mysqlNumber(err) {
	case erDeadlock, erLockWait, erChangedSinceRead:
		return true
	}
	return false
}

// isLost says that the server could not be reached, or that the connection is
// gone and with it its transaction.
func isLost(err error) bool {
	switch mysqlNumber(err) {
	case erTooManyConns, erShutdown, erHostBlocked, erNetReadError, erNetReadTimeout, erNetWriteError, erNetWriteTimeout,
		erTooManyOfUser, erUserLimit, erReadOnlyServer, erReadOnlyMode, erConnKilled, erSessionKilled, erIdleTooLong:
		return true
	}
	for _, target := range []error{
		driver.ErrBadConn, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrBusyBuffer,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var op *net.OpError
	return errors.As(err, &op)
}

// explainMySQL is explain for a server.
func explainMySQL(err error) error {
	switch number := mysqlNumber(err); {
	case isConflict(err):
		return fmt.Errorf("%w: other writes were in the way each time: %w", ErrUnavailable, err)
	case number == erReadOnlyServer, number == erReadOnlyMode:
		return fmt.Errorf("%w: the server is read-only (a replica, or in the middle of a failover): %w", ErrUnavailable, err)
	case number == erTooManyConns, number == erTooManyOfUser, number == erUserLimit:
		return fmt.Errorf("%w: the server has no connection left: raise max_connections, or close other clients: %w", ErrUnavailable, err)
	case number == erTableFull, number == erDiskFull, number == erWriteFile && strings.Contains(err.Error(), "28"):
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	case number == erTableAccess, number == erSpecificAccess, number == erDBAccessDenied, number == erAccessDenied, number == erAccessNoPassword:
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case errors.Is(err, mysql.ErrPktTooLarge):
		return fmt.Errorf("more at once than the server takes: raise its max_allowed_packet: %w", err)
	case isLost(err):
		// A dial that timed out says context.DeadlineExceeded of a ctx that has
		// not ended: the text is kept, not the chain.
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%w: %v", ErrUnavailable, err)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
