package api

import (
	"context"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// memory implements MemoryService.
type memory struct {
	knowledgev1.UnimplementedMemoryServiceServer
	book *factbook.Book
}

// ownerOf returns the user that a principal is.
func ownerOf(p *policyv1.Principal) store.Owner {
	return store.Owner{Tenant: p.GetTenant(), Subject: p.GetSubject()}
}

func caller(ctx context.Context) store.Owner { return ownerOf(authn.From(ctx)) }

// ListFacts implements MemoryService.
func (s *memory) ListFacts(ctx context.Context, req *knowledgev1.ListFactsRequest) (*knowledgev1.ListFactsResponse, error) {
	list := "facts|" + req.GetState().String() + "|" + req.GetQ()
	var before string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &before)
	if err != nil {
		return nil, err
	}
	states := []string{store.FactActive, store.FactProposed}
	if req.GetState() != knowledgev1.FactState_FACT_STATE_UNSPECIFIED {
		states = []string{factStateOf(req.GetState())}
	}
	rows, err := s.book.List(ctx, caller(ctx), states, req.GetQ(), before, size+1)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.ListFactsResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(f store.Fact) any { return f.ID })
	out.Facts = factsToProto(rows)
	return out, nil
}

// GetFact implements MemoryService.
func (s *memory) GetFact(ctx context.Context, req *knowledgev1.GetFactRequest) (*knowledgev1.Fact, error) {
	return answerFact(s.book.Fact(ctx, caller(ctx), req.GetFactId()))
}

// CreateFact implements MemoryService.
func (s *memory) CreateFact(ctx context.Context, req *knowledgev1.CreateFactRequest) (*knowledgev1.Fact, error) {
	return answerFact(s.book.Add(ctx, caller(ctx), draftOf(req.GetFact())))
}

// DeleteFact implements MemoryService.
func (s *memory) DeleteFact(ctx context.Context, req *knowledgev1.DeleteFactRequest) (*knowledgev1.DeleteFactResponse, error) {
	if err := s.book.Forget(ctx, caller(ctx), req.GetFactId()); err != nil {
		return nil, err
	}
	return &knowledgev1.DeleteFactResponse{}, nil
}

// ForgetAll implements MemoryService.
func (s *memory) ForgetAll(ctx context.Context, _ *knowledgev1.ForgetAllRequest) (*knowledgev1.ForgetAllResponse, error) {
	n, err := s.book.ForgetAll(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return &knowledgev1.ForgetAllResponse{Forgotten: int32(n)}, nil
}

// ExportMemory implements MemoryService.
func (s *memory) ExportMemory(ctx context.Context, _ *knowledgev1.ExportMemoryRequest) (*knowledgev1.ExportMemoryResponse, error) {
	rows, err := s.book.All(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return &knowledgev1.ExportMemoryResponse{Facts: factsToProto(rows), Markdown: factbook.Markdown(rows)}, nil
}

// GetMemorySettings implements MemoryService.
func (s *memory) GetMemorySettings(
	ctx context.Context, _ *knowledgev1.GetMemorySettingsRequest,
) (*knowledgev1.MemorySettings, error) {
	off, err := s.book.Off(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return &knowledgev1.MemorySettings{Off: off}, nil
}

// UpdateMemorySettings implements MemoryService.
func (s *memory) UpdateMemorySettings(
	ctx context.Context, req *knowledgev1.UpdateMemorySettingsRequest,
) (*knowledgev1.MemorySettings, error) {
	off := req.GetSettings().GetOff()
	if err := s.book.SetOff(ctx, caller(ctx), off); err != nil {
		return nil, err
	}
	return &knowledgev1.MemorySettings{Off: off}, nil
}

// factFields are the fields of a fact that an update changes.
var factFields = []string{"text", "value", "valid_from", "valid_to", "state"}

// UpdateFact implements MemoryService.
func (s *memory) UpdateFact(ctx context.Context, req *knowledgev1.UpdateFactRequest) (*knowledgev1.Fact, error) {
	in, paths := req.GetFact(), req.GetUpdateMask().GetPaths()
	for _, path := range paths {
		if !slices.Contains(factFields, path) {
			return nil, fault.Invalid("update_mask", "%q cannot be changed", path).
				Hint("The fields that can be changed are text, value, valid_from, valid_to and state.")
		}
	}
	changes := func(field string, present bool) bool {
		return len(paths) == 0 && present || slices.Contains(paths, field)
	}
	var c factbook.Correction
	if changes("text", in.GetText() != "") {
		c.Text = &in.Text
	}
	if changes("value", in.GetValue() != "") {
		c.Value = &in.Value
	}
	at := func(t time.Time) *time.Time { return &t }
	if changes("valid_from", in.GetValidFrom() != nil) {
		c.ValidFrom = at(timestamp.Time(in.GetValidFrom()))
	}
	if changes("valid_to", in.GetValidTo() != nil) {
		c.ValidTo = at(timestamp.Time(in.GetValidTo()))
	}
	if changes("state", in.GetState() != knowledgev1.FactState_FACT_STATE_UNSPECIFIED) {
		c.State = factStateOf(in.GetState())
	}
	return answerFact(s.book.Correct(ctx, caller(ctx), in.GetId(), c))
}

func answerFact(f store.Fact, err error) (*knowledgev1.Fact, error) {
	if err != nil {
		return nil, err
	}
	return factToProto(f), nil
}
