package search

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Service searches banks for callers. It is safe for concurrent use.
type Service struct {
	searcher *Searcher
	access   access.Reader
}

// NewService returns the service. The access reader says which banks and documents a caller may read.
func NewService(s Store, reader access.Reader) *Service { return &Service{New(s), reader} }

// Bank searches a bank that the caller may read. Tenant and Banks of the query are set here.
func (s *Service) Bank(ctx context.Context, id string, q Query) ([]Result, error) {
	results, skipped, err := s.Banks(ctx, []string{id}, q)
	if err == nil && len(skipped) > 0 {
		err = access.NoBank(id)
	}
	return results, err
}

// Banks searches those of some banks that the caller may read, and returns the ids of the others. Tenant and Banks of the query are set
// here.
func (s *Service) Banks(ctx context.Context, ids []string, q Query) (results []Result, skipped []string, err error) {
	q.Banks = nil
	for _, id := range ids {
		b, scope, err := s.access.Bank(ctx, id)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == codes.NotFound {
			skipped = append(skipped, id)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		labels, err := s.access.Labels(ctx, b, scope)
		if err != nil {
			return nil, nil, err
		}
		q.Tenant = b.Tenant
		q.Banks = append(q.Banks, Bank{ID: b.ID, Labels: labels})
	}
	results, missing, err := s.searcher.Search(ctx, q)
	return results, append(skipped, missing...), err
}

var _ Store = (*store.Store)(nil)
