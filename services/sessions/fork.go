package sessions

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// forkedSeq is the seq of session.forked, and so of the messages it stands for.
const forkedSeq = 1

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
		once.SessionID = c.session.ID
		stands, added, err := s.remember(tx, once)
		if err != nil || !added {
			earlier = stands.SessionID
			return err
		}
		err = c.write(tx)
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

// copied is a session to be made, and the messages it begins with.
type copied struct {
	session  store.Session
	messages []store.Message
	// turn are messages that stand behind the input of its first turn, which that turn stores.
	turn []store.Message
	// called gives the ids of turn in the new session by those in the other.
	called map[string]string
	// artifacts are those that the messages speak of; compaction is what models were shown instead of older messages, nil for none.
	artifacts  []store.Artifact
	compaction *store.Compaction
}

// fork reads what a new session takes over. Nothing is written.
func (s *Service) fork(ctx context.Context, from store.Session, req *sessionsv1.ForkSessionRequest) (*copied, error) {
	if req.GetSeq() > from.LastSeq {
		return nil, fault.Invalid("seq", "is %d, but the session's last event has seq %d", req.GetSeq(), from.LastSeq)
	}
	ses, err := s.forkedSession(ctx, from, req)
	if err != nil {
		return nil, err
	}
	p, err := s.past(ctx, from, req.GetSeq())
	if err != nil {
		return nil, err
	}
	return s.copyPast(ctx, ses, from, p)
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
		if params, err = paramsOf(from); err != nil {
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

// copyPast makes what was read of a session the beginning of a new one.
func (s *Service) copyPast(ctx context.Context, ses, from store.Session, p past) (*copied, error) {
	c := &copied{session: ses, called: map[string]string{}}
	c.session.ForkedSeq = p.upTo
	if err := s.takeContext(ctx, c, from, p); err != nil {
		return nil, err
	}
	before := make([]string, len(p.messages)) // ids
	for i, m := range p.messages {
		before[i] = m.GetId()
		row, err := copyOf(m, c.session)
		if err != nil {
			return nil, err
		}
		row.Seq = int64(i - len(p.messages) - len(p.turn))
		c.session.ContextBytes += int64(len(row.Data))
		c.messages = append(c.messages, row)
	}
	if err := c.rename(before); err != nil {
		return nil, err
	}
	for i, m := range p.turn {
		before := m.GetId()
		row, err := copyOf(m, c.session)
		if err != nil {
			return nil, err
		}
		row.Seq, c.called[before] = int64(i-len(p.turn)), m.GetId()
		c.session.ContextBytes += int64(len(row.Data))
		c.turn = append(c.turn, row)
	}
	_, err := s.session(ctx, from.ID) // it was not deleted meanwhile, so all of it was read
	return c, err
}

// write makes the session, with session.forked as its first event.
func (c *copied) write(tx *journal.Tx) error {
	tx.Session = c.session
	if err := tx.AddSession(tx.Context(), c.session); err != nil {
		return err
	}
	if _, err := tx.Append(journal.Origin{}, &turnv1.Event{Data: &turnv1.Event_SessionForked{SessionForked: &turnv1.SessionForked{
		FromSession: c.session.ForkedFrom, FromSeq: c.session.ForkedSeq, Messages: uint32(len(c.messages) + len(c.turn)),
	}}}); err != nil {
		return err
	}
	if err := tx.AddMessages(tx.Context(), c.messages...); err != nil {
		return err
	}
	return c.writeContext(tx)
}
