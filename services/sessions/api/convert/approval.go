package convert

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/approval"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/wait"
)

// ApprovalToProto converts a wait as people see it.
func ApprovalToProto(w store.Wait) *sessionsv1.Approval {
	r := w.Request
	out := &sessionsv1.Approval{
		Id: w.ID, Kind: w.Kind, Status: enum.Parse[sessionsv1.ApprovalStatus](approval.Status(w)), SessionId: w.SessionID, TurnId: w.TurnID,
		AgentId: w.AgentID,
		CallId:  w.CallID, Tool: w.Tool, Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(), DefinitionHash: r.GetDefinitionHash(),
		Effect: r.GetEffect(), Rule: r.GetRule(), Message: r.GetMessage(), Schema: wait.Schema(w), ApproverRoles: r.GetApproverRoles(),
		AllowRequester: r.GetAllowRequester(), Decisions: w.Answer.GetDecisions(), Requester: w.Requester, Requesters: w.Requesters,
		ExecutionId: r.GetExecutionId(), CreateTime: timestamp.Of(w.CreateTime), ExpireTime: timestamp.Of(w.ExpireTime),
		EndTime: timestamp.Of(w.EndTime), Authorization: r.GetAuthorization(), ArgumentsJson: wait.Arguments(w),
	}
	if w.Kind == turnv1.WaitKind_WAIT_KIND_APPROVAL {
		out.Quorum = w.Quorum()
		if out.Arguments == nil {
			out.Arguments = &structpb.Struct{}
		}
	}
	return out
}

// VerdictOf returns the verdict of waits with a status; none for those that are open.
func VerdictOf(status sessionsv1.ApprovalStatus) turnv1.Verdict {
	return enum.Parse[turnv1.Verdict](enum.Name(status))
}
