package bundle

import (
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// planned is what is to be done for a schedule or a webhook of a bundle, once all of the bundle is found to be good.
type planned struct {
	action Action
	// permission is what the caller needs for it.
	permission string
	// write does it in the transaction of the whole bundle, and completes the entry about it.
	write func(ctx context.Context, tx *store.Tx, out *Applied) error
	// revision is the schedule's after it.
	revision int64
}

// plan checks the schedules and webhooks of a bundle against what there is and what the caller may do. It gives a plan for each of them,
// at the place of its document.
func (s *Service) plan(ctx context.Context, docs []*Document) ([]planned, error) {
	plans := make([]planned, len(docs))
	find := s.agentsOf(docs)
	var wrong []fault.Field
	for i, d := range docs {
		var err error
		switch d.Kind {
		case Schedule:
			plans[i], err = s.planSchedule(ctx, d, find)
		case Webhook:
			plans[i], err = s.planWebhook(ctx, d)
		}
		found, err := mistakes(d, err)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, found...)
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	return plans, s.mayApply(ctx, docs, plans)
}

// agentOf finds the agent that a document names.
type agentOf func(ctx context.Context, id string) (store.Agent, error)

// agentsOf finds agents as they will be when the bundle is applied.
func (s *Service) agentsOf(docs []*Document) agentOf {
	here := map[string]store.Agent{}
	for _, d := range docs {
		if d.Kind == Agent {
			here[d.ID()] = store.Agent{ID: d.ID(), Spec: convert.AgentFromProto(d.Agent)}
		}
	}
	return func(ctx context.Context, id string) (store.Agent, error) {
		if a, ok := here[id]; ok {
			return a, nil
		}
		a, err := s.deps.Agents.Get(ctx, id, 0)
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			err = fault.Invalid("agent_id", "there is no agent %q, neither here nor in the bundle", id)
		}
		return a, err
	}
}

// mayApply asks policy whether the caller may make and change the schedules and webhooks of a bundle directly.
func (s *Service) mayApply(ctx context.Context, docs []*Document, plans []planned) error {
	if !slices.ContainsFunc(plans, func(p planned) bool { return p.permission != "" }) {
		return nil
	}
	has, err := access.Permissions(ctx, s.deps.Policy, authn.From(ctx))
	if err != nil {
		return err
	}
	for i, p := range plans {
		if p.permission == "" {
			continue
		}
		if v := has.Decide(p.permission); !v.Allowed {
			return fmt.Errorf("%s: %w", docs[i].Place(""), fault.Denied(p.permission, v.DeniedBy))
		}
	}
	return nil
}

// carryOut does what is planned for a document.
func (p planned) carryOut(ctx context.Context, tx *store.Tx, d *Document, out *Applied) error {
	out.Action, out.Revision = p.action, uint32(p.revision)
	if p.write == nil {
		return nil
	}
	if err := p.write(ctx, tx, out); err != nil {
		return fmt.Errorf("%s: %w", d.Place(""), err)
	}
	return nil
}
