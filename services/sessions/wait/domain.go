package wait

import (
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/timestamp"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Types of domain events.
const (
	approvalRequested = "dev.windlass.approval.requested.v1"
	approvalDecided   = "dev.windlass.approval.decided.v1"
	approvalResolved  = "dev.windlass.approval.resolved.v1"
)

// RecordDecided records the domain event of a decision after which an approval stays open. subject is who decided, and approvals how many
// have approved.
func RecordDecided(tx *journal.Tx, w store.Wait, subject string, approvals uint32) error {
	return record(tx, w, approvalDecided, &eventv1.ApprovalDecided{
		ApprovalId: w.ID, TurnId: w.TurnID, SessionId: w.SessionID, AgentId: w.AgentID, Tool: w.Tool, DecidedBy: subject,
		Approvals: approvals, Quorum: w.Quorum(),
	})
}

// recordRequested records the domain event of a wait that began. A wait for a sub-agent has none.
func recordRequested(tx *journal.Tx, w store.Wait) error {
	return record(tx, w, approvalRequested, &eventv1.ApprovalRequested{
		ApprovalId: w.ID, Kind: enum.Name(w.Kind), TurnId: w.TurnID, SessionId: w.SessionID, AgentId: w.AgentID, Tool: w.Tool,
		ApproverRoles: w.Request.GetApproverRoles(), ExpireTime: timestamp.Of(w.ExpireTime),
	})
}

// recordResolved records the domain event of the end of a wait. subject is who ended it, "" if no person did.
func recordResolved(tx *journal.Tx, w store.Wait, subject string) error {
	return record(tx, w, approvalResolved, &eventv1.ApprovalResolved{
		ApprovalId: w.ID, Kind: enum.Name(w.Kind), TurnId: w.TurnID, SessionId: w.SessionID, AgentId: w.AgentID, Tool: w.Tool,
		Verdict: enum.Name(w.Verdict), ResolvedBy: subject,
	})
}

func record(tx *journal.Tx, w store.Wait, eventType string, data proto.Message) error {
	if !w.ForPeople() {
		return nil
	}
	e, err := eventlog.New(w.Tenant, eventType, w.ID, tx.Now(), data)
	e.Owner, e.EraseWith = w.Owner, w.SessionID
	return tx.RecordEvent(tx.Context(), e, err)
}
