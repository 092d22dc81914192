package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// CreateUpload begins an upload of which four bytes have arrived.
func (u *upstream) CreateUpload(ctx context.Context, r *sessionsv1.CreateUploadRequest) (*sessionsv1.Upload, error) {
	return &sessionsv1.Upload{
		Id: "upl_1", Name: r.GetSpec().GetName(), MediaType: r.GetSpec().GetMediaType(), Size: r.GetSize(), Offset: 4,
	}, u.asked(ctx, r)
}

func (u *upstream) GetUpload(ctx context.Context, r *sessionsv1.GetUploadRequest) (*sessionsv1.Upload, error) {
	return &sessionsv1.Upload{Id: r.GetUploadId(), Size: 10, Offset: 4}, u.asked(ctx, r)
}

func (u *upstream) DeleteUpload(ctx context.Context, r *sessionsv1.DeleteUploadRequest) (*sessionsv1.DeleteUploadResponse, error) {
	return &sessionsv1.DeleteUploadResponse{}, u.asked(ctx, r)
}

// AppendUpload counts the bytes that arrive.
func (u *upstream) AppendUpload(stream grpc.ClientStreamingServer[sessionsv1.AppendUploadRequest, sessionsv1.Upload]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := u.asked(stream.Context(), first); err != nil {
		return err
	}
	to := &sessionsv1.Upload{Id: first.GetPosition().GetUploadId(), Size: 1 << 30, Offset: first.GetPosition().GetOffset()}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(to)
		}
		if err != nil {
			return err
		}
		to.Offset += int64(len(m.GetData()))
	}
}

// TestResumableUploads covers the requests of the tus protocol, and those that are refused.
func TestResumableUploads(t *testing.T) {
	s := serve(t, nil)
	const one, tus, bytes = "/v1/uploads/upl_1", "Tus-Resumable", "application/offset+octet-stream"
	for _, row := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		want                     string // of the body
		offset                   string
	}{
		{
			name: "begin", method: "POST", path: "/v1/uploads", header: []string{
				tus, "1.0.0", "Upload-Length", "10", "Upload-Metadata", "filename Y2F0LnBuZw==,filetype aW1hZ2UvcG5n,relativePath bnVsbA==,empty",
			},
			status: 201, want: `{"id":"upl_1","name":"cat.png","media_type":"image/png","size":"10"`, offset: "4",
		},
		{name: "progress", method: "HEAD", path: one, header: []string{tus, "1.0.0"}, status: 200, offset: "4"},
		{name: "progress as JSON", method: "GET", path: one, status: 200, want: `"offset":"4"`},
		{
			name: "bytes", method: "PATCH", path: one, body: strings.Repeat("x", 3<<20), // more than gateway.max_body
			header: []string{tus, "1.0.0", "Upload-Offset", "4", "Content-Type", bytes}, status: 204, offset: "3145732",
		},
		{
			name: "no bytes", method: "PATCH", path: one, header: []string{"Upload-Offset", "4", "Content-Type", bytes}, status: 204,
			offset: "4",
		},
		{name: "delete", method: "DELETE", path: one, header: []string{tus, "1.0.0"}, status: 204},
		{name: "another version", method: "HEAD", path: one, header: []string{tus, "0.2.2"}, status: 412},
		{name: "no length", method: "POST", path: "/v1/uploads", status: 400, want: "Upload-Length"},
		{
			name: "a negative length", method: "POST", path: "/v1/uploads", header: []string{"Upload-Length", "-1"}, status: 400,
			want: "Upload-Length",
		},
		{
			name: "bytes at once", method: "POST", path: "/v1/uploads", body: "xx", header: []string{"Upload-Length", "2"}, status: 400,
			want: "PATCH",
		},
		{
			name: "metadata in clear", method: "POST", path: "/v1/uploads", status: 400, want: "base64",
			header: []string{"Upload-Length", "2", "Upload-Metadata", "filename a.b"},
		},
		{
			name: "much metadata", method: "POST", path: "/v1/uploads", status: 400, want: "4096 bytes",
			header: []string{"Upload-Length", "2", "Upload-Metadata", "a " + strings.Repeat("A", 5000)},
		},
		{
			name: "another type", method: "PATCH", path: one, body: "xx", header: []string{"Upload-Offset", "4", "Content-Type", "image/png"},
			status: 415, want: bytes,
		},
		{
			name: "no offset", method: "PATCH", path: one, body: "xx", header: []string{"Content-Type", bytes}, status: 400,
			want: "Upload-Offset",
		},
		{name: "a parameter", method: "HEAD", path: one + "?x=1", status: 400},
	} {
		got := s.do(row.method, row.path, row.body, row.header...)
		if got.status != row.status || !strings.Contains(string(got.body), row.want) || got.header.Get("Upload-Offset") != row.offset {
			t.Errorf("%s: got %d %s %v, want %d %s with the offset %q", row.name, got.status, got.body, got.header, row.status, row.want,
				row.offset)
		}
	}
	if begun := s.do("POST", "/v1/uploads", "", "Upload-Length", "10"); begun.header.Get("Location") != one {
		t.Errorf("an upload has begun at %q, want %q", begun.header.Get("Location"), one)
	}
	s.up.fail(fault.Conflict("the upload has 7 bytes"))
	moved := s.do("PATCH", one, "xx", "Upload-Offset", "4", "Content-Type", bytes)
	if moved.status != http.StatusConflict || !strings.Contains(string(moved.body), "7 bytes") {
		t.Errorf("another offset is answered with %d %s", moved.status, moved.body)
	}
}
