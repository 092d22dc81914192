package search

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Service searches banks for callers. It is safe for concurrent use.
type Service struct {
	searcher *Searcher
	access   access.Reader
}

// NewService returns the service. The access reader says which banks and documents a caller may read.
func NewService(s *Searcher, reader access.Reader) *Service { return &Service{s, reader} }

// Bank searches a bank that the caller may read. Tenant and Banks of the query are set here.
func (s *Service) Bank(ctx context.Context, id string, q Query) (Found, error) {
	found, err := s.Banks(ctx, []string{id}, q)
	if err == nil && len(found.Missing) > 0 {
		err = access.NoBank(id)
	}
	return found, err
}

// Banks searches those of some banks that the caller may read; the others are missing. Tenant and Banks of the query are set here.
func (s *Service) Banks(ctx context.Context, ids []string, q Query) (Found, error) {
	banks, scope, err := s.access.Banks(ctx, ids)
	if err != nil {
		return Found{}, err
	}
	q.Tenant, q.Banks = scope.Tenant, nil
	for _, b := range banks {
		labels, err := s.access.Labels(ctx, b, scope)
		if err != nil {
			return Found{}, err
		}
		q.Banks = append(q.Banks, Bank{ID: b.ID, Labels: labels})
	}
	skipped := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return slices.ContainsFunc(banks, func(b store.Bank) bool { return b.ID == id })
	})
	found, err := s.searcher.Search(ctx, q)
	found.Missing = append(skipped, found.Missing...)
	return found, err
}

var _ Store = (*store.Store)(nil)
