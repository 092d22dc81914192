package sessions

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/page"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// CreateSession implements SessionService.
func (s *Service) CreateSession(ctx context.Context, req *sessionsv1.CreateSessionRequest) (*sessionsv1.Session, error) {
	ses, err := s.newSession(ctx, req.GetAgentId(), req.GetTitle(), req.GetLabels(), req.GetParams())
	if err != nil {
		return nil, err
	}
	if err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.AddSession(ctx, ses) }); err != nil {
		return nil, err
	}
	return sessionToProto(ses)
}

// newSession makes a session of the caller that is not stored yet. Its agent must fit the params and the caller.
func (s *Service) newSession(
	ctx context.Context, agentID, title string, labels map[string]string, params *structpb.Struct,
) (store.Session, error) {
	agent, err := s.agents.Choose(ctx, agentID)
	if err != nil {
		return store.Session{}, err
	}
	return s.sessionWith(ctx, agent, title, labels, params)
}

// sessionWith makes a session of the caller's with an agent, without storing it.
func (s *Service) sessionWith(
	ctx context.Context, a store.Agent, title string, labels map[string]string, params *structpb.Struct,
) (store.Session, error) {
	if !access.Storable(title) {
		return store.Session{}, fault.Invalid("title", "must not contain NUL")
	}
	now := s.store.NowUs()
	p := authn.From(ctx)
	ses := store.Session{
		Tenant: p.GetTenant(), ID: ids.New(ids.Session), AgentID: a.ID, Subject: p.GetSubject(), Title: title, Labels: labels,
		CreateUs: now, UpdateUs: now,
	}
	if err := blueprint.SetSessionParams(ctx, &ses, a, params); err != nil {
		return store.Session{}, err
	}
	return ses, s.blueprints.CheckTurn(ctx, a, ses, p, s.store.Now())
}

// GetSession implements SessionService.
func (s *Service) GetSession(ctx context.Context, req *sessionsv1.GetSessionRequest) (*sessionsv1.Session, error) {
	ses, err := s.session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return sessionToProto(ses)
}

// ListSessions implements SessionService.
func (s *Service) ListSessions(ctx context.Context, req *sessionsv1.ListSessionsRequest) (*sessionsv1.ListSessionsResponse, error) {
	var at timeCursor
	list := "sessions|" + access.Owner(ctx) + "|" + req.GetAgentId()
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &at)
	if err != nil {
		return nil, err
	}
	if !access.Storable(req.GetAgentId()) {
		return &sessionsv1.ListSessionsResponse{}, nil
	}
	rows, err := s.store.Sessions(ctx, store.SessionFilter{
		Tenant: authn.Tenant(ctx), Subject: access.Owner(ctx), AgentID: req.GetAgentId(), BeforeUs: at.Us, BeforeID: at.ID, Limit: size + 1,
	})
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(v store.Session) any { return timeCursor{v.CreateUs, v.ID} })
	out := &sessionsv1.ListSessionsResponse{NextPageToken: next}
	for _, row := range rows {
		ses, err := sessionToProto(row)
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, ses)
	}
	return out, nil
}

// DeleteSession implements SessionService.
func (s *Service) DeleteSession(ctx context.Context, req *sessionsv1.DeleteSessionRequest) (*sessionsv1.DeleteSessionResponse, error) {
	ses, err := s.session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		if err := tx.Lock(ses.Tenant, ses.ID); err != nil {
			return err
		}
		if tx.Session.ActiveTurnID != "" {
			return fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ACTIVE, "turn %s of the session is active", tx.Session.ActiveTurnID).
				Hint("Wait for its end or cancel it first.")
		}
		tx.After(func(ctx context.Context) {
			s.eraser.Wake()
			// An empty message has the session's watchers look into the journal.
			if err := s.bus.Publish(contract.EventSubject(ses.Tenant, ses.ID), nil); err != nil {
				s.log.DebugContext(ctx, "watchers of a deleted session not notified", "session_id", ses.ID, "error", err)
			}
		})
		return tx.DeleteSession(ctx, ses.Tenant, ses.ID)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noSession(ses.ID)
	}
	if err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteSessionResponse{}, nil
}

// ListMessages implements SessionService.
func (s *Service) ListMessages(ctx context.Context, req *sessionsv1.ListMessagesRequest) (*sessionsv1.ListMessagesResponse, error) {
	ses, err := s.session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	after := int64(store.BeforeAll)
	list := "messages|" + ses.ID
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Messages(ctx, ses.Tenant, ses.ID, after, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(m store.Message) any { return m.Seq })
	out := &sessionsv1.ListMessagesResponse{NextPageToken: next}
	for _, row := range rows {
		m, err := conversation.Message(row)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}
