package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/upload"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// maxOpen is how many uploads of a subject may be incomplete.
	maxOpen = 100
	// keepUpload is how long an upload is kept after bytes have arrived.
	keepUpload = 24 * time.Hour
	// forgetAtOnce is how many expired uploads are read at a time.
	forgetAtOnce = 100
)

func errNoUpload(id string) error {
	return fault.NotFound("upload %q does not exist", strings.ReplaceAll(id, "\x00", "")).
		Hint("Uploads are deleted 24 hours after their last bytes. Begin a new one.")
}

// Begin stores an upload of the caller of which nothing has arrived.
func (s *Service) Begin(ctx context.Context, spec Spec, size int64) (store.Upload, error) {
	if size > int64(s.cfg.MaxBytes) {
		return store.Upload{}, s.tooLarge()
	}
	p := authn.From(ctx)
	u := store.Upload{
		Tenant: p.GetTenant(), ID: ids.New(ids.Upload), Subject: p.GetSubject(), Name: baseName(spec.Name), MediaType: spec.MediaType,
		Size: size, ExpireTime: s.store.Now().Add(keepUpload),
	}
	var open int64
	fits := false
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if open, err = tx.OpenUploads(ctx, u.Tenant, u.Subject); err != nil || open >= maxOpen {
			return err
		}
		fits, err = tx.AddUpload(ctx, u, int64(s.cfg.MaxBytesPerUser))
		return err
	})
	switch {
	case err != nil:
		return u, err
	case open >= maxOpen:
		return u, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED, "%d of your uploads are not complete", open).
			Hint("Complete or delete some of them.")
	case !fits:
		return u, s.noRoom()
	}
	return u, nil
}

// Append adds bytes to an upload of the caller, which has offset bytes. next returns them piece by piece, and nothing at the end. Each
// piece is stored before the next one is read. The file is there with the last one.
func (s *Service) Append(ctx context.Context, id string, offset int64, next upload.Next) (store.Upload, error) {
	next, done, err := s.uploads.Admit(ctx, next)
	if err != nil {
		return store.Upload{}, err
	}
	defer done()
	u, err := s.Progress(ctx, id)
	if err == nil && u.Received != offset {
		err = errMoved(u)
	}
	for err == nil {
		piece, failed := next()
		if failed != nil || len(piece) == 0 {
			return u, failed
		}
		u, err = s.add(ctx, u, piece)
	}
	return u, err
}

// add stores a piece of an upload, and the file with the last one. A file that is refused takes its upload with it.
func (s *Service) add(ctx context.Context, u store.Upload, piece []byte) (store.Upload, error) {
	if u.Received+int64(len(piece)) > u.Size {
		return u, fault.Invalid("data", "goes beyond the %d bytes of the upload", u.Size)
	}
	var refused error
	var after store.Upload
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		refused = nil
		locked, err := tx.LockUpload(ctx, u.Tenant, u.ID)
		if err != nil {
			return err
		}
		if locked.Received != u.Received {
			refused = errMoved(locked)
			return nil
		}
		after = locked
		after.Received, after.ExpireTime = locked.Received+int64(len(piece)), s.store.Now().Add(keepUpload)
		if err := tx.AddPart(ctx, locked, piece, after.ExpireTime); err != nil || after.Received < after.Size {
			return err
		}
		after.FileID, refused, err = s.complete(ctx, tx, after)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNoUpload(u.ID)
	}
	if err == nil {
		err = refused
	}
	if err != nil {
		return u, err
	}
	return after, nil
}

// complete makes a locked upload that has all its bytes a file, or deletes it and says why its content is refused.
func (s *Service) complete(ctx context.Context, tx *store.Tx, u store.Upload) (id string, refused, err error) {
	parts, err := tx.Parts(ctx, u)
	if err != nil {
		return "", nil, err
	}
	data := slices.Concat(parts...)
	found, refused := inspect(data, u.MediaType, s.cfg.MaxPixels)
	if refused != nil {
		return "", refused, tx.DeleteUpload(ctx, u)
	}
	sum := sha256.Sum256(data)
	f := store.File{
		Tenant: u.Tenant, ID: ids.New(ids.File), Subject: u.Subject, Name: u.Name, MediaType: found.mediaType, Size: u.Size,
		SHA256: hex.EncodeToString(sum[:]), Width: found.width, Height: found.height, CreateTime: s.store.Now(),
	}
	return f.ID, nil, tx.CompleteUpload(ctx, u, f, data)
}

// Progress returns an upload of the caller.
func (s *Service) Progress(ctx context.Context, id string) (store.Upload, error) {
	if !access.Storable(id) {
		return store.Upload{}, errNoUpload(id)
	}
	u, err := s.store.Upload(ctx, authn.Tenant(ctx), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Upload{}, errNoUpload(id)
	case err == nil && (u.Subject != authn.From(ctx).GetSubject() || !u.ExpireTime.After(s.store.Now())):
		return store.Upload{}, errNoUpload(id)
	}
	return u, err
}

// Abandon deletes an upload of the caller.
func (s *Service) Abandon(ctx context.Context, id string) error {
	u, err := s.Progress(ctx, id)
	if err != nil {
		return err
	}
	if err = s.dropUpload(ctx, u); errors.Is(err, store.ErrNotFound) {
		err = errNoUpload(id)
	}
	return err
}

// ForgetUploads deletes the uploads that have expired.
func (s *Service) ForgetUploads(ctx context.Context) error {
	for {
		expired, err := s.store.ExpiredUploads(ctx, s.store.Now(), forgetAtOnce)
		if err != nil || len(expired) == 0 {
			return err
		}
		for _, u := range expired {
			if err := s.dropUpload(ctx, u); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
}

// dropUpload deletes an upload. store.ErrNotFound when there is none.
func (s *Service) dropUpload(ctx context.Context, u store.Upload) error {
	return s.store.Write(ctx, func(tx *store.Tx) error {
		locked, err := tx.LockUpload(ctx, u.Tenant, u.ID)
		if err != nil {
			return err
		}
		return tx.DeleteUpload(ctx, locked)
	})
}

// errMoved says that bytes were sent for another position than the upload has.
func errMoved(u store.Upload) error {
	return fault.New(codes.Aborted, faultv1.Reason_REASON_CONFLICT, "the upload has %d bytes", u.Received).
		Hint("Read the offset of the upload, and continue from there.")
}
