package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/document"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// documents implements DocumentService.
type documents struct {
	knowledgev1.UnimplementedDocumentServiceServer
	documents  *document.Service
	ingestions *ingest.Service
}

// CreateDocument implements DocumentService.
func (s *documents) CreateDocument(ctx context.Context, req *knowledgev1.CreateDocumentRequest) (*knowledgev1.Document, error) {
	d, err := s.documents.Create(ctx, document.Spec{
		Bank: req.GetBankId(), Name: req.GetName(), MediaType: req.GetMediaType(), Labels: req.GetLabels(), Attributes: req.GetAttributes(),
	}, "text", []byte(req.GetText()))
	if err != nil {
		return nil, err
	}
	return documentToProto(d), nil
}

// UploadDocument implements DocumentService.
func (s *documents) UploadDocument(stream grpc.ClientStreamingServer[knowledgev1.UploadDocumentRequest, knowledgev1.Document]) error {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	spec := first.GetSpec()
	if spec == nil {
		return fault.Invalid("spec", "must be the first message of an upload")
	}
	d, err := s.documents.Upload(stream.Context(), document.Spec{
		Bank: spec.GetBankId(), Name: spec.GetDocument().GetName(), MediaType: spec.GetDocument().GetMediaType(),
		Labels: spec.GetDocument().GetLabels(), Attributes: spec.GetDocument().GetAttributes(),
	}, func() ([]byte, error) {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, err
		case len(m.GetData()) == 0:
			return nil, fault.Invalid("data", "must be in each message but the first")
		}
		return m.GetData(), nil
	})
	if err != nil {
		return err
	}
	return stream.SendAndClose(documentToProto(d))
}

// GetDocument implements DocumentService.
func (s *documents) GetDocument(ctx context.Context, req *knowledgev1.GetDocumentRequest) (*knowledgev1.Document, error) {
	d, err := s.documents.Get(ctx, req.GetBankId(), req.GetDocumentId())
	if err != nil {
		return nil, err
	}
	return documentToProto(d), nil
}

// ListDocuments implements DocumentService.
func (s *documents) ListDocuments(ctx context.Context, req *knowledgev1.ListDocumentsRequest) (*knowledgev1.ListDocumentsResponse, error) {
	list := "documents/" + req.GetBankId()
	var before string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	rows, err := s.documents.List(ctx, req.GetBankId(), before, size+1)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.ListDocumentsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(d store.Document) any { return d.ID })
	for _, d := range rows {
		out.Documents = append(out.Documents, documentToProto(d))
	}
	return out, nil
}

// ReadDocument implements DocumentService.
func (s *documents) ReadDocument(ctx context.Context, req *knowledgev1.ReadDocumentRequest) (*knowledgev1.ReadDocumentResponse, error) {
	d, r, err := s.documents.Read(ctx, req.GetBankId(), req.GetDocumentId(), req.GetVersion(), req.GetStart(), req.GetEnd())
	if err != nil {
		return nil, err
	}
	return &knowledgev1.ReadDocumentResponse{
		Document: documentToProto(d), Version: r.Version, Start: r.Start, End: r.End, Text: r.Text, TextBytes: r.Size,
	}, nil
}

// DeleteDocument implements DocumentService.
func (s *documents) DeleteDocument(ctx context.Context, req *knowledgev1.DeleteDocumentRequest) (*knowledgev1.DeleteDocumentResponse,
	error,
) {
	if err := s.documents.Delete(ctx, req.GetBankId(), req.GetDocumentId()); err != nil {
		return nil, err
	}
	return &knowledgev1.DeleteDocumentResponse{}, nil
}
