// Package upload serves files: it takes them, and documents, as multipart/form-data and returns the bytes of files.
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
	"google.golang.org/protobuf/proto"

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
	answer(w, r, created, created.GetId(), err)
}

// answer returns what was created, which is found by its id below the path of the request.
func answer(w http.ResponseWriter, r *http.Request, created proto.Message, id string, err error) {
	var body []byte
	if err == nil {
		body, err = codec.Marshal(created)
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", r.URL.Path+"/"+url.PathEscape(id))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(append(body, '\n')) //nolint:gosec // JSON, and typed as such
}

func (f *Files) create(w http.ResponseWriter, r *http.Request) (*sessionsv1.File, error) {
	ctx, parts, cancel, err := begin(f.api, r, sessionsv1.FileService_UploadFile_FullMethodName)
	if err != nil {
		return nil, err
	}
	defer cancel()
	part, err := nextPart(parts)
	switch {
	case err != nil:
		return nil, err
	case part == nil:
		return nil, errNoFile()
	}
	stream, err := f.files.UploadFile(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Spec{
		Spec: &sessionsv1.FileSpec{Name: text(part.FileName()), MediaType: text(part.Header.Get("Content-Type"))},
	}})
	if err == nil {
		err = send(part, http.NewResponseController(w), func(data []byte) error {
			return stream.Send(&sessionsv1.UploadFileRequest{Message: &sessionsv1.UploadFileRequest_Data{Data: data}})
		})
	}
	switch {
	case errors.Is(err, io.EOF): // the service has refused it
		return stream.CloseAndRecv()
	case err != nil:
		return nil, err
	}
	if err := checkLast(parts); err != nil {
		return nil, err
	}
	return stream.CloseAndRecv()
}

// begin checks that a request has a form, and returns its parts with the context of the call that stores them. cancel also ends an upload
// that is not complete.
func begin(api *rest.API, r *http.Request, rpc string) (_ context.Context, _ *multipart.Reader, cancel context.CancelFunc, err error) {
	if err := noQuery(r.URL); err != nil {
		return nil, nil, nil, err
	}
	parts, err := r.MultipartReader()
	if err != nil {
		e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_UNSUPPORTED_MEDIA_TYPE, "the body is not multipart/form-data")
		return nil, nil, nil, e.Hint(`Send the file as the part "file" of a form: curl -F file=@picture.png`)
	}
	ctx, cancel := context.WithTimeout(r.Context(), uploadTime)
	if ctx, err = api.Annotate(ctx, r, rpc); err != nil {
		cancel()
		return nil, nil, nil, err
	}
	return ctx, parts, cancel, nil
}

func errNoFile() error { return fault.Invalid(partName, "is missing: the form has no such part") }

// text returns what a form has as text that can be sent.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// checkLast returns nil if the part with the file was the last one.
func checkLast(parts *multipart.Reader) error {
	switch more, err := nextPart(parts); {
	case err != nil:
		return err
	case more != nil:
		return fault.Invalid(partName, "is there twice: send one file in a request")
	}
	return nil
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

// send passes the bytes of a part on, in pieces. It returns what piece returns.
func send(part *multipart.Part, rc *http.ResponseController, piece func([]byte) error) error {
	defer func() { _ = rc.SetReadDeadline(time.Time{}) }() // net/http reads on, to notice that the caller leaves
	buf := make([]byte, chunk)
	for {
		_ = rc.SetReadDeadline(time.Now().Add(chunkTime)) // writers without deadlines occur in tests
		n, last, err := readChunk(part, buf)
		if err != nil {
			return malformed(err)
		}
		if n > 0 {
			if err := piece(buf[:n:n]); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
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
