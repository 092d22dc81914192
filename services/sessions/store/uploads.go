package store

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Upload is a file that arrives in parts.
type Upload struct {
	// Tenant and ID name it; Subject sends it.
	Tenant, ID, Subject string
	// Name and MediaType are those that the sender declared.
	Name, MediaType string
	// Size of the whole in bytes, and how many of them have arrived.
	Size, Received int64
	// FileID is the file that it has become; "" until all bytes have arrived.
	FileID string
	// ExpireTime is when it is deleted.
	ExpireTime time.Time
}

const uploadColumns = "tenant, id, subject, name, media_type, size, received, file_id, expire_us"

func scanUpload(s sqldb.Scanner) (u Upload, err error) {
	err = s.Scan(&u.Tenant, &u.ID, &u.Subject, &u.Name, &u.MediaType, &u.Size, &u.Received, &u.FileID, sqldb.TimeColumn(&u.ExpireTime))
	return u, err
}

var (
	insertUploads = sqldb.Insert("uploads", uploadColumns)
	insertParts   = sqldb.Insert("upload_parts", "tenant, upload_id, start, data")
)

// AddUpload stores an upload of which nothing has arrived. Its bytes count as those of a file of its subject: false means that these would
// be more than limit together.
func (tx *fileTx) AddUpload(ctx context.Context, u Upload, limit int64) (bool, error) {
	fits, err := tx.reserve(ctx, u.Tenant, u.Subject, u.Size, limit)
	if err != nil || !fits {
		return false, err
	}
	_, err = sqldb.Exec(ctx, tx, insertUploads, u.Tenant, u.ID, u.Subject, u.Name, u.MediaType, u.Size, u.Received, u.FileID,
		sqldb.Micros(u.ExpireTime))
	return true, err
}

// OpenUploads counts the uploads of a subject that are not complete.
func (tx *fileTx) OpenUploads(ctx context.Context, tenant, subject string) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int64], "SELECT COUNT(*) FROM uploads WHERE tenant = $1 AND subject = $2 AND file_id = ''",
		tenant, subject)
}

// LockUpload reads an upload, and keeps others from changing it. ErrNotFound when there is none.
func (tx *fileTx) LockUpload(ctx context.Context, tenant, id string) (Upload, error) {
	return rows.One(ctx, tx, scanUpload, "SELECT "+uploadColumns+" FROM uploads WHERE tenant = $1 AND id = $2"+tx.DB.ForUpdate(), tenant,
		id)
}

// AddPart stores the next bytes of a locked upload, which is kept until expires.
func (tx *fileTx) AddPart(ctx context.Context, u Upload, data []byte, expires time.Time) error {
	if _, err := sqldb.Exec(ctx, tx, insertParts, u.Tenant, u.ID, u.Received, data); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE uploads SET received = received + $3, expire_us = $4 WHERE tenant = $1 AND id = $2",
		u.Tenant, u.ID, int64(len(data)), sqldb.Micros(expires))
}

// Parts reads what has arrived of a locked upload.
func (tx *fileTx) Parts(ctx context.Context, u Upload) ([][]byte, error) {
	return sqldb.All(ctx, tx, sqldb.Column[[]byte], "SELECT data FROM upload_parts WHERE tenant = $1 AND upload_id = $2 ORDER BY start",
		u.Tenant, u.ID)
}

// CompleteUpload makes a locked upload a file of its size.
func (tx *fileTx) CompleteUpload(ctx context.Context, u Upload, f File, data []byte) error {
	if err := tx.insertFile(ctx, f, data); err != nil {
		return err
	}
	if err := tx.dropParts(ctx, u); err != nil {
		return err
	}
	return sqldb.ExecOne(ctx, tx, "UPDATE uploads SET file_id = $3 WHERE tenant = $1 AND id = $2", u.Tenant, u.ID, f.ID)
}

// DeleteUpload deletes a locked upload with what has arrived. Its file stays.
func (tx *fileTx) DeleteUpload(ctx context.Context, u Upload) error {
	if err := tx.dropParts(ctx, u); err != nil {
		return err
	}
	if err := sqldb.ExecOne(ctx, tx, "DELETE FROM uploads WHERE tenant = $1 AND id = $2", u.Tenant, u.ID); err != nil {
		return err
	}
	if u.FileID != "" {
		return nil
	}
	return tx.release(ctx, u.Tenant, u.Subject, u.Size)
}

func (tx *fileTx) dropParts(ctx context.Context, u Upload) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM upload_parts WHERE tenant = $1 AND upload_id = $2", u.Tenant, u.ID)
	return err
}

// Upload reads an upload. ErrNotFound when there is none.
func (s *fileReader) Upload(ctx context.Context, tenant, id string) (Upload, error) {
	return rows.One(ctx, s.DB.Reader(), scanUpload, "SELECT "+uploadColumns+" FROM uploads WHERE tenant = $1 AND id = $2", tenant, id)
}

// ExpiredUploads lists at most limit uploads whose time is up.
func (s *fileReader) ExpiredUploads(ctx context.Context, now time.Time, limit int) ([]Upload, error) {
	return rows.All(ctx, s.DB.Reader(), scanUpload, "SELECT "+uploadColumns+" FROM uploads WHERE expire_us <= $1 ORDER BY expire_us LIMIT $2",
		sqldb.Micros(now), limit)
}
