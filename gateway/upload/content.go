package upload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Content returns the bytes of the file file_id, or the ranges that the request asks for.
func (f *Files) Content(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	var ctx context.Context
	err := noQuery(r.URL)
	if err == nil {
		ctx, err = f.api.Annotate(r.Context(), r, sessionsv1.FileService_ReadFile_FullMethodName)
	}
	var content *reader
	if err == nil {
		content = &reader{ctx: ctx, files: f.files, id: strings.ToValidUTF8(vars["file_id"], "\uFFFD")}
		err = content.fill()
	}
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	if strings.Contains(r.Header.Get("Range"), ",") { // many small ranges cost much more than the file
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	w.Header().Set(gzhttp.HeaderNoCompression, "1") // the ETag is that of the bytes
	w.Header().Set("ETag", `"`+content.file.GetSha256()+`"`)
	rest.SetAttachment(w.Header(), content.file.GetName(), content.file.GetMediaType())
	http.ServeContent(w, r, "", content.file.GetCreateTime().AsTime(), content)
}

// reader reads the bytes of a file. It implements io.ReadSeeker.
type reader struct {
	ctx   context.Context
	files sessionsv1.FileServiceClient
	id    string

	file *sessionsv1.File
	at   int64  // where the next byte is read
	have []byte // bytes from there on
}

// fill reads the next bytes.
func (r *reader) fill() error {
	resp, err := r.files.ReadFile(r.ctx, &sessionsv1.ReadFileRequest{FileId: r.id, Offset: r.at, Length: chunk})
	r.file, r.have = resp.GetFile(), resp.GetData()
	return err
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.have) == 0 {
		if r.at >= r.file.GetSize() {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
		if len(r.have) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	n := copy(p, r.have)
	r.at, r.have = r.at+int64(n), r.have[n:]
	return n, nil
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.file.GetSize()
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	switch skip := offset - r.at; {
	case skip < 0 || skip > int64(len(r.have)):
		r.have = nil
	default:
		r.have = r.have[skip:]
	}
	r.at = offset
	return r.at, nil
}
