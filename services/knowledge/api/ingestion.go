package api

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
	"github.com/windlass-dev/windlass/services/knowledge/syncs"
)

// ingestion implements IngestionService.
type ingestion struct {
	knowledgev1.UnimplementedIngestionServiceServer
	ingestions *ingest.Service
	syncs      *syncs.Service
}

// RunSync implements IngestionService.
func (s *ingestion) RunSync(ctx context.Context, req *knowledgev1.RunSyncRequest) (*knowledgev1.RunSyncResponse, error) {
	outcome, err := s.syncs.Sync(ctx, req.GetTenant(), req.GetSync())
	if err != nil {
		return nil, err
	}
	return &knowledgev1.RunSyncResponse{Outcome: enum.Parse[knowledgev1.SyncOutcome](string(outcome))}, nil
}

// IngestVersion implements IngestionService.
func (s *ingestion) IngestVersion(ctx context.Context, req *knowledgev1.IngestVersionRequest) (*knowledgev1.IngestVersionResponse, error) {
	outcome, err := s.ingestions.Ingest(ctx, req.GetTenant(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &knowledgev1.IngestVersionResponse{Outcome: enum.Parse[knowledgev1.IngestionOutcome](string(outcome))}, nil
}

// RetryDocument implements DocumentService.
func (s *documents) RetryDocument(ctx context.Context, req *knowledgev1.RetryDocumentRequest) (*knowledgev1.Document, error) {
	d, err := s.documents.Get(ctx, req.GetBankId(), req.GetDocumentId())
	if err != nil {
		return nil, err
	}
	d, err = s.ingestions.Retry(ctx, d.Tenant, d.Bank, d.ID, ids.New(ids.Version))
	return changed(d, err, req.GetDocumentId(), "only documents that are failed or cancelled can be retried")
}

// CancelDocument implements DocumentService.
func (s *documents) CancelDocument(ctx context.Context, req *knowledgev1.CancelDocumentRequest) (*knowledgev1.Document, error) {
	d, err := s.documents.Get(ctx, req.GetBankId(), req.GetDocumentId())
	if err != nil {
		return nil, err
	}
	d, err = s.ingestions.Cancel(ctx, d.Tenant, d.Bank, d.ID)
	return changed(d, err, req.GetDocumentId(), "only documents that are queued or ingesting can be cancelled")
}

// changed returns a document whose ingestion was changed, or the fault for an error of that.
func changed(d store.Document, err error, id, rule string) (*knowledgev1.Document, error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, access.NoDocument(id)
	case errors.Is(err, store.ErrState):
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "document %q is %s: %s", id, d.State, rule)
	case err != nil:
		return nil, err
	}
	return documentToProto(d), nil
}
