package limits

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Bounds are the limits of the mesh.
type Bounds struct {
	// Default are the limits of agents that set none; Max is the most that an agent, or a turn, may set.
	Default, Max Limits
}

// OfAgent returns the limits of an agent's turns: the mesh's where the agent sets none.
func (b Bounds) OfAgent(a store.Agent) Limits {
	l, _ := Of(a.Spec.Limits) // checked when it was stored
	return l.Or(b.Default)
}

// CheckTurn checks the limits that a caller sets for one turn of an agent, and returns them as they are stored, nil for none.
func (b Bounds) CheckTurn(asked *agentspec.Limits, a store.Agent) (*agentspec.Limits, error) {
	l, err := Of(asked)
	switch {
	case err != nil:
		return nil, fault.Invalid("limits.max_cost", "%v", err)
	case asked != nil && (asked.MaxChildren != 0 || asked.MaxDepth != 0):
		return nil, fault.Invalid("limits", "max_children and max_depth are set for agents, not for one turn")
	case l == Limits{}:
		return nil, nil
	}
	if over, ok := l.Within(b.OfAgent(a)); !ok {
		return nil, fault.Invalid("limits."+over.Name, "is higher than that of agent %q, %s: a turn can only lower the limits of its agent", a.ID,
			over.Max)
	}
	if over, ok := l.Within(b.Max); !ok {
		return nil, fault.Invalid("limits."+over.Name, "%s", over.aboveMesh())
	}
	return l.Spec(), nil
}

// CheckAgent returns what is wrong with the limits of an agent.
func (b Bounds) CheckAgent(v agentspec.Limits) []fault.Field {
	var wrong []fault.Field
	asked, err := Of(&v)
	if err != nil {
		wrong = append(wrong, fault.Field{Path: "max_cost", Message: err.Error()})
	}
	if over, ok := asked.Within(b.Max); !ok {
		wrong = append(wrong, fault.Field{Path: over.Name, Message: over.aboveMesh()})
	}
	return wrong
}

func (e Excess) aboveMesh() string {
	return fmt.Sprintf("is higher than the mesh allows, which is %s (sessions.max_limits.%s of the configuration)", e.Max, e.Name)
}
