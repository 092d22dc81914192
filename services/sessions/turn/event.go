package turn

import (
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/eventlog"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const turnFinished = "dev.windlass.turn.finished.v1"

// recordEnd records the domain event of the end of a turn.
func recordEnd(tx *journal.Tx, t store.Turn) error {
	usage := t.End.GetUsage()
	e, err := eventlog.New(t.Tenant, turnFinished, t.ID, tx.Now(), &eventv1.TurnFinished{
		TurnId: t.ID, SessionId: t.SessionID, AgentId: t.AgentID, Status: enum.Name(t.Status), StopReason: t.End.GetStopReason(),
		ErrorCode: t.End.GetError().GetCode(), DurationMs: float64(t.EndTime.Sub(t.CreateTime).Microseconds()) / 1000,
		Usage: &eventv1.TurnUsage{
			InputTokens: uint32(usage.GetInputTokens()), OutputTokens: uint32(usage.GetOutputTokens()),
			ModelCalls: uint32(usage.GetModelCalls()), ToolCalls: uint32(usage.GetToolCalls()), Cost: usage.GetCost(),
		},
		Principal: t.Subject,
	})
	e.Owner, e.EraseWith = tx.Session.Subject, t.SessionID
	return tx.RecordEvent(tx.Context(), e, err)
}
