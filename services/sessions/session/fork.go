package session

import (
	"context"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/agent"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Fork opens a session that begins with the conversation of another one up to a seq; 0 means up to the end of its last turn. What
// spec leaves out is taken from the other session. once names the request.
func (s *Service) Fork(ctx context.Context, id string, seq uint32, spec Spec, once store.Once) (store.Session, error) {
	return s.begin(ctx, once, func() (*conversation.Copy, error) {
		from, err := s.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return s.Copy(ctx, from, seq, spec)
	})
}

// Copy reads what a fork of a session begins with. Nothing is written.
func (s *Service) Copy(ctx context.Context, from store.Session, seq uint32, spec Spec) (*conversation.Copy, error) {
	if seq > from.LastSeq {
		return nil, fault.Invalid("seq", "is %d, but the session's last event has seq %d", seq, from.LastSeq)
	}
	ses, err := s.ForkOf(ctx, from, spec)
	if err != nil {
		return nil, err
	}
	snapshot, err := s.deps.Conversations.At(ctx, from, seq)
	if err != nil {
		return nil, err
	}
	return s.CopySnapshot(ctx, ses, from, snapshot)
}

// ForkOf returns the empty session of a fork. What spec leaves out is taken from the other session.
func (s *Service) ForkOf(ctx context.Context, from store.Session, spec Spec) (store.Session, error) {
	named := spec.AgentID != ""
	if !named {
		spec.AgentID = from.AgentID
	}
	if spec.Title == "" {
		spec.Title = from.Title
	}
	spec.Labels = from.Labels
	if spec.Params == nil {
		var err error
		if spec.Params, err = blueprint.SessionParams(from); err != nil {
			return store.Session{}, err
		}
	}
	a, err := s.deps.Agents.Choose(ctx, spec.AgentID)
	if err != nil {
		if !named {
			err = AgentDeleted(err, spec.AgentID)
		}
		return store.Session{}, err
	}
	if len(spec.Banks) == 0 && agent.WithoutBanks(a.Spec) == "" { // another agent may answer from none
		spec.Banks = from.Banks
	}
	ses, err := s.NewWith(ctx, a, spec)
	ses.ForkedFrom = from.ID
	return ses, err
}

// CopySnapshot makes what was read of a session the beginning of a new one. Nothing is written.
func (s *Service) CopySnapshot(ctx context.Context, ses, from store.Session, snapshot conversation.Snapshot) (*conversation.Copy, error) {
	c, err := s.deps.Conversations.Copy(ctx, ses, from, snapshot)
	if err != nil {
		return nil, err
	}
	return c, s.deps.Access.CheckSession(ctx, from.ID) // it was not deleted meanwhile, so all of it was read
}

// AgentDeleted turns the error about an agent that does not exist into one about a session whose agent was deleted; other errors pass.
func AgentDeleted(err error, id string) error {
	if !fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		return err
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "agent %q was deleted", id).
		Hint("Create it again, or open or fork a session with another agent.")
}
