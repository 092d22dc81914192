package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// stored is the content of every file of the fake.
var stored = strings.Repeat("0123456789", 300_000)

// UploadFile stores what its caller sends as the name and the size of a file.
func (u *upstream) UploadFile(stream grpc.ClientStreamingServer[sessionsv1.UploadFileRequest, sessionsv1.File]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := u.asked(stream.Context(), first); err != nil {
		return err
	}
	f := &sessionsv1.File{Id: "fil_1", Name: first.GetSpec().GetName(), MediaType: first.GetSpec().GetMediaType()}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(f)
		}
		if err != nil {
			return err
		}
		f.Size += int64(len(m.GetData()))
	}
}

func (u *upstream) ReadFile(ctx context.Context, r *sessionsv1.ReadFileRequest) (*sessionsv1.ReadFileResponse, error) {
	from := min(r.GetOffset(), int64(len(stored)))
	to := min(from+r.GetLength(), int64(len(stored)))
	return &sessionsv1.ReadFileResponse{
		File: &sessionsv1.File{
			Id: r.GetFileId(), Name: "a \"b\".txt", MediaType: "text/html", Size: int64(len(stored)), Sha256: "abc",
			CreateTime: &timestamppb.Timestamp{Seconds: 1},
		},
		Data: []byte(stored[from:to]),
	}, u.asked(ctx, r)
}

// form writes a form whose parts have their names, file names and contents.
func form(t *testing.T, parts ...[3]string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		part, err := w.CreateFormFile(p[0], p[1])
		if err == nil {
			_, err = io.WriteString(part, p[2])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// TestUploads covers forms that are stored and those that are refused.
func TestUploads(t *testing.T) {
	s := serve(t, nil)
	large := strings.Repeat("x", 3<<20) // more than gateway.max_body
	one, typeOne := form(t, [3]string{"file", "cat.png", large})
	got := s.do("POST", "/v1/files", one, "Content-Type", typeOne)
	want := `"id":"fil_1","name":"cat.png","media_type":"application/octet-stream","size":"3145728"`
	if got.status != http.StatusCreated || !strings.Contains(string(got.body), want) ||
		got.header.Get("Location") != "/v1/files/fil_1" {
		t.Errorf("got %d %s %v, want %s", got.status, got.body, got.header, want)
	}
	empty, typeEmpty := form(t)
	two, typeTwo := form(t, [3]string{"file", "a", "a"}, [3]string{"file", "b", "b"})
	other, typeOther := form(t, [3]string{"purpose", "a", "a"})
	for _, row := range []struct{ name, path, body, contentType, want string }{
		{"JSON", "/v1/files", `{"name":"x"}`, "application/json", "multipart/form-data"},
		{"no part", "/v1/files", empty, typeEmpty, "is missing"},
		{"two files", "/v1/files", two, typeTwo, "twice"},
		{"another part", "/v1/files", other, typeOther, "purpose"},
		{"a form that is cut off", "/v1/files", one[:len(one)-20], typeOne, "damaged"},
		{"a parameter", "/v1/files?name=x", one, typeOne, "name"},
	} {
		got := s.do("POST", row.path, row.body, "Content-Type", row.contentType)
		if got.status != http.StatusBadRequest && got.status != http.StatusUnsupportedMediaType || !strings.Contains(string(got.body), row.want) {
			t.Errorf("%s: got %d %s, want %q", row.name, got.status, got.body, row.want)
		}
	}
	s.up.fail(fault.Invalid("file", "is declared as image/png, but its content is text/plain"))
	if got := s.do("POST", "/v1/files", one, "Content-Type", typeOne); got.status != http.StatusBadRequest ||
		!strings.Contains(string(got.body), "its content is text/plain") {
		t.Errorf("a refusal is %d %s", got.status, got.body)
	}
}

// TestFileContent covers the bytes of a file, whole and in ranges.
func TestFileContent(t *testing.T) {
	s := serve(t, nil)
	const path = "/v1/files/fil_1/content"
	whole := s.do("GET", path, "")
	if string(whole.body) != stored || whole.header.Get("Content-Type") != "text/html" || whole.header.Get("ETag") != `"abc"` ||
		whole.header.Get("Content-Disposition") != `attachment; filename="a \"b\".txt"` ||
		whole.header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || whole.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %d bytes, %v", len(whole.body), whole.header)
	}
	part := s.do("GET", path, "", "Range", "bytes=2999995-")
	if part.status != http.StatusPartialContent || string(part.body) != "56789" {
		t.Errorf("the end is %d %.20q", part.status, part.body)
	}
	if many := s.do("GET", path, "", "Range", "bytes=0-0,2-2"); many.status != http.StatusOK || string(many.body) != stored {
		t.Errorf("several ranges are %d with %d bytes, want the whole", many.status, len(many.body))
	}
	if known := s.do("GET", path, "", "If-None-Match", `"abc"`); known.status != http.StatusNotModified {
		t.Errorf("a known file is answered with %d", known.status)
	}
	if head := s.do("HEAD", path, ""); head.status != http.StatusOK || len(head.body) != 0 || head.header.Get("Content-Length") != "3000000" {
		t.Errorf("HEAD is answered with %d, %v", head.status, head.header)
	}
	if wrong := s.do("PUT", path, ""); wrong.status != http.StatusMethodNotAllowed || !strings.Contains(wrong.header.Get("Allow"), "GET") {
		t.Errorf("PUT is answered with %d, %v", wrong.status, wrong.header)
	}
	s.up.fail(fault.NotFound("file %q does not exist", "fil_1"))
	if gone := s.do("GET", path, ""); gone.status != http.StatusNotFound || gone.header.Get("Content-Disposition") != "" {
		t.Errorf("a file that is gone is answered with %d, %v", gone.status, gone.header)
	}
}

// TestInputMayBeContent: content parts may stand in place of the text of an input.
func TestInputMayBeContent(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]int{
		`{"input":[{"text":"what is it?"},{"file":{"file_id":"fil_1"}}]}`:    2,
		`{"input" : [ {"text":"a"} ]}`:                                       1,
		`{"input":"the text \"input\":[ of a person"}`:                       0,
		`{"content":[{"text":"\"input\":["},{"text":"b"},{"text":"input"}]}`: 3,
	} {
		got := s.do("POST", "/v1/sessions/ses_1/turns", body)
		req, _ := s.up.request().(*sessionsv1.CreateTurnRequest)
		if got.status != http.StatusAccepted || len(req.GetContent()) != want {
			t.Errorf("%s: %d %s, content %v", body, got.status, got.body, req.GetContent())
		}
	}
	both := s.do("POST", "/v1/sessions/ses_1/turns", `{"input":[{"text":"a"}],"content":[{"text":"b"}]}`)
	if both.status != http.StatusBadRequest || !strings.Contains(string(both.body), "input") {
		t.Errorf("both: %d %s", both.status, both.body)
	}
}
