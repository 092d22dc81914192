package rerun

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/conversation"
	"github.com/windlass-dev/windlass/services/sessions/session"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// cutAt finds the message at which a re-run from a model step cuts: the one that the step wrote, "" when it wrote none. It refuses steps
// that the turn does not have, and turns that can only be run again from the start. How the new turn is to go on is written into the event.
func (s *Service) cutAt(ctx context.Context, t store.Turn, agentID string, event *turnv1.TurnRerun) (string, error) {
	steps, err := s.deps.Store.Steps(ctx, t.Tenant, t.ID)
	if err != nil {
		return "", err
	}
	from := event.GetFromStep()
	infers, reached, cut, chosen := 0, 0, "", turnv1.Strategy_STRATEGY_UNSPECIFIED
	if t.Status == turnv1.TurnStatus_TURN_STATUS_FAILED {
		if reached, err = failedIn(steps); err != nil {
			return "", err
		}
	}
	for _, step := range steps {
		if !step.Done {
			continue
		}
		outcome, err := step.StepOutcome()
		if err != nil {
			return "", err
		}
		switch step.Kind {
		case turnv1.StepKind_STEP_KIND_INFER:
			infers++
			if step.Key == stepkey.Infer(int(from)) {
				cut = outcome.GetMessageId()
			}
		case turnv1.StepKind_STEP_KIND_BEGIN:
			chosen = outcome.GetSurface().GetStrategy()
		case turnv1.StepKind_STEP_KIND_SELECT:
			chosen = outcome.GetStrategy()
		}
	}
	infers = max(infers, reached)
	switch {
	case from == 1:
		return cut, nil
	case int(from) > infers && infers == 0:
		return "", fault.Invalid("from_step", "turn %s has no model steps: leave it out", t.ID)
	case int(from) > infers:
		return "", fault.Invalid("from_step", "turn %s has the model steps %s to %s", t.ID, stepkey.Infer(1), stepkey.Infer(infers))
	}
	if event.Strategy, err = s.fromTheMiddle(ctx, t, chosen, agentID); err != nil {
		return "", err
	}
	if event.GetStrategy() == turnv1.Strategy_STRATEGY_PLAN {
		event.Plan, event.Plans, err = s.planAt(ctx, t, cut)
	}
	return cut, err
}

// fromTheMiddle says how a re-run goes on in the middle of a turn, unset when as its agent says. It refuses what does not fit together.
func (s *Service) fromTheMiddle(ctx context.Context, t store.Turn, was turnv1.Strategy, agentID string) (turnv1.Strategy, error) {
	const asAgentSays = turnv1.Strategy_STRATEGY_UNSPECIFIED
	before, err := s.deps.Agents.OfTurn(ctx, t)
	if err != nil {
		return asAgentSays, err
	}
	with, err := s.deps.Agents.Get(ctx, agentID, 0)
	if err != nil {
		return asAgentSays, session.AgentDeleted(err, agentID)
	}
	if before.Spec.Hosted() || with.Spec.Hosted() {
		return asAgentSays, fault.Invalid("from_step", "an agent with an executor runs a turn again from the start only: leave it out")
	}
	now := with.Spec.Strategy
	planned := was == turnv1.Strategy_STRATEGY_PLAN
	switch {
	case planned && (now == turnv1.Strategy_STRATEGY_PLAN || now == turnv1.Strategy_STRATEGY_AUTO):
		return was, nil
	case planned:
		return asAgentSays, fault.Invalid("from_step",
			"the turn was at a plan there, and agent %q makes none: leave from_step out, or name an agent with strategy plan", agentID)
	case now == turnv1.Strategy_STRATEGY_PLAN:
		return asAgentSays, fault.Invalid("from_step",
			"the turn had no plan there, and agent %q begins with one: leave from_step out, or name another agent", agentID)
	case now != turnv1.Strategy_STRATEGY_AUTO && now != turnv1.Strategy_STRATEGY_ROUTE:
		return asAgentSays, nil
	case was == turnv1.Strategy_STRATEGY_ROUTE: // the agent was chosen in the first model step; after that a routed turn goes on as react
		return turnv1.Strategy_STRATEGY_REACT, nil
	}
	return was, nil
}

// pastOf reads the conversation as it stood when a turn of it came to a model step: what was said before the turn, its input, and
// what it did up to the message cut, "" = to its end.
func (s *Service) pastOf(ctx context.Context, ses store.Session, t store.Turn, from int, cut string) (p conversation.Snapshot,
	input *turnv1.Message, err error,
) {
	size := 0
	add := func(m *turnv1.Message) error {
		p.UpTo = max(p.UpTo, m.GetSeq())
		if size += proto.Size(m); size > s.deps.MaxBytes {
			return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE,
				"the conversation up to there has more than the %d bytes allowed", s.deps.MaxBytes).
				Hint("Send the turn's input to a new session.")
		}
		return nil
	}
	own, err := s.deps.Conversations.OfTurn(ctx, ses, t, func(m *turnv1.Message) error {
		p.Messages = append(p.Messages, m)
		return add(m)
	})
	if err != nil {
		return conversation.Snapshot{}, nil, err
	}
	reached := false
	for _, m := range own {
		reached = reached || cut != "" && m.GetId() == cut
		switch {
		case m.GetTurnId() == t.ID && m.GetSeq() == t.InputSeq:
			input = m
		case reached, from == 1 && m.GetTurnId() == t.ID && m.GetRole() != turnv1.Role_ROLE_USER: // with 1 it is a plan
			p.Aside = append(p.Aside, m)
		default:
			p.Turn = append(p.Turn, m)
			if err := add(m); err != nil {
				return conversation.Snapshot{}, nil, err
			}
		}
	}
	return p, input, nil
}
