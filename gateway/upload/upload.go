// Package upload serves files: it takes them as multipart/form-data and returns their bytes.
package upload

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

const (
	// chunk is how many bytes one message of an upload or of a read has.
	chunk = 1 << 20
	// chunkTime is how long a caller may take to send so many, and uploadTime to send a file.
	chunkTime, uploadTime = 30 * time.Second, 10 * time.Minute
	// partName is the name of the part that has the file.
	partName = "file"
)

// Files serves files.
type Files struct {
	api   *rest.API
	files sessionsv1.FileServiceClient
}

// New returns the handlers of files, which call the sessions service over a connection.
func New(api *rest.API, sessions grpc.ClientConnInterface) *Files {
	return &Files{api: api, files: sessionsv1.NewFileServiceClient(sessions)}
}

// Create stores the file of a request.
func (f *Files) Create(w http.ResponseWriter, r *http.Request, _ map[string]string) {
	created, err := f.create(w, r)
	var body []byte
	if err == nil {
		body, err = codec.Marshal(created)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	writeCreated(w, r, created.GetId(), body)
}

// writeCreated answers a request that has created something below its path, as JSON.
func writeCreated(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", r.URL.Path+"/"+url.PathEscape(id))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(append(body, '\n')) //nolint:gosec // JSON, and typed as such
}

func (f *Files) create(w http.ResponseWriter, r *http.Request) (*sessionsv1.File, error) {
	if err := noQuery(r.URL); err != nil {
		return nil, err
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNSUPPORTED_MEDIA_TYPE, "the body is not multipart/form-data").
			Hint(`Send the file as the part "file" of a form: curl -F file=@picture.png`)
	}
	ctx, cancel := context.WithTimeout(r.Context(), uploadTime)
	defer cancel() // also ends an upload that is not complete
	if ctx, err = f.api.Annotate(ctx, r, sessionsv1.FileService_UploadFile_FullMethodName); err != nil {
		return nil, err
	}
	part, err := nextPart(parts)
	switch {
	case err != nil:
		return nil, err
	case part == nil:
		return nil, fault.Invalid(partName, "is missing: the form has no such part")
	}
	stream, err := f.files.UploadFile(ctx)
	if err != nil {
		return nil, err
	}
	if err := send(stream, part, http.NewResponseController(w)); err != nil {
		return nil, err
	}
	switch more, err := nextPart(parts); {
	case err != nil:
		return nil, err
	case more != nil:
		return nil, fault.Invalid(partName, "is there twice: send one file in a request")
	}
	return stream.CloseAndRecv()
}

// nextPart returns the next part of a form, nil after the last one.
func nextPart(parts *multipart.Reader) (*multipart.Part, error) {
	part, err := parts.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, malformed(err)
	case part.FormName() != partName:
		return nil, fault.Invalid("form", "has a part %.64q: send the file as %q, and nothing else", part.FormName(), partName)
	}
	return part, nil
}

func malformed(err error) error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MALFORMED_BODY, "the form is damaged, or did not arrive in time").Cause(err)
}

// send passes a part on.
func send(stream grpc.ClientStreamingClient[sessionsv1.UploadFileRequest, sessionsv1.File], part *multipart.Part,
	rc *http.ResponseController,
) error {
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }() // net/http reads on, to notice that the caller leaves
	spec := &sessionsv1.FileSpec{
		Name: strings.ToValidUTF8(part.FileName(), "\uFFFD"), MediaType: strings.ToValidUTF8(part.Header.Get("Content-Type"), "\uFFFD"),
	}
	err := stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Spec{Spec: spec}})
	buf := make([]byte, chunk)
	for err == nil {
		_ = rc.SetReadDeadline(time.Now().Add(chunkTime)) // writers without deadlines occur in tests
		n, last, failed := readChunk(part, buf)
		if failed != nil {
			return malformed(failed)
		}
		if n > 0 {
			err = stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Data{Data: buf[:n:n]}})
		}
		if err == nil && last {
			return nil
		}
	}
	if errors.Is(err, io.EOF) { // the service has refused it
		_, err = stream.CloseAndRecv()
	}
	return err
}

// readChunk reads until a buffer is full, or the last byte was read. A part that breaks off is an error: io.ReadFull could not tell it
// from a short one.
func readChunk(from io.Reader, buf []byte) (n int, last bool, err error) {
	for n < len(buf) && err == nil {
		var more int
		more, err = from.Read(buf[n:])
		n += more
	}
	if errors.Is(err, io.EOF) {
		return n, true, nil
	}
	return n, false, err
}

// noQuery refuses query parameters, since there are none.
func noQuery(u *url.URL) error {
	query, err := rest.Query(u)
	if err != nil {
		return err
	}
	for name := range query {
		return rest.UnknownParameter(name, nil)
	}
	return nil
}
