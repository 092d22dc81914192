package api

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/page"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/banksource"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// sources implements BankSourceService.
type sources struct {
	knowledgev1.UnimplementedBankSourceServiceServer
	sources *banksource.Service
}

// CreateBankSource implements BankSourceService.
func (s *sources) CreateBankSource(ctx context.Context, req *knowledgev1.CreateBankSourceRequest) (*knowledgev1.BankSource, error) {
	in := req.GetSource()
	return sourceAnswer(s.sources.Create(ctx, req.GetBankId(), store.SourceSpec{
		Kind: in.GetKind(), URL: in.GetUrl(), Folder: in.GetFolder(), MCPSource: in.GetMcpSource(), URI: in.GetUri(),
		Labels: in.GetLabels(), Attributes: in.GetAttributes(),
		Interval: time.Duration(in.GetIntervalSeconds()) * time.Second,
	}))
}

// GetBankSource implements BankSourceService.
func (s *sources) GetBankSource(ctx context.Context, req *knowledgev1.GetBankSourceRequest) (*knowledgev1.BankSource, error) {
	return sourceAnswer(s.sources.Get(ctx, req.GetBankId(), req.GetSourceId()))
}

// ListBankSources implements BankSourceService.
func (s *sources) ListBankSources(ctx context.Context, req *knowledgev1.ListBankSourcesRequest,
) (*knowledgev1.ListBankSourcesResponse, error) {
	list := "bank sources " + req.GetBankId()
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.sources.List(ctx, req.GetBankId(), after, size+1)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.ListBankSourcesResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(src store.Source) any { return src.ID })
	for _, src := range rows {
		out.Sources = append(out.Sources, sourceToProto(src))
	}
	return out, nil
}

// DeleteBankSource implements BankSourceService.
func (s *sources) DeleteBankSource(ctx context.Context, req *knowledgev1.DeleteBankSourceRequest,
) (*knowledgev1.DeleteBankSourceResponse, error) {
	if err := s.sources.Delete(ctx, req.GetBankId(), req.GetSourceId()); err != nil {
		return nil, err
	}
	return &knowledgev1.DeleteBankSourceResponse{}, nil
}

// SyncBankSource implements BankSourceService.
func (s *sources) SyncBankSource(ctx context.Context, req *knowledgev1.SyncBankSourceRequest) (*knowledgev1.BankSource, error) {
	return sourceAnswer(s.sources.Sync(ctx, req.GetBankId(), req.GetSourceId()))
}

// PauseBankSource implements BankSourceService.
func (s *sources) PauseBankSource(ctx context.Context, req *knowledgev1.PauseBankSourceRequest) (*knowledgev1.BankSource, error) {
	return sourceAnswer(s.sources.Pause(ctx, req.GetBankId(), req.GetSourceId(), true))
}

// ResumeBankSource implements BankSourceService.
func (s *sources) ResumeBankSource(ctx context.Context, req *knowledgev1.ResumeBankSourceRequest) (*knowledgev1.BankSource, error) {
	return sourceAnswer(s.sources.Pause(ctx, req.GetBankId(), req.GetSourceId(), false))
}

func sourceAnswer(src store.Source, err error) (*knowledgev1.BankSource, error) {
	if err != nil {
		return nil, err
	}
	return sourceToProto(src), nil
}
