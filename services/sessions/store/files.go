package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// File is something that a user uploaded, without its bytes.
type File struct {
	// Tenant and ID name it; Subject uploaded it.
	Tenant, ID, Subject string
	// Name and MediaType describe it to its readers.
	Name, MediaType string
	// Size in bytes, and the bytes' SHA-256, hex.
	Size   int64
	SHA256 string
	// Width and Height of an image in pixels, as it is shown; 0 for other files.
	Width, Height int
	// CreateTime is when it was uploaded.
	CreateTime time.Time
}

const fileColumns = "tenant, id, subject, name, media_type, size, sha256, width, height, create_us"

func scanFile(s sqldb.Scanner) (f File, err error) {
	err = s.Scan(&f.Tenant, &f.ID, &f.Subject, &f.Name, &f.MediaType, &f.Size, &f.SHA256, &f.Width, &f.Height, sqldb.TimeColumn(&f.CreateTime))
	return f, err
}

var insertFiles = sqldb.Insert("files", fileColumns)

// AddFile stores a file. False means that the files of its subject would have more than limit bytes together.
func (tx *fileTx) AddFile(ctx context.Context, f File, data []byte, limit int64) (bool, error) {
	fits, err := tx.reserve(ctx, f.Tenant, f.Subject, f.Size, limit)
	if err != nil || !fits {
		return false, err
	}
	return true, tx.insertFile(ctx, f, data)
}

// reserve adds to the bytes of a subject's files, unless they would be more than limit.
func (tx *fileTx) reserve(ctx context.Context, tenant, subject string, size, limit int64) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, `INSERT INTO file_usage (tenant, subject, bytes)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT) WHERE CAST($3 AS BIGINT) <= CAST($4 AS BIGINT)
		ON CONFLICT (tenant, subject) DO UPDATE SET bytes = file_usage.bytes + excluded.bytes
		WHERE file_usage.bytes + excluded.bytes <= CAST($4 AS BIGINT)`,
		tenant, subject, size, limit)
	return n > 0, err
}

// release takes from the bytes of a subject's files.
func (tx *fileTx) release(ctx context.Context, tenant, subject string, size int64) error {
	_, err := sqldb.Exec(ctx, tx, "UPDATE file_usage SET bytes = bytes - $3 WHERE tenant = $1 AND subject = $2", tenant, subject, size)
	return err
}

// insertFile stores a file whose bytes are reserved.
func (tx *fileTx) insertFile(ctx context.Context, f File, data []byte) error {
	if err := addBlob(ctx, tx, f.Tenant, f.SHA256, data); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, insertFiles, f.Tenant, f.ID, f.Subject, f.Name, f.MediaType, f.Size, f.SHA256, f.Width, f.Height,
		sqldb.Micros(f.CreateTime))
	return err
}

// DeleteFile deletes a file, and its bytes unless an artifact or another file has the same. ErrNotFound when it is not there.
func (tx *fileTx) DeleteFile(ctx context.Context, tenant, id string) error {
	f, err := sqldb.One(ctx, tx, scanFile, "SELECT "+fileColumns+" FROM files WHERE tenant = $1 AND id = $2"+tx.DB.ForUpdate(), tenant, id)
	if err != nil {
		return err
	}
	if err := sqldb.ExecOne(ctx, tx, "DELETE FROM files WHERE tenant = $1 AND id = $2", tenant, id); err != nil {
		return err
	}
	if err := tx.release(ctx, tenant, f.Subject, f.Size); err != nil {
		return err
	}
	return dropBlob(ctx, tx, tenant, f.SHA256)
}

// AttachFile makes a file an artifact of a locked session, unless it is one already. False means that its bytes are gone.
func (tx *fileTx) AttachFile(ctx context.Context, a Artifact) (bool, error) {
	n, err := sqldb.Exec(ctx, tx, insertArtifacts+" ON CONFLICT DO NOTHING",
		a.Tenant, a.ID, a.SessionID, a.TurnID, a.CallID, a.Name, a.MediaType, a.Size, a.SHA256, sqldb.Micros(a.CreateTime))
	if err != nil || n == 0 {
		return err == nil, err
	}
	return shareBlob(ctx, tx, a.Tenant, a.SHA256)
}

// File reads a file. ErrNotFound when there is none.
func (s *fileReader) File(ctx context.Context, tenant, id string) (File, error) {
	return rows.One(ctx, s.DB.Reader(), scanFile, "SELECT "+fileColumns+" FROM files WHERE tenant = $1 AND id = $2", tenant, id)
}

// Files lists the files of a subject, "" for those of all, newest first, before the given id; "" = from the newest on.
func (s *fileReader) Files(ctx context.Context, tenant, subject, before string, limit int) ([]File, error) {
	return rows.All(ctx, s.DB.Reader(), scanFile, "SELECT "+fileColumns+` FROM files
		WHERE tenant = $1 AND ($2 = '' OR subject = $2) AND ($3 = '' OR id < $3) ORDER BY id DESC LIMIT $4`, tenant, subject, before, limit)
}
