package sessions

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// ForkSession implements SessionService.
func (s *Service) ForkSession(ctx context.Context, req *sessionsv1.ForkSessionRequest) (*sessionsv1.Session, error) {
	bare := proto.CloneOf(req)
	bare.IdempotencyKey = ""
	once, err := onceOf(ctx, "fork_session", req.GetIdempotencyKey(), bare)
	if err != nil {
		return nil, err
	}
	if earlier, err := s.forkedBefore(ctx, once); err != nil || earlier != nil {
		return earlier, err
	}
	from, err := s.session(ctx, req.GetSessionId())
	if err != nil {
		return nil, err
	}
	c, err := s.fork(ctx, from, req)
	if err != nil {
		return nil, err
	}
	var made store.Session
	var earlier string
	err = s.journal.Write(ctx, func(tx *journal.Tx) error {
		earlier = ""
		once := once
		once.SessionID = c.Session.ID
		stands, added, err := s.remember(tx, once)
		if err != nil || !added {
			earlier = stands.SessionID
			return err
		}
		err = c.Write(tx)
		made = tx.Session
		return err
	})
	if err != nil {
		return nil, err
	}
	if earlier != "" {
		return s.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: earlier})
	}
	return sessionToProto(made)
}

// forkedBefore gives the session that the same request made earlier, nil when there was none.
func (s *Service) forkedBefore(ctx context.Context, once store.Once) (*sessionsv1.Session, error) {
	if once.Key == "" {
		return nil, nil
	}
	stands, err := s.store.Once(ctx, once, s.store.NowUs())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err == nil {
		err = sameRequest(once, stands)
	}
	if err != nil {
		return nil, err
	}
	return s.GetSession(ctx, &sessionsv1.GetSessionRequest{SessionId: stands.SessionID})
}

// fork reads what a new session takes over. Nothing is written.
func (s *Service) fork(ctx context.Context, from store.Session, req *sessionsv1.ForkSessionRequest) (*conversation.Copy, error) {
	if req.GetSeq() > from.LastSeq {
		return nil, fault.Invalid("seq", "is %d, but the session's last event has seq %d", req.GetSeq(), from.LastSeq)
	}
	ses, err := s.forkedSession(ctx, from, req)
	if err != nil {
		return nil, err
	}
	p, err := s.conversations.At(ctx, from, req.GetSeq())
	if err != nil {
		return nil, err
	}
	return s.copySnapshot(ctx, ses, from, p)
}

// forkedSession is the new session as it was asked for, empty.
func (s *Service) forkedSession(ctx context.Context, from store.Session, req *sessionsv1.ForkSessionRequest) (store.Session, error) {
	agent, title := req.GetAgentId(), req.GetTitle()
	if agent == "" {
		agent = from.AgentID
	}
	if title == "" {
		title = from.Title
	}
	params := req.GetParams()
	if params == nil {
		var err error
		if params, err = blueprint.SessionParams(from); err != nil {
			return store.Session{}, err
		}
	}
	ses, err := s.newSession(ctx, agent, title, from.Labels, params)
	if err != nil && req.GetAgentId() == "" {
		err = agentGone(err, agent)
	}
	ses.ForkedFrom = from.ID
	return ses, err
}

// copySnapshot makes what was read of a session the beginning of a new one.
func (s *Service) copySnapshot(ctx context.Context, ses, from store.Session, p conversation.Snapshot) (*conversation.Copy, error) {
	c, err := s.conversations.Copy(ctx, ses, from, p)
	if err != nil {
		return nil, err
	}
	return c, s.checkSession(ctx, from.ID) // it was not deleted meanwhile, so all of it was read
}
