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
	"google.golang.org/protobuf/proto"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

// UploadDocument stores what its caller sends.
func (u *upstream) UploadDocument(stream grpc.ClientStreamingServer[knowledgev1.UploadDocumentRequest, knowledgev1.Document]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if err := u.asked(stream.Context(), first); err != nil {
		return err
	}
	spec := first.GetSpec().GetDocument()
	d := &knowledgev1.Document{Id: "doc_1", BankId: first.GetSpec().GetBankId(), Name: spec.GetName()}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(d)
		}
		if err != nil {
			return err
		}
		d.Size += int64(len(m.GetData()))
	}
}

// CreateDocument returns a document with the name of the request.
func (u *upstream) CreateDocument(ctx context.Context, r *knowledgev1.CreateDocumentRequest) (*knowledgev1.Document, error) {
	return &knowledgev1.Document{Id: "doc_2", BankId: r.GetBankId(), Name: r.GetName()}, u.asked(ctx, r)
}

// documentForm writes a form with fields and then a file.
func documentForm(t *testing.T, name, kind, content string, fields ...[2]string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	if kind != "none" {
		h := map[string][]string{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}}
		if kind != "" {
			h["Content-Type"] = []string{kind}
		}
		part, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(part, content)
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

// TestADocumentIsAFormOrJSON: the media type of the body decides at the one path.
func TestADocumentIsAFormOrJSON(t *testing.T) {
	s := serve(t, nil)
	const path = "/v1/banks/b/documents"
	got := s.do("POST", path, `{"name":"dir/a.md","text":"x"}`, "Content-Type", "application/json")
	if location := got.header.Get("Location"); got.status != http.StatusCreated || location != path+"/doc_2" {
		t.Errorf("JSON: %d at %q, %s", got.status, location, got.body)
	}
	for _, row := range []struct {
		name, file, kind string
		fields           [][2]string
		want             *knowledgev1.DocumentSpec
	}{
		{"a file", "a.md", "text/markdown", nil, &knowledgev1.DocumentSpec{Name: "a.md", MediaType: "text/markdown"}},
		{"a type that the client does not know", "a.md", "application/octet-stream", nil, &knowledgev1.DocumentSpec{Name: "a.md"}},
		{
			"fields", "a.md", "",
			[][2]string{{"name", "dir/b.md"}, {"labels", "x"}, {"labels", "y"}, {"attributes", "a=b=c"}},
			&knowledgev1.DocumentSpec{Name: "dir/b.md", Labels: []string{"x", "y"}, Attributes: map[string]string{"a": "b=c"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, kind := documentForm(t, row.file, row.kind, stored[:chunkAndMore], row.fields...)
			got := s.do("POST", path, body, "Content-Type", kind)
			if got.status != http.StatusCreated || got.header.Get("Location") != path+"/doc_1" || !strings.Contains(string(got.body), `"size":"1500000"`) {
				t.Errorf("%d at %q, %s", got.status, got.header.Get("Location"), got.body)
			}
			sent, _ := s.up.request().(*knowledgev1.UploadDocumentRequest)
			if spec := sent.GetSpec(); spec.GetBankId() != "b" || !proto.Equal(spec.GetDocument(), row.want) {
				t.Errorf("sent %v, want %v", spec, row.want)
			}
		})
	}
}

// chunkAndMore is more than a message of an upload has.
const chunkAndMore = 1_500_000

func TestBadFormsOfDocuments(t *testing.T) {
	s := serve(t, nil)
	many := make([][2]string, 65)
	for i := range many {
		many[i] = [2]string{"labels", "x"}
	}
	for _, row := range []struct {
		name, kind string
		fields     [][2]string
		detail     string
	}{
		{"no file", "none", nil, "is missing"},
		{"an unknown field", "", [][2]string{{"purpose", "x"}}, "purpose"},
		{"an attribute without value", "", [][2]string{{"attributes", "x"}}, "NAME=VALUE"},
		{"a long field", "", [][2]string{{"name", strings.Repeat("x", 3000)}}, "more than 2048 bytes"},
		{"many fields", "", many, "more than 64 parts"},
	} {
		t.Run(row.name, func(t *testing.T) {
			body, kind := documentForm(t, "a.md", row.kind, "x", row.fields...)
			got := s.do("POST", "/v1/banks/b/documents", body, "Content-Type", kind)
			if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), row.detail) {
				t.Errorf("%d, %s", got.status, got.body)
			}
		})
	}
}
