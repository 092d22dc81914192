package turn

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Filter narrows a list; zero fields do not.
type Filter struct {
	SessionID string
	Status    turnv1.TurnStatus
	// Before and BeforeID name the last turn of the page before; zero = the first page.
	Before   time.Time
	BeforeID string
	// Limit bounds the page.
	Limit int
}

// List lists the turns that the caller may see, newest first.
func (s *Service) List(ctx context.Context, f Filter) ([]store.Turn, error) {
	if f.SessionID != "" {
		if err := s.deps.Access.CheckSession(ctx, f.SessionID); err != nil {
			return nil, err
		}
	}
	return s.deps.Store.Turns(ctx, store.TurnFilter{
		Tenant: authn.Tenant(ctx), SessionID: f.SessionID, Subject: access.Owner(ctx), Status: f.Status, Ended: Terminal(f.Status),
		Before: f.Before, BeforeID: f.BeforeID, Limit: f.Limit,
	})
}
