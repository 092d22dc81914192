package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// field is what requests call an agent.
const field = "agent."

// Create stores a new agent. An id that was deleted can be taken again; its revisions continue.
func (s *Service) Create(ctx context.Context, id string, spec agentspec.Spec) (made store.Agent, err error) {
	wrong, err := s.CheckReferences(ctx, field, spec, Known(id))
	if err != nil {
		return made, err
	}
	if wrong = append(s.Check(field, spec), wrong...); len(wrong) > 0 {
		return made, fault.InvalidFields(wrong)
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		before, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if exists(before) {
			return fault.AlreadyExists("agent %q exists already", id).Hint("Choose another id, or update the agent.")
		}
		made, err = s.put(ctx, tx, id, spec, before)
		return err
	})
	return made, err
}

// Change is a change of an agent.
type Change struct {
	ID string
	// Revision must be the current one, unless it is 0.
	Revision uint32
	// Named has what the caller names; its references are checked before the agent is read. What the agent refers to already was
	// checked before.
	Named agentspec.Spec
	// Apply returns the blueprint that the current one becomes, and what is wrong with its fields.
	Apply func(agentspec.Spec) (agentspec.Spec, []fault.Field, error)
}

// Update changes an agent. One that changes nothing makes no revision.
func (s *Service) Update(ctx context.Context, c Change) (now store.Agent, err error) {
	wrong, err := s.CheckReferences(ctx, field, c.Named, Known(c.ID))
	if err == nil && len(wrong) > 0 {
		err = fault.InvalidFields(wrong)
	}
	if err != nil {
		return now, err
	}
	err = s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		old, err := lock(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		if !exists(old) {
			return errNotFound(c.ID)
		}
		if c.Revision != 0 && c.Revision != old.Revision {
			return fault.Conflict("agent %q is at revision %d, not %d", c.ID, old.Revision, c.Revision)
		}
		spec, wrong, err := c.Apply(old.Spec)
		if err != nil {
			return err
		}
		if now = old; spec.Equal(old.Spec) {
			return nil
		}
		if wrong = append(wrong, s.Check(field, spec)...); len(wrong) > 0 {
			return fault.InvalidFields(wrong)
		}
		now, err = s.put(ctx, tx, c.ID, spec, old)
		return err
	})
	return now, err
}

// Outcome is what Put has done, or would do.
type Outcome string

// What became of an agent.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// Put makes an agent exactly what spec says, whether it exists or not, and returns the revision that it has then. A dry run
// writes nothing. The spec must have passed Check and CheckReferences.
func (s *Service) Put(ctx context.Context, tx *store.Tx, id string, spec agentspec.Spec, dry bool) (Outcome, uint32, error) {
	old, err := lock(ctx, tx, id)
	if err != nil {
		return "", 0, err
	}
	outcome := Created
	if exists(old) {
		if spec.Equal(old.Spec) {
			return Unchanged, old.Revision, nil
		}
		outcome = Updated
	}
	if !dry {
		_, err = s.put(ctx, tx, id, spec, old)
	}
	return outcome, old.Revision + 1, err
}

// lock reads an agent for a change; one that never was is the zero agent.
func lock(ctx context.Context, tx *store.Tx, id string) (store.Agent, error) {
	a, err := tx.Agent(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Agent{}, nil
	}
	return a, err
}

func exists(a store.Agent) bool { return a.ID != "" && !a.Deleted }

// put stores the revision after before, which may be deleted, or the zero agent.
func (s *Service) put(ctx context.Context, tx *store.Tx, id string, spec agentspec.Spec, before store.Agent) (store.Agent, error) {
	now := tx.Now()
	a := store.Agent{Tenant: authn.Tenant(ctx), ID: id, Revision: before.Revision + 1, Spec: spec, CreateTime: now, UpdateTime: now}
	change := agentCreated
	if exists(before) {
		a.CreateTime, change = before.CreateTime, agentUpdated
	}
	if err := tx.PutAgent(ctx, a); err != nil {
		return a, err
	}
	return a, record(ctx, tx, change, a)
}

// Delete deletes an agent. Its revisions stay for the turns that began with them. Without force it is refused while others name it.
func (s *Service) Delete(ctx context.Context, id string, force bool) error {
	if !access.Storable(id) {
		return errNotFound(id)
	}
	if !force {
		if err := s.checkUnreferenced(ctx, id); err != nil {
			return err
		}
	}
	err := s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		a, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteAgent(ctx, authn.Tenant(ctx), id); err != nil {
			return err
		}
		return record(ctx, tx, agentDeleted, a)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound(id)
	}
	return err
}

// maxReferrers bounds how many agents an error lists.
const maxReferrers = 10

// checkUnreferenced refuses to delete an agent that others name as a sub-agent. One that only fits a pattern of theirs is not named.
func (s *Service) checkUnreferenced(ctx context.Context, id string) error {
	var by []string
	err := s.each(ctx, func(a store.Agent) (bool, error) {
		if a.ID != id && slices.Contains(a.Spec.Agents, id) {
			by = append(by, a.ID)
		}
		return len(by) < maxReferrers, nil
	})
	if err != nil || len(by) == 0 {
		return err
	}
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "agent %q is a sub-agent of %s", id, strings.Join(by, ", ")).
		Hint("Take it from their list \"agents\" first, or delete it with force=true: then it is a tool of theirs no more.")
}
