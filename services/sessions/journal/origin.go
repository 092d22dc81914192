package journal

import "github.com/windlass-dev/windlass/services/sessions/store"

// OfTurn returns the origin of events of a turn.
func OfTurn(t store.Turn) Origin { return Origin{TurnID: t.ID, AgentPath: t.Path()} }

// OfStep returns the origin of events of a step of a turn.
func OfStep(t store.Turn, step store.Step) Origin {
	return Origin{TurnID: t.ID, AgentPath: t.Path(), Step: step.Key, Attempt: step.Attempt}
}
