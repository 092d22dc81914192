package sessions

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// limitsOf reads limits as people write them. Only the cost can be wrong; then it is left out.
func limitsOf(l *sessionsv1.Limits) (LimitsConfig, error) {
	cost, err := money.Parse(l.GetMaxCost())
	return LimitsConfig{
		MaxSteps: l.GetMaxSteps(), MaxTokens: l.GetMaxTokens(), MaxParallelTools: l.GetMaxParallelTools(),
		MaxIdenticalCalls: l.GetMaxIdenticalCalls(), TurnSeconds: l.GetTurnSeconds(), MaxToolCalls: l.GetMaxToolCalls(), MaxCost: cost,
	}, err
}

// toProto writes limits as people read them.
func (l LimitsConfig) toProto() *sessionsv1.Limits {
	out := &sessionsv1.Limits{
		MaxSteps: l.MaxSteps, MaxTokens: l.MaxTokens, MaxParallelTools: l.MaxParallelTools, MaxIdenticalCalls: l.MaxIdenticalCalls,
		TurnSeconds: l.TurnSeconds, MaxToolCalls: l.MaxToolCalls,
	}
	if l.MaxCost > 0 {
		out.MaxCost = l.MaxCost.String()
	}
	return out
}

// lowered gives the lower one of each limit; 0 is none.
func (l LimitsConfig) lowered(by LimitsConfig) LimitsConfig {
	return LimitsConfig{
		MaxSteps: lower(l.MaxSteps, by.MaxSteps), MaxTokens: lower(l.MaxTokens, by.MaxTokens),
		MaxParallelTools: lower(l.MaxParallelTools, by.MaxParallelTools), MaxIdenticalCalls: lower(l.MaxIdenticalCalls, by.MaxIdenticalCalls),
		TurnSeconds: lower(l.TurnSeconds, by.TurnSeconds), MaxToolCalls: lower(l.MaxToolCalls, by.MaxToolCalls),
		MaxCost: lower(l.MaxCost, by.MaxCost),
	}
}

func lower[T int32 | uint32 | money.Micros](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// agentLimits are the limits of an agent's turns: the mesh's where it names none.
func (s *Service) agentLimits(a store.Agent) LimitsConfig {
	l, _ := limitsOf(convert.LimitsToProto(a.Spec.Limits)) // checked when it was stored
	return l.or(s.cfg.Limits)
}

// withTreeLimits writes limits with those of an agent that only agents have.
func withTreeLimits(l LimitsConfig, of *sessionsv1.Limits) *sessionsv1.Limits {
	out := l.toProto()
	out.MaxChildren, out.MaxDepth = of.GetMaxChildren(), of.GetMaxDepth()
	return out
}

// checkLimits checks the limits that a caller sets for one turn, and returns them as they are stored, nil for none.
func (s *Service) checkLimits(asked *sessionsv1.Limits, agent store.Agent) ([]byte, error) {
	l, err := limitsOf(asked)
	if err != nil {
		return nil, fault.Invalid("limits.max_cost", "%v", err)
	}
	if asked.GetMaxChildren() != 0 || asked.GetMaxDepth() != 0 {
		return nil, fault.Invalid("limits", "max_children and max_depth are set for agents, not for one turn")
	}
	if l == (LimitsConfig{}) {
		return nil, nil
	}
	if name, most, ok := l.within(s.agentLimits(agent)); !ok {
		return nil, fault.Invalid("limits."+name, "is higher than that of agent %q, %s: a turn can only lower the limits of its agent", agent.ID, most)
	}
	if name, most, ok := l.within(s.cfg.MaxLimits); !ok {
		return nil, fault.Invalid("limits."+name, "%s", aboveMesh(name, most))
	}
	data, err := proto.Marshal(l.toProto())
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	return data, nil
}

// checkAgentLimits finds what is wrong with the limits of an agent.
func (s *Service) checkAgentLimits(v store.LimitsSpec) []fault.Field {
	var wrong []fault.Field
	asked, err := limitsOf(convert.LimitsToProto(&v))
	if err != nil {
		wrong = append(wrong, fault.Field{Path: "max_cost", Message: err.Error()})
	}
	if name, most, ok := asked.within(s.cfg.MaxLimits); !ok {
		wrong = append(wrong, fault.Field{Path: name, Message: aboveMesh(name, most)})
	}
	return wrong
}

// aboveMesh says that a limit is higher than the configuration allows.
func aboveMesh(name, most string) string {
	return fmt.Sprintf("is higher than the mesh allows, which is %s (sessions.max_limits.%s of the configuration)", most, name)
}
