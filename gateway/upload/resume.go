package upload

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// The tus protocol (https://tus.io/protocols/resumable-upload) with the extensions creation, expiration and termination.
const (
	tusVersion  = "1.0.0"
	tusHeader   = "Tus-Resumable"
	offsetType  = "application/offset+octet-stream"
	offset      = "Upload-Offset"
	length      = "Upload-Length"
	metadata    = "Upload-Metadata"
	expires     = "Upload-Expires"
	maxMetadata = 4 << 10
	// appendChunk is how many bytes are passed on at a time: when a connection breaks, at most so many are sent again.
	appendChunk = 256 << 10
)

// ResumeHeaders are the headers of uploads that web pages send and read.
const ResumeHeaders = tusHeader + ", " + offset + ", " + length + ", " + metadata + ", " + expires

// handler serves a request about an upload, "" before it has an id.
type handler = func(ctx context.Context, w http.ResponseWriter, r *http.Request, id string) error

// resumable serves a request of the tus protocol: handle writes the response unless there is an error.
func (f *Files) resumable(rpc string, handle handler) func(http.ResponseWriter, *http.Request, map[string]string) {
	return func(w http.ResponseWriter, r *http.Request, vars map[string]string) {
		w.Header().Set(tusHeader, tusVersion)
		if v := r.Header.Get(tusHeader); v != "" && v != tusVersion {
			w.Header().Set("Tus-Version", tusVersion)
			problem.WriteStatus(w, r, http.StatusPreconditionFailed,
				fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_FAILED_PRECONDITION, "the header %s is not %s", tusHeader, tusVersion).
					Hint("Uploads in parts follow version "+tusVersion+" of the tus protocol."))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), uploadTime)
		defer cancel()
		err := noQuery(r.URL)
		if err == nil {
			ctx, err = f.api.Annotate(ctx, r, rpc)
		}
		if err == nil {
			err = handle(ctx, w, r, text(vars["upload_id"]))
		}
		if err != nil {
			problem.Write(w, r, err)
		}
	}
}

// Begin begins an upload in parts.
func (f *Files) Begin() func(http.ResponseWriter, *http.Request, map[string]string) {
	const rpc = sessionsv1.FileService_CreateUpload_FullMethodName
	return f.resumable(rpc, func(ctx context.Context, w http.ResponseWriter, r *http.Request, _ string) error {
		size, err := number(r, length)
		if err != nil {
			return err
		}
		if r.ContentLength != 0 {
			return fault.Invalid("body", "is not empty: send the bytes with PATCH to the address in Location")
		}
		spec, err := declared(r.Header.Get(metadata))
		if err != nil {
			return err
		}
		u, err := f.files.CreateUpload(ctx, &sessionsv1.CreateUploadRequest{Spec: spec, Size: size})
		if err != nil {
			return err
		}
		progress(w, u)
		answer(w, r, u, u.GetId(), nil)
		return nil
	})
}

// Progress returns how much of an upload has arrived.
func (f *Files) Progress() func(http.ResponseWriter, *http.Request, map[string]string) {
	const rpc = sessionsv1.FileService_GetUpload_FullMethodName
	return f.resumable(rpc, func(ctx context.Context, w http.ResponseWriter, _ *http.Request, id string) error {
		u, err := f.files.GetUpload(ctx, &sessionsv1.GetUploadRequest{UploadId: id})
		if err != nil {
			return err
		}
		w.Header().Set(length, strconv.FormatInt(u.GetSize(), 10))
		w.Header().Set("Cache-Control", "no-store")
		progress(w, u)
		return nil
	})
}

// Append adds the bytes of a request to an upload.
func (f *Files) Append() func(http.ResponseWriter, *http.Request, map[string]string) {
	const rpc = sessionsv1.FileService_AppendUpload_FullMethodName
	return f.resumable(rpc, func(ctx context.Context, w http.ResponseWriter, r *http.Request, id string) error {
		at, err := position(r)
		if err != nil { // about an upload that is there
			if _, missing := f.files.GetUpload(ctx, &sessionsv1.GetUploadRequest{UploadId: id}); missing != nil {
				return missing
			}
			return err
		}
		u, err := f.add(ctx, &sessionsv1.UploadPosition{UploadId: id, Offset: at}, r.Body, http.NewResponseController(w))
		if err != nil {
			return err
		}
		progress(w, u)
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

// Abandon deletes an upload.
func (f *Files) Abandon() func(http.ResponseWriter, *http.Request, map[string]string) {
	const rpc = sessionsv1.FileService_DeleteUpload_FullMethodName
	return f.resumable(rpc, func(ctx context.Context, w http.ResponseWriter, _ *http.Request, id string) error {
		_, err := f.files.DeleteUpload(ctx, &sessionsv1.DeleteUploadRequest{UploadId: id})
		if err == nil {
			w.WriteHeader(http.StatusNoContent)
		}
		return err
	})
}

// position returns where the bytes of a request belong.
func position(r *http.Request) (int64, error) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != offsetType {
		return 0, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNSUPPORTED_MEDIA_TYPE, "the body is not %s", offsetType).
			Hint("Send the bytes with the header Content-Type: " + offsetType + ".")
	}
	return number(r, offset)
}

// add passes on the bytes of a body.
func (f *Files) add(ctx context.Context, to *sessionsv1.UploadPosition, body io.Reader, rc *http.ResponseController) (
	*sessionsv1.Upload, error,
) {
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	stream, err := f.files.AppendUpload(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&sessionsv1.AppendUploadRequest{Message: &sessionsv1.AppendUploadRequest_Position{Position: to}})
	buf := make([]byte, appendChunk)
	for err == nil {
		_ = rc.SetReadDeadline(time.Now().Add(chunkTime))
		n, last, failed := readChunk(body, buf)
		if n > 0 {
			err = stream.Send(&sessionsv1.AppendUploadRequest{Message: &sessionsv1.AppendUploadRequest_Data{Data: buf[:n:n]}})
		}
		switch {
		case err != nil:
		case failed != nil:
			_, _ = stream.CloseAndRecv() // what has arrived is kept
			return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY, "the body ended too early").Cause(failed)
		case last:
			return stream.CloseAndRecv()
		}
	}
	if errors.Is(err, io.EOF) { // the service has refused it
		return stream.CloseAndRecv()
	}
	return nil, err
}

// progress sets the headers that say how far an upload is.
func progress(w http.ResponseWriter, u *sessionsv1.Upload) {
	w.Header().Set(offset, strconv.FormatInt(u.GetOffset(), 10))
	w.Header().Set(expires, u.GetExpireTime().AsTime().UTC().Format(http.TimeFormat))
}

// number returns the value of a header that is a number of bytes.
func number(r *http.Request, header string) (int64, error) {
	n, err := strconv.ParseInt(r.Header.Get(header), 10, 64)
	if err != nil || n < 0 {
		return 0, fault.Invalid(header, "%.32q is not a number of bytes", r.Header.Get(header))
	}
	return n, nil
}

// declared reads the name and the media type of a file from the metadata of an upload: pairs of a key and a value in base64. Clients name
// them in several ways. Other keys are ignored.
func declared(pairs string) (*sessionsv1.FileSpec, error) {
	spec := &sessionsv1.FileSpec{}
	if len(pairs) > maxMetadata {
		return nil, fault.Invalid(metadata, "has more than %d bytes", maxMetadata)
	}
	for pair := range strings.SplitSeq(pairs, ",") {
		key, encoded, _ := strings.Cut(strings.TrimSpace(pair), " ")
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, fault.Invalid(metadata, "the value of %.64q is not base64", key)
		}
		switch key {
		case "filename", "name":
			spec.Name = text(string(value))
		case "filetype", "type":
			spec.MediaType = text(string(value))
		}
	}
	return spec, nil
}
