package turn

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/find"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Filter narrows a list; zero fields do not.
type Filter struct {
	SessionID, AgentID string
	Status             turnv1.TurnStatus
	// Labels are those of the session, "key=value", or "key" for any value.
	Labels []string
	// Query has words that the turns must have, "" = all.
	Query string
	store.Page
}

// List lists the turns that the caller may see.
func (s *Service) List(ctx context.Context, f Filter) ([]store.Turn, error) {
	if f.SessionID != "" {
		if err := s.deps.Access.CheckSession(ctx, f.SessionID); err != nil {
			return nil, err
		}
	}
	if !access.Storable(f.AgentID) || slices.ContainsFunc(f.Labels, func(l string) bool { return !access.Storable(l) }) {
		return nil, nil
	}
	words := find.Query(f.Query)
	if len(words) == 0 && f.Query != "" {
		return nil, nil
	}
	return s.deps.Store.Turns(ctx, store.TurnFilter{
		Tenant: authn.Tenant(ctx), SessionID: f.SessionID, Subject: access.Owner(ctx), Status: f.Status, Ended: Terminal(f.Status),
		AgentID: f.AgentID, Labels: f.Labels, Words: words, Page: f.Page,
	})
}
