package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// CreateUpload implements FileService.
func (s *Files) CreateUpload(ctx context.Context, req *sessionsv1.CreateUploadRequest) (*sessionsv1.Upload, error) {
	u, err := s.files.Begin(ctx, file.Spec{Name: req.GetSpec().GetName(), MediaType: req.GetSpec().GetMediaType()}, req.GetSize())
	if err != nil {
		return nil, err
	}
	return s.upload(ctx, u)
}

// AppendUpload implements FileService.
func (s *Files) AppendUpload(stream grpc.ClientStreamingServer[sessionsv1.AppendUploadRequest, sessionsv1.Upload]) error {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	to := first.GetPosition()
	if to == nil {
		return fault.Invalid("position", "must be the first message")
	}
	u, err := s.files.Append(stream.Context(), to.GetUploadId(), to.GetOffset(), pieces(stream.Recv))
	if err != nil {
		return err
	}
	out, err := s.upload(stream.Context(), u)
	if err != nil {
		return err
	}
	return stream.SendAndClose(out)
}

// GetUpload implements FileService.
func (s *Files) GetUpload(ctx context.Context, req *sessionsv1.GetUploadRequest) (*sessionsv1.Upload, error) {
	u, err := s.files.Progress(ctx, req.GetUploadId())
	if err != nil {
		return nil, err
	}
	return s.upload(ctx, u)
}

// DeleteUpload implements FileService.
func (s *Files) DeleteUpload(ctx context.Context, req *sessionsv1.DeleteUploadRequest) (*sessionsv1.DeleteUploadResponse, error) {
	if err := s.files.Abandon(ctx, req.GetUploadId()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteUploadResponse{}, nil
}

// upload returns an upload with its file, if that still exists.
func (s *Files) upload(ctx context.Context, u store.Upload) (*sessionsv1.Upload, error) {
	out := &sessionsv1.Upload{
		Id: u.ID, Name: u.Name, MediaType: u.MediaType, Size: u.Size, Offset: u.Received, ExpireTime: timestamp.Of(u.ExpireTime),
	}
	if u.FileID == "" {
		return out, nil
	}
	f, err := s.files.Get(ctx, u.FileID)
	switch {
	case err == nil:
		out.File = fileToProto(f)
	case !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
		return nil, err
	}
	return out, nil
}
