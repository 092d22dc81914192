package sessions

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// agentFields are all fields but those that the service sets.
var agentFields = fieldmask.Resource{Name: "agent", Mutable: fieldmask.AllBut(&sessionsv1.Agent{}, "id", "revision", "create_time", "update_time")}

// UpdateAgent implements AgentService.
func (s *Service) UpdateAgent(ctx context.Context, req *sessionsv1.UpdateAgentRequest) (*sessionsv1.Agent, error) {
	id, revision := req.GetAgent().GetId(), req.GetAgent().GetRevision()
	// What is there already was checked when it came.
	if fields, err := s.checkElsewhere(ctx, "agent.", req.GetAgent(), newExisting(id)); err != nil || len(fields) > 0 {
		if err == nil {
			err = fault.InvalidFields(fields)
		}
		return nil, err
	}
	var now *sessionsv1.Agent
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		old, row, err := agentIn(ctx, tx, id)
		if err != nil {
			return err
		}
		if old == nil || row.Deleted {
			return noAgent(id)
		}
		if revision != 0 && revision != row.Revision {
			return fault.Conflict("agent %q is at revision %d, not %d", id, row.Revision, revision)
		}
		now = proto.CloneOf(old)
		if err := agentFields.Apply(now, req.GetAgent(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		if proto.Equal(now, old) {
			return nil
		}
		if err := s.checkMerged(now); err != nil {
			return err
		}
		now, err = putAgent(ctx, tx, now, row, old)
		return err
	})
	if err != nil {
		return nil, err
	}
	return shown(now), nil
}

// checkMerged checks the whole agent: the interceptor saw the change alone.
func (s *Service) checkMerged(a *sessionsv1.Agent) error {
	if fields := append(s.violations("agent.", a), s.checkAgent("agent.", a)...); len(fields) > 0 {
		return fault.InvalidFields(fields)
	}
	return nil
}
