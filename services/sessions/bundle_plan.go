package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/api"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/bundle"
	"github.com/windlass-dev/windlass/services/sessions/schedule"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/webhook"
)

// planned is what is to be done for a schedule or a webhook of a bundle, once all of the bundle is found to be good.
type planned struct {
	action string
	// permission is what the caller needs for it.
	permission string
	// write does it in the transaction of the whole bundle, and completes the entry about it.
	write func(ctx context.Context, tx *store.Tx, out *sessionsv1.Applied) error
	// revision is the schedule's after it.
	revision int64
}

// plan checks the schedules and webhooks of a bundle against what there is and what the caller may do. It gives a plan for each of them,
// at the place of its document.
func (s *Service) plan(ctx context.Context, docs []*bundle.Document) ([]planned, error) {
	plans := make([]planned, len(docs))
	find := s.agentsOf(docs)
	var wrong []fault.Field
	for i, d := range docs {
		var err error
		switch d.Kind {
		case bundle.Schedule:
			plans[i], err = s.planSchedule(ctx, d, find)
		case bundle.Webhook:
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

// mistakes gives what is wrong with fields of a document their places; another error gets the document's.
func mistakes(d *bundle.Document, err error) ([]fault.Field, error) {
	if err == nil {
		return nil, nil
	}
	found := fault.From(err).Fields
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", d.Place(""), err)
	}
	for i, f := range found {
		found[i].Path = strings.TrimPrefix(f.Path, d.Kind+".")
	}
	return placed(d, found), nil
}

// agentOf finds the agent that a document names.
type agentOf func(ctx context.Context, id string) (store.Agent, error)

// agentsOf finds agents as they will be when the bundle is applied.
func (s *Service) agentsOf(docs []*bundle.Document) agentOf {
	here := map[string]store.Agent{}
	for _, d := range docs {
		if d.Kind == bundle.Agent {
			here[d.ID()] = store.Agent{ID: d.ID(), Spec: convert.AgentFromProto(d.Agent)}
		}
	}
	return func(ctx context.Context, id string) (store.Agent, error) {
		if a, ok := here[id]; ok {
			return a, nil
		}
		a, err := s.agents.Get(ctx, id, 0)
		if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
			err = fault.Invalid("agent_id", "there is no agent %q, neither here nor in the bundle", id)
		}
		return a, err
	}
}

// mayApply asks policy whether the caller may make and change the schedules and webhooks of a bundle by himself.
func (s *Service) mayApply(ctx context.Context, docs []*bundle.Document, plans []planned) error {
	if !slices.ContainsFunc(plans, func(p planned) bool { return p.permission != "" }) {
		return nil
	}
	has, err := access.Permissions(ctx, s.allowed, authn.From(ctx))
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
func (p planned) carryOut(ctx context.Context, tx *store.Tx, d *bundle.Document, out *sessionsv1.Applied) error {
	out.Action, out.Revision = p.action, uint32(p.revision)
	if p.write == nil {
		return nil
	}
	if err := p.write(ctx, tx, out); err != nil {
		return fmt.Errorf("%s: %w", d.Place(""), err)
	}
	return nil
}

// planSchedule compares a schedule with the one that there is. It becomes exactly what the document says, but for a pause that the document
// does not speak of.
func (s *Service) planSchedule(ctx context.Context, d *bundle.Document, find agentOf) (planned, error) {
	check := func(ctx context.Context, id string, params *structpb.Struct) (string, error) {
		agent, err := find(ctx, id)
		if err != nil {
			return "", err
		}
		return agent.ID, s.checkParams(ctx, agent, params)
	}
	spec := api.ScheduleFromProto(d.Schedule)
	old, found, err := s.schedules.Lookup(ctx, d.ID())
	if err != nil {
		return planned{}, err
	}
	if !found {
		return s.planNewSchedule(ctx, d.ID(), spec, check)
	}
	if !d.Has("paused") {
		spec.Paused = old.Spec.Paused
	}
	p := planned{action: unchanged, permission: "sessions.schedules.update", revision: old.Revision}
	if spec.Equal(old.Spec) {
		return p, nil
	}
	p.action, p.revision = updated, old.Revision+1
	p.write = func(ctx context.Context, tx *store.Tx, _ *sessionsv1.Applied) error {
		_, err := s.schedules.Save(ctx, tx, old, spec)
		return err
	}
	return p, s.schedules.Revise(ctx, old, &spec, check)
}

func (s *Service) planNewSchedule(ctx context.Context, id string, spec store.ScheduleSpec, check schedule.AgentCheck) (planned, error) {
	p := planned{action: created, permission: "sessions.schedules.create", revision: 1}
	v, err := s.schedules.New(ctx, id, spec, check)
	p.write = func(ctx context.Context, tx *store.Tx, out *sessionsv1.Applied) error {
		stored, err := s.schedules.Add(ctx, tx, v)
		out.Revision = uint32(stored.Revision)
		return err
	}
	return p, err
}

// planWebhook compares a webhook with the one that there is. It becomes exactly what the document says, but for being disabled when the document
// does not speak of it: an address that was disabled because it is gone stays so.
func (s *Service) planWebhook(ctx context.Context, d *bundle.Document) (planned, error) {
	old, err := s.webhooks.Get(ctx, authn.Tenant(ctx), d.ID())
	if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		return s.planNewWebhook(ctx, d.Webhook)
	}
	if err != nil {
		return planned{}, err
	}
	p := planned{action: unchanged, permission: "sessions.webhooks.update"}
	revise := func(w store.Webhook) (store.Webhook, error) {
		before := w
		if !d.Has("disabled") {
			d.Webhook.Disabled = w.Disabled
		}
		w.PerTurn = d.Webhook.GetPerTurn()
		api.SetWebhook(&w, d.Webhook)
		return w, s.webhooks.Revise(before, &w)
	}
	if now, err := revise(old); err != nil || webhook.Same(now, old) {
		return p, err
	}
	p.action = updated
	p.write = func(ctx context.Context, tx *store.Tx, _ *sessionsv1.Applied) error {
		w, err := tx.LockWebhook(ctx, old.Tenant, old.ID)
		if err != nil {
			return err
		}
		if w, err = revise(w); err != nil {
			return err
		}
		w.UpdateTime = s.store.Now()
		return tx.SaveWebhook(ctx, w)
	}
	return p, nil
}

func (s *Service) planNewWebhook(ctx context.Context, want *sessionsv1.Webhook) (planned, error) {
	p := planned{action: created, permission: "sessions.webhooks.create"}
	w, key, err := s.webhooks.New(api.WebhookFromProto(ctx, want))
	p.write = func(ctx context.Context, tx *store.Tx, out *sessionsv1.Applied) error {
		out.Secret = key.Reveal() // to its creator, this once
		return s.webhooks.Add(ctx, tx, w)
	}
	return p, err
}
