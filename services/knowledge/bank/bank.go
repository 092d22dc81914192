// Package bank keeps banks.
package bank

import (
	"context"
	"errors"
	"log/slog"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Deps are what banks need; all are required.
type Deps struct {
	// Store has them.
	Store *store.Store
	// Access reads them for callers.
	Access access.Reader
	// Limit is the maximum number of banks of a tenant.
	Limit int
	// Resumed is called after a bank was resumed.
	Resumed func()
	// Log gets what went wrong after an answer.
	Log *slog.Logger
}

// Service keeps banks. It is safe for concurrent use.
type Service struct{ Deps }

// New returns the service.
func New(deps Deps) *Service { return &Service{deps} }

// Create stores a bank of the caller.
func (s *Service) Create(ctx context.Context, b store.Bank) (store.Bank, error) {
	p := authn.From(ctx)
	b.Tenant, b.Subject, b.CreateTime = p.GetTenant(), p.GetSubject(), s.Store.Now()
	b.UpdateTime = b.CreateTime
	err := s.Store.CreateBank(ctx, b, s.Limit)
	switch {
	case errors.Is(err, store.ErrExists):
		err = fault.AlreadyExists("a bank %q exists already", b.ID).Hint("Choose another id, or add documents to the bank that exists.")
	case errors.Is(err, store.ErrTooMany):
		err = fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED, "there are %d banks, as many as there may be", s.Limit).
			Hint("Delete one, or raise knowledge.max_banks.")
	}
	return b, err
}

// Get returns a bank that the caller may read, and how many of its documents are in each state.
func (s *Service) Get(ctx context.Context, id string) (store.Bank, map[store.State]int64, error) {
	b, _, err := s.Access.Bank(ctx, id)
	if err != nil {
		return b, nil, err
	}
	counts, err := s.Store.Counts(ctx, b.Tenant, b.ID)
	return b, counts, err
}

// Pause keeps documents of a bank that the caller may read from being ingested, or lets them again.
func (s *Service) Pause(ctx context.Context, id string, paused bool) (store.Bank, error) {
	b, _, err := s.Access.Bank(ctx, id)
	if err != nil {
		return b, err
	}
	b, err = s.Store.PauseBank(ctx, b.Tenant, b.ID, paused)
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoBank(id)
	}
	if err == nil && !paused {
		s.Resumed()
	}
	return b, err
}

// List returns at most limit banks that the caller may read and whose id is after the given one, by id.
func (s *Service) List(ctx context.Context, after string, limit int) ([]store.Bank, error) {
	scope, err := s.Access.Scope(ctx)
	if err != nil {
		return nil, err
	}
	var out []store.Bank
	for {
		part, err := s.Store.Banks(ctx, scope.Tenant, after, limit)
		if err != nil {
			return nil, err
		}
		for _, b := range part {
			if scope.Bank(b) && len(out) < limit {
				out = append(out, b)
			}
		}
		if len(part) < limit || len(out) == limit {
			return out, nil
		}
		after = part[len(part)-1].ID
	}
}

// Update stores what change makes of a bank that the caller may read.
func (s *Service) Update(ctx context.Context, id string, change func(*store.Bank) error) (store.Bank, error) {
	b, _, err := s.Access.Bank(ctx, id)
	if err != nil {
		return b, err
	}
	b, err = s.Store.UpdateBank(ctx, b.Tenant, b.ID, func(b *store.Bank) error {
		b.UpdateTime = s.Store.Now()
		return change(b)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoBank(id)
	}
	return b, err
}

// Delete deletes a bank that the caller may read, with its documents.
func (s *Service) Delete(ctx context.Context, id string) error {
	b, _, err := s.Access.Bank(ctx, id)
	if err != nil {
		return err
	}
	err = s.Store.DeleteBank(ctx, b.Tenant, b.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoBank(id)
	}
	if err != nil {
		return err
	}
	if err := s.Store.Purge(ctx); err != nil { // the next one does it as well
		s.Log.WarnContext(ctx, "what was deleted is still in the log of the database", "bank", b.ID, "error", err)
	}
	return nil
}
