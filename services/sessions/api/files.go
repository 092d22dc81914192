package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/file"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Files implements FileService.
type Files struct {
	sessionsv1.UnimplementedFileServiceServer
	files *file.Service
}

// NewFiles serves files.
func NewFiles(files *file.Service) *Files { return &Files{files: files} }

// UploadFile implements FileService.
func (s *Files) UploadFile(stream grpc.ClientStreamingServer[sessionsv1.UploadFileRequest, sessionsv1.File]) error {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if first.GetSpec() == nil {
		return fault.Invalid("spec", "must be the first message of an upload")
	}
	spec := file.Spec{Name: first.GetSpec().GetName(), MediaType: first.GetSpec().GetMediaType()}
	f, err := s.files.Upload(stream.Context(), spec, pieces(stream.Recv))
	if err != nil {
		return err
	}
	return stream.SendAndClose(fileToProto(f))
}

// pieces returns the bytes of a stream message by message, and nothing at its end.
func pieces[M interface{ GetData() []byte }](receive func() (M, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		m, err := receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case len(m.GetData()) == 0:
			return nil, fault.Invalid("data", "must be in each message but the first")
		}
		return m.GetData(), nil
	}
}

// GetFile implements FileService.
func (s *Files) GetFile(ctx context.Context, req *sessionsv1.GetFileRequest) (*sessionsv1.File, error) {
	f, err := s.files.Get(ctx, req.GetFileId())
	if err != nil {
		return nil, err
	}
	return fileToProto(f), nil
}

// ListFiles implements FileService.
func (s *Files) ListFiles(ctx context.Context, req *sessionsv1.ListFilesRequest) (*sessionsv1.ListFilesResponse, error) {
	list := "files/" + access.Owner(ctx)
	var before idCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	rows, err := s.files.List(ctx, before.ID, size+1)
	if err != nil {
		return nil, err
	}
	out := &sessionsv1.ListFilesResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(f store.File) any { return idCursor{f.ID} })
	for _, f := range rows {
		out.Files = append(out.Files, fileToProto(f))
	}
	return out, nil
}

// ReadFile implements FileService.
func (s *Files) ReadFile(ctx context.Context, req *sessionsv1.ReadFileRequest) (*sessionsv1.ReadFileResponse, error) {
	f, data, err := s.files.Read(ctx, req.GetFileId(), req.GetOffset(), req.GetLength())
	if err != nil {
		return nil, err
	}
	return &sessionsv1.ReadFileResponse{File: fileToProto(f), Data: data}, nil
}

// DeleteFile implements FileService.
func (s *Files) DeleteFile(ctx context.Context, req *sessionsv1.DeleteFileRequest) (*sessionsv1.DeleteFileResponse, error) {
	if err := s.files.Delete(ctx, req.GetFileId()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteFileResponse{}, nil
}

func fileToProto(f store.File) *sessionsv1.File {
	return &sessionsv1.File{
		Id: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size, Sha256: f.SHA256, Width: int32(f.Width), Height: int32(f.Height),
		Subject: f.Subject, CreateTime: timestamp.Of(f.CreateTime),
	}
}
