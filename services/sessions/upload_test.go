package sessions_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// appendTo sends bytes for an upload in pieces.
func appendTo(ctx context.Context, files sessionsv1.FileServiceClient, id string, offset int64, pieces ...[]byte) (
	*sessionsv1.Upload, error,
) {
	stream, err := files.AppendUpload(ctx)
	if err != nil {
		return nil, err
	}
	// An error of Send is that of CloseAndRecv.
	_ = stream.Send(&sessionsv1.AppendUploadRequest{Message: &sessionsv1.AppendUploadRequest_Position{
		Position: &sessionsv1.UploadPosition{UploadId: id, Offset: offset},
	}})
	for _, piece := range pieces {
		_ = stream.Send(&sessionsv1.AppendUploadRequest{Message: &sessionsv1.AppendUploadRequest_Data{Data: piece}})
	}
	return stream.CloseAndRecv()
}

// smallFiles lets a user have four files of 1,000 bytes.
var smallFiles = sessions.Config{Files: file.Config{MaxBytes: 1000, MaxBytesPerUser: 4000}}

// TestUploadsInParts covers a file that arrives in several calls, one of which breaks.
func TestUploadsInParts(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: smallFiles})
		files, other := k.files(authn.Local()), k.files(authn.User("eve"))
		data := picture(t)
		u, err := files.CreateUpload(t.Context(), &sessionsv1.CreateUploadRequest{
			Spec: &sessionsv1.FileSpec{Name: "dir/cat.png", MediaType: "image/png"}, Size: int64(len(data)),
		})
		must(t, err)
		// The empty message is refused after the first piece was stored, as a connection breaks behind it.
		_, err = appendTo(t.Context(), files, u.GetId(), 0, data[:10], nil)
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		got, err := files.GetUpload(t.Context(), &sessionsv1.GetUploadRequest{UploadId: u.GetId()})
		if must(t, err); got.GetOffset() != 10 || got.GetSize() != int64(len(data)) || got.GetFile() != nil {
			t.Errorf("after ten bytes the upload is %v", got)
		}
		_, err = appendTo(t.Context(), files, u.GetId(), 0, data)
		wantReason(t, err, faultv1.Reason_REASON_CONFLICT)
		_, err = appendTo(t.Context(), files, u.GetId(), 10, data) // ten bytes too many
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		_, err = appendTo(t.Context(), other, u.GetId(), 10, data[10:])
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)
		_, err = other.DeleteUpload(t.Context(), &sessionsv1.DeleteUploadRequest{UploadId: u.GetId()})
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)

		whole, err := appendTo(t.Context(), files, u.GetId(), 10, data[10:20], data[20:])
		must(t, err)
		f := whole.GetFile()
		if whole.GetOffset() != whole.GetSize() || f.GetName() != "cat.png" || f.GetMediaType() != "image/png" || f.GetWidth() != 3 {
			t.Errorf("the whole upload is %v", whole)
		}
		read, err := files.ReadFile(t.Context(), &sessionsv1.ReadFileRequest{FileId: f.GetId()})
		if must(t, err); !bytes.Equal(read.GetData(), data) {
			t.Errorf("the file has %q", read.GetData())
		}
		// A caller that has missed the answer asks again.
		again, err := files.GetUpload(t.Context(), &sessionsv1.GetUploadRequest{UploadId: u.GetId()})
		if must(t, err); again.GetFile().GetId() != f.GetId() {
			t.Errorf("asked again, the upload is %v", again)
		}
		_, err = files.DeleteUpload(t.Context(), &sessionsv1.DeleteUploadRequest{UploadId: u.GetId()})
		must(t, err)
		if _, err := files.GetFile(t.Context(), &sessionsv1.GetFileRequest{FileId: f.GetId()}); err != nil {
			t.Errorf("the file of a deleted upload: %v", err)
		}
		wantParts(t, k, 0)
	})
}

func wantParts(t *testing.T, k *kit, want int64) {
	t.Helper()
	left, err := sqldb.One(t.Context(), k.db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM upload_parts")
	if must(t, err); left != want {
		t.Errorf("%d parts are stored, want %d", left, want)
	}
}

// TestUploadsInPartsAreLimited covers the bytes that uploads reserve until they are files, and give back.
func TestUploadsInPartsAreLimited(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		k := newKit(t, options{postgres: postgres, cfg: smallFiles})
		files := k.files(authn.Local())
		begin := func(size int64, mediaType string) (string, error) {
			u, err := files.CreateUpload(t.Context(), &sessionsv1.CreateUploadRequest{
				Spec: &sessionsv1.FileSpec{Name: "a", MediaType: mediaType}, Size: size,
			})
			return u.GetId(), err
		}
		_, err := begin(1001, "")
		wantReason(t, err, faultv1.Reason_REASON_TOO_LARGE)
		_, err = begin(0, "")
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		var ids []string
		for range 4 {
			id, err := begin(1000, "image/png")
			must(t, err)
			ids = append(ids, id)
		}
		_, err = begin(1, "")
		wantReason(t, err, faultv1.Reason_REASON_QUOTA_EXCEEDED)
		_, err = upload(t.Context(), files, "a", "", []byte("a"))
		wantReason(t, err, faultv1.Reason_REASON_QUOTA_EXCEEDED)

		// One is deleted, and one becomes a file that is refused: both give their bytes back.
		_, err = files.DeleteUpload(t.Context(), &sessionsv1.DeleteUploadRequest{UploadId: ids[0]})
		must(t, err)
		_, err = appendTo(t.Context(), files, ids[1], 0, bytes.Repeat([]byte("a"), 1000))
		wantReason(t, err, faultv1.Reason_REASON_INVALID_ARGUMENT)
		_, err = files.GetUpload(t.Context(), &sessionsv1.GetUploadRequest{UploadId: ids[1]})
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)
		_, err = upload(t.Context(), files, "a", "", bytes.Repeat([]byte("a"), 1000))
		must(t, err)

		// The others expire.
		_, err = appendTo(t.Context(), files, ids[2], 0, []byte("a"))
		must(t, err)
		wantParts(t, k, 1)
		must(t, k.db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "UPDATE uploads SET expire_us = 1")
			return err
		}))
		_, err = appendTo(t.Context(), files, ids[2], 1, []byte("a"))
		wantReason(t, err, faultv1.Reason_REASON_NOT_FOUND)
		st, err := store.Open(t.Context(), k.db)
		must(t, err)
		out, err := egress.New(egress.Config{Profile: egress.Local})
		must(t, err)
		must(t, file.New(smallFiles.Files, st, nil, out).ForgetUploads(t.Context()))
		wantParts(t, k, 0)
		for range 3 {
			_, err = begin(1000, "")
			must(t, err)
		}
	})
}

// TestUploadsInPartsOfOneUser covers the number of uploads that are not complete.
func TestUploadsInPartsOfOneUser(t *testing.T) {
	k := newKit(t, options{})
	files := k.files(authn.Local())
	for range 100 {
		_, err := files.CreateUpload(t.Context(), &sessionsv1.CreateUploadRequest{Size: 1})
		must(t, err)
	}
	_, err := files.CreateUpload(t.Context(), &sessionsv1.CreateUploadRequest{Size: 1})
	wantReason(t, err, faultv1.Reason_REASON_QUOTA_EXCEEDED)
}
