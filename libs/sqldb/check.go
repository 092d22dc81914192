package sqldb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// sampleSize is how many bytes Check writes to find out whether there is room.
const sampleSize = 64 << 10

// Check reports whether the database answers and can be written. It returns ErrUnavailable, ErrReadOnly or ErrDiskFull if not. On SQLite
// it writes a file of 64 KiB beside the database and removes it; on Postgres it writes only after a write has found the disk full.
func (db *DB) Check(ctx context.Context) error {
	if err := db.read.PingContext(ctx); err != nil {
		return away(translate(err))
	}
	if db.dialect == SQLite {
		return translate(writeSample(filepath.Dir(db.path)))
	}
	return away(translate(db.checkPostgres(ctx)))
}

// away returns the fault of a server that does not answer at all with the names of its settings.
func away(err error) error {
	if !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "the database server does not answer").
		Hint("Check that it runs, database.url, and the server's log.").Cause(err)
}

func writeSample(dir string) error {
	f, err := os.CreateTemp(dir, ".write-check-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, sampleSize))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func (db *DB) checkPostgres(ctx context.Context) error {
	var readOnly string
	if err := db.read.QueryRowContext(ctx, "SELECT current_setting('transaction_read_only')").Scan(&readOnly); err != nil {
		return err
	}
	if readOnly == "on" {
		return fmt.Errorf("%w: transactions are read-only", ErrReadOnly)
	}
	if !db.full.Load() {
		return nil
	}
	return db.Write(ctx, func(tx Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TEMP TABLE windlass_write_check ON COMMIT DROP AS "+
			"SELECT sha256(n::text::bytea) AS sample FROM generate_series(1, 2000) AS n")
		return err
	})
}
