package rerun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// planAt reads a turn's plan as it stood before the message cut, "" = at its end, and how many plans it had written by then. The
// plan still speaks of the messages of that turn.
func (s *Service) planAt(ctx context.Context, t store.Turn, cut string) (*turnv1.PlanUpdated, uint32, error) {
	end := t.LastSeq + 1
	if cut != "" {
		row, err := s.deps.Store.Message(ctx, t.Tenant, cut)
		if errors.Is(err, store.ErrNotFound) {
			return nil, 0, access.NoTurn(t.ID) // it was deleted just now
		}
		if err != nil {
			return nil, 0, err
		}
		end = uint32(row.Seq)
	}
	in, err := s.deps.Access.Input(ctx, t)
	if err != nil {
		return nil, 0, err
	}
	plan, plans := in.Rerun.GetPlan(), in.Rerun.GetPlans() // a re-run may itself have begun in the middle of one
	err = s.plansOf(ctx, t, end, func(p *turnv1.PlanUpdated) {
		if p.GetMessageId() != plan.GetMessageId() {
			plans++
		}
		plan = p
	})
	if err == nil && plan == nil {
		err = fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "turn %s has no plan at that step",
			t.ID).Hint("Leave from_step out.")
	}
	return settledPlan(plan), plans, err
}

// plansOf calls each for the versions of a turn's plan before a seq.
func (s *Service) plansOf(ctx context.Context, t store.Turn, end uint32, each func(*turnv1.PlanUpdated)) error {
	for after := t.FirstSeq; ; {
		rows, err := s.deps.Store.Events(ctx, t.Tenant, t.SessionID, after, pageSize)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if after = row.Seq; after >= end {
				return nil
			}
			if row.TurnID != t.ID || row.Type != "plan.updated" {
				continue
			}
			e := &turnv1.Event{}
			if err := proto.Unmarshal(row.Data, e); err != nil {
				return fmt.Errorf("event %d of session %s: %w", row.Seq, t.SessionID, err)
			}
			each(e.GetPlanUpdated())
		}
		if len(rows) < pageSize {
			return nil
		}
	}
}

// settledPlan leaves out the steps that will not be begun: those behind a step that failed when nothing was planned again.
func settledPlan(plan *turnv1.PlanUpdated) *turnv1.PlanUpdated {
	running := slices.ContainsFunc(plan.GetSteps(), func(s *turnv1.PlanStep) bool {
		return s.GetStatus() == turnv1.PlanStepStatus_PLAN_STEP_STATUS_RUNNING
	})
	if plan == nil || running {
		return plan
	}
	out := proto.CloneOf(plan)
	out.Steps = slices.DeleteFunc(out.GetSteps(), func(s *turnv1.PlanStep) bool {
		return s.GetStatus() == turnv1.PlanStepStatus_PLAN_STEP_STATUS_PENDING
	})
	return out
}

// renamePlan has a plan speak of the messages as they are called in the new session.
func renamePlan(plan *turnv1.PlanUpdated, now map[string]string) *turnv1.PlanUpdated {
	if plan == nil {
		return nil
	}
	out := proto.CloneOf(plan)
	out.MessageId = now[plan.GetMessageId()]
	for _, step := range out.GetSteps() {
		step.MessageId = now[step.GetMessageId()]
	}
	return out
}
