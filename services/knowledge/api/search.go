package api

import (
	"context"

	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/search"
)

// searches implements SearchService.
type searches struct {
	knowledgev1.UnimplementedSearchServiceServer
	searches *search.Service
}

// SearchBank implements SearchService.
func (s *searches) SearchBank(ctx context.Context, req *knowledgev1.SearchBankRequest) (*knowledgev1.SearchBankResponse, error) {
	found, err := s.searches.Bank(ctx, req.GetBankId(), search.Query{
		Text: req.GetQuery(), Attributes: req.GetAttributes(), Results: int(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	return &knowledgev1.SearchBankResponse{
		Results: resultsToProto(found.Results), Mode: mode(found.Hybrid), Reranked: found.Reranked,
	}, nil
}

// SearchBanks implements SearchService.
func (s *searches) SearchBanks(ctx context.Context, req *knowledgev1.SearchBanksRequest) (*knowledgev1.SearchBanksResponse, error) {
	found, err := s.searches.Banks(ctx, req.GetBankIds(), search.Query{
		Text: req.GetQuery(), Attributes: req.GetAttributes(), Results: int(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	return &knowledgev1.SearchBanksResponse{
		Results: resultsToProto(found.Results), Mode: mode(found.Hybrid), SkippedBankIds: found.Missing, Reranked: found.Reranked,
	}, nil
}

func resultsToProto(results []search.Result) []*knowledgev1.SearchResult {
	out := make([]*knowledgev1.SearchResult, len(results))
	for i, r := range results {
		out[i] = &knowledgev1.SearchResult{
			BankId: r.Bank, DocumentId: r.Document, DocumentName: r.DocumentName, Version: r.Version, Start: r.Start, End: r.End, Text: r.Text,
			Heading: r.Heading, Page: int32(r.Page), Score: r.Score,
		}
	}
	return out
}
