package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/grpc/codes"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Errors that a caller may test for with errors.Is. Those that users should see are faults: a full disk must not look like a bug.
var (
	// ErrNotFound means that no row matches.
	ErrNotFound = errors.New("not found")
	// ErrInUse means that another DB, in this or another process, has the SQLite file open.
	ErrInUse = errors.New("database file is in use: stop the other process that has it open, or give this one another data directory")
	// ErrReadOnly means that the database is not writable.
	ErrReadOnly error = fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE,
		"database cannot be written: check the owner and the permissions of its file and directory, and that the file system is not mounted "+
			"read-only")
	// ErrDiskFull means that the database has no disk space left.
	ErrDiskFull error = fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE,
		"disk is full: free some space where the database is, or move it; what was committed is kept")
	// ErrUnavailable means that the database server is unreachable or accepts no connections. Retrying later may help.
	ErrUnavailable error = fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "database is not available")
	// ErrNewer means that a later version of the program has migrated the database.
	ErrNewer = errors.New("the database was used by a later version of Windlass, which this version would misread: start that version or a " +
		"newer one, or restore the backup from before the upgrade (docs/how-to/upgrades.md)")
	// ErrOlder means that a version before the first release has migrated the database.
	ErrOlder = errors.New("the database is of a version of Windlass before the first release, which this version cannot read: start with an " +
		"empty data directory or database, or start the version that wrote it")
	// ErrUnmigrated means that the schema lacks migrations of this version, and this process may not or shall not apply them.
	ErrUnmigrated = errors.New("the tables are of an earlier version than this one needs: run \"windlassd migrate\" of this version as the " +
		"owner of the schemas (docs/how-to/upgrades.md)")
	// ErrTimeout means that a statement took longer than Config.StatementTimeout, or waited longer than Config.LockTimeout. It was rolled
	// back.
	ErrTimeout error = fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE,
		"a statement took longer than database.statement_timeout, or waited longer than database.lock_timeout")
	// ErrMissing means that a file is not there, or empty, though its data directory has had it.
	ErrMissing = errors.New("database file is missing or empty, though this data directory has had it: restore it from a backup of the same " +
		"time as the directory's other files")
	// ErrForeign means that a file belongs to another data directory, another service or another program.
	ErrForeign = errors.New("database file does not belong here: put back the one of this data directory, or restore all of the directory's " +
		"files from one backup")
	// ErrDamaged means that a SQLite file is not readable as one.
	ErrDamaged = errors.New("database file is damaged: restore all files of the data directory from one backup")
	// ErrSchema means that connections do not use the service's schema.
	ErrSchema = errors.New("connections to PostgreSQL do not use the schema of the service: a pooler between drops the startup parameter " +
		"search_path; set database.url to the server itself, or to a pooler that keeps it (docs/how-to/postgresql.md)")
	// ErrText means that a value contains text which the database cannot store: NUL, or bytes that are not UTF-8.
	ErrText error = fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_ARGUMENT,
		"a text in the request holds a character that cannot be stored: NUL (U+0000), or bytes that are not UTF-8").
		Hint("Remove the character and send the request again.")
	// ErrConflict means that a transaction still conflicted with others after all retries. Retrying may help.
	ErrConflict error = fault.New(codes.Aborted, faultv1.Reason_REASON_CONFLICT, "transaction conflict")
)

// IsUnique reports whether err is a violation of a primary key or unique index.
func IsUnique(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}

// translate adds the sentinel for a driver's error. Nil, unknown errors and errors that already have a sentinel are returned unchanged; the
// driver's error stays in the chain.
func translate(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{
		ErrNotFound, ErrInUse, ErrReadOnly, ErrDiskFull, ErrUnavailable, ErrText, ErrConflict, ErrNewer, ErrOlder, ErrMissing, ErrForeign,
		ErrDamaged, ErrSchema, ErrUnmigrated, ErrTimeout,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	if sentinel := meaning(err); sentinel != nil {
		return fmt.Errorf("%w (%w)", sentinel, err)
	}
	return err
}

func meaning(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return sqliteMeaning(e)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return postgresMeaning(e.Code)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return ErrUnavailable
	}
	if lost(err) {
		return ErrUnavailable
	}
	return fileMeaning(err)
}

// lost reports whether the connection to the server broke. The last statement may or may not have been executed.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false // the caller gave up, and the driver closed the connection
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, driver.ErrBadConn) ||
		pgconn.SafeToRetry(err) // closed before anything was sent
}

func sqliteMeaning(e *sqlite.Error) error {
	switch e.Code() & 0xff { // the low byte is the primary code
	case sqlite3.SQLITE_FULL:
		return ErrDiskFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return ErrReadOnly
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrInUse
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrDamaged
	}
	return nil
}

func postgresMeaning(code string) error {
	switch {
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"), code == "53300":
		return ErrUnavailable
	case code == "22021", code == "22P05": // not in the character set; \u0000 in jsonb
		return ErrText
	case code == "53100":
		return ErrDiskFull
	case code == "57014", code == "55P03": // query_canceled, lock_not_available
		return ErrTimeout
	case code == "25006":
		return ErrReadOnly
	case retryable(code):
		return ErrConflict
	}
	return nil
}

// retryable reports whether a code means that the transaction was rolled back because of others and may simply run again.
func retryable(code string) bool { return code == "40001" || code == "40P01" }

func fileMeaning(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrDiskFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrReadOnly
	}
	return nil
}
