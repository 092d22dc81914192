package upload

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/fault"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
)

const (
	// maxField is the maximum size in bytes of a part before the file, and maxFields the maximum number of these parts.
	maxField, maxFields = 2 << 10, 64
	// unknownType is what clients send that do not know a file's type.
	unknownType = "application/octet-stream"
)

// Documents takes documents of banks.
type Documents struct {
	api       *rest.API
	documents knowledgev1.DocumentServiceClient
}

// NewDocuments returns the handler of documents, which calls the knowledge service over a connection.
func NewDocuments(api *rest.API, knowledge grpc.ClientConnInterface) *Documents {
	return &Documents{api: api, documents: knowledgev1.NewDocumentServiceClient(knowledge)}
}

// Create stores the file of a form as a document of the bank bank_id. Before the part "file", the form may have parts "name" (else the
// file's name), "labels" (a label in each) and "attributes" (NAME=VALUE in each).
func (d *Documents) Create(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	created, err := d.create(w, r, text(vars["bank_id"]))
	answer(w, r, created, created.GetId(), err)
}

func (d *Documents) create(w http.ResponseWriter, r *http.Request, bank string) (*knowledgev1.Document, error) {
	ctx, parts, cancel, err := begin(d.api, r, knowledgev1.DocumentService_UploadDocument_FullMethodName)
	if err != nil {
		return nil, err
	}
	defer cancel()
	spec := &knowledgev1.DocumentSpec{}
	part, err := fields(parts, spec)
	if err != nil {
		return nil, err
	}
	if spec.GetName() == "" {
		spec.Name = text(part.FileName())
	}
	spec.MediaType = text(part.Header.Get("Content-Type"))
	if kind, _, err := mime.ParseMediaType(spec.GetMediaType()); err == nil && kind == unknownType {
		spec.MediaType = ""
	}
	stream, err := d.documents.UploadDocument(ctx)
	if err != nil {
		return nil, err
	}
	err = stream.Send(&knowledgev1.UploadDocumentRequest{Message: &knowledgev1.UploadDocumentRequest_Spec{
		Spec: &knowledgev1.UploadSpec{BankId: bank, Document: spec},
	}})
	if err == nil {
		err = send(part, http.NewResponseController(w), func(data []byte) error {
			return stream.Send(&knowledgev1.UploadDocumentRequest{Message: &knowledgev1.UploadDocumentRequest_Data{Data: data}})
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

// fields reads the parts of a form into spec, up to the one with the file, which it returns.
func fields(parts *multipart.Reader, spec *knowledgev1.DocumentSpec) (*multipart.Part, error) {
	for range maxFields {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, errNoFile()
		case err != nil:
			return nil, malformed(err)
		case part.FormName() == partName:
			return part, nil
		}
		raw, err := io.ReadAll(io.LimitReader(part, maxField+1))
		switch {
		case err != nil:
			return nil, malformed(err)
		case len(raw) > maxField:
			return nil, fault.Invalid("form", "has a part %.64q of more than %d bytes", text(part.FormName()), maxField)
		}
		switch value := text(string(raw)); part.FormName() {
		case "name":
			spec.Name = value
		case "labels":
			spec.Labels = append(spec.Labels, value)
		case "attributes":
			name, value, ok := strings.Cut(value, "=")
			if !ok {
				return nil, fault.Invalid("attributes", "must be NAME=VALUE in each part")
			}
			if spec.Attributes == nil {
				spec.Attributes = map[string]string{}
			}
			spec.Attributes[name] = value
		default:
			return nil, fault.Invalid("form", "has a part %.64q: there are %q, and before it name, labels and attributes", text(part.FormName()),
				partName)
		}
	}
	return nil, fault.Invalid("form", "has more than %d parts before the file", maxFields)
}
