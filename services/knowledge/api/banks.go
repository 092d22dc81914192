package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge/bank"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// banks implements BankService.
type banks struct {
	knowledgev1.UnimplementedBankServiceServer
	banks  *bank.Service
	spaces func(ctx context.Context, tenant string, banks []string) (map[string]store.Space, error)
}

// toProto returns a bank with its mode.
func (s *banks) toProto(ctx context.Context, b store.Bank) (*knowledgev1.Bank, error) {
	all, err := s.allToProto(ctx, []store.Bank{b})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// allToProto returns banks of one tenant with their modes.
func (s *banks) allToProto(ctx context.Context, all []store.Bank) ([]*knowledgev1.Bank, error) {
	var spaces map[string]store.Space
	if s.spaces != nil && len(all) > 0 {
		ids := make([]string, len(all))
		for i, b := range all {
			ids[i] = b.ID
		}
		var err error
		if spaces, err = s.spaces(ctx, all[0].Tenant, ids); err != nil {
			return nil, err
		}
	}
	var out []*knowledgev1.Bank
	for _, b := range all {
		_, hybrid := spaces[b.ID]
		out = append(out, bankToProto(b, hybrid))
	}
	return out, nil
}

// CreateBank implements BankService.
func (s *banks) CreateBank(ctx context.Context, req *knowledgev1.CreateBankRequest) (*knowledgev1.Bank, error) {
	in := req.GetBank()
	b, err := s.banks.Create(ctx, store.Bank{ID: in.GetId(), DisplayName: in.GetDisplayName(), Description: in.GetDescription()})
	if err != nil {
		return nil, err
	}
	return s.toProto(ctx, b)
}

// GetBank implements BankService.
func (s *banks) GetBank(ctx context.Context, req *knowledgev1.GetBankRequest) (*knowledgev1.Bank, error) {
	b, counts, err := s.banks.Get(ctx, req.GetBankId())
	if err != nil {
		return nil, err
	}
	out, err := s.toProto(ctx, b)
	if err != nil {
		return nil, err
	}
	out.Counts = &knowledgev1.DocumentCounts{
		Queued: counts[store.Queued], Ingesting: counts[store.Ingesting], Ready: counts[store.Ready], Failed: counts[store.Failed],
		Cancelled: counts[store.Cancelled],
	}
	return out, nil
}

// PauseBank implements BankService.
func (s *banks) PauseBank(ctx context.Context, req *knowledgev1.PauseBankRequest) (*knowledgev1.Bank, error) {
	return s.pause(ctx, req.GetBankId(), true)
}

// ResumeBank implements BankService.
func (s *banks) ResumeBank(ctx context.Context, req *knowledgev1.ResumeBankRequest) (*knowledgev1.Bank, error) {
	return s.pause(ctx, req.GetBankId(), false)
}

func (s *banks) pause(ctx context.Context, id string, paused bool) (*knowledgev1.Bank, error) {
	b, err := s.banks.Pause(ctx, id, paused)
	if err != nil {
		return nil, err
	}
	return s.toProto(ctx, b)
}

// ListBanks implements BankService.
func (s *banks) ListBanks(ctx context.Context, req *knowledgev1.ListBanksRequest) (*knowledgev1.ListBanksResponse, error) {
	const list = "banks"
	var after string
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.banks.List(ctx, after, size+1)
	if err != nil {
		return nil, err
	}
	out := &knowledgev1.ListBanksResponse{}
	rows, out.NextPageToken = page.Trim(rows, size, list, func(b store.Bank) any { return b.ID })
	out.Banks, err = s.allToProto(ctx, rows)
	return out, err
}

var bankFields = fieldmask.Resource{Name: "bank", Mutable: []string{"display_name", "description"}, Fixed: []string{"id"}}

// UpdateBank implements BankService.
func (s *banks) UpdateBank(ctx context.Context, req *knowledgev1.UpdateBankRequest) (*knowledgev1.Bank, error) {
	b, err := s.banks.Update(ctx, req.GetBank().GetId(), func(b *store.Bank) error {
		now := bankToProto(*b, false)
		if err := bankFields.Apply(now, req.GetBank(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		b.DisplayName, b.Description = now.GetDisplayName(), now.GetDescription()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.toProto(ctx, b)
}

// DeleteBank implements BankService.
func (s *banks) DeleteBank(ctx context.Context, req *knowledgev1.DeleteBankRequest) (*knowledgev1.DeleteBankResponse, error) {
	if err := s.banks.Delete(ctx, req.GetBankId()); err != nil {
		return nil, err
	}
	return &knowledgev1.DeleteBankResponse{}, nil
}
