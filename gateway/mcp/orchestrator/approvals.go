package orchestrator

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// inboxPath is the page on which people answer what waits for them.
const inboxPath = "/inbox"

// approvalView is what waits for a person, as models read it.
type approvalView struct {
	ID            string          `json:"approval_id"`
	Kind          string          `json:"kind"`
	TurnID        string          `json:"turn_id"`
	AgentID       string          `json:"agent_id"`
	Tool          string          `json:"tool,omitempty"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentsHash string          `json:"arguments_hash,omitempty"`
	Message       string          `json:"message,omitempty"`
	ExpireTime    string          `json:"expire_time,omitempty"`
	Decide        bool            `json:"decide"`
}

func approvalOf(a *sessionsv1.Approval) approvalView {
	v := approvalView{
		ID: a.GetId(), Kind: enum.Name(a.GetKind()), TurnID: a.GetTurnId(), AgentID: a.GetAgentId(), Tool: a.GetTool(),
		ArgumentsHash: a.GetArgumentsHash(), Message: a.GetMessage(), Decide: a.GetKind() == turnv1.WaitKind_WAIT_KIND_APPROVAL,
	}
	if t := a.GetExpireTime(); t != nil {
		v.ExpireTime = t.AsTime().Format(time.RFC3339)
	}
	if a.GetArguments() != nil {
		v.Arguments = canon.StructJSON(a.GetArguments())
	}
	return v
}

func listApprovals(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		PageToken string `json:"page_token"`
	}](c)
	if err != nil {
		return nil, err
	}
	page, err := o.approvals.ListApprovals(ctx, &sessionsv1.ListApprovalsRequest{
		PageSize: 50, PageToken: args.PageToken, Status: sessionsv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
	})
	if err != nil {
		return nil, err
	}
	views := []approvalView{}
	for _, a := range page.GetApprovals() {
		views = append(views, approvalOf(a))
	}
	return withNext(map[string]any{"approvals": views, "answer_at": o.inbox}, page.GetNextPageToken()), nil
}

func decideApproval(ctx context.Context, o *Orchestrator, c Call) (any, error) {
	args, err := read[struct {
		ApprovalID    string `json:"approval_id"`
		Decision      string `json:"decision"`
		ArgumentsHash string `json:"arguments_hash"`
		Comment       string `json:"comment"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case c.Caller != "":
		return nil, fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "a person has to decide, not an agent").
			Hint("Wait for the decision: call wait_for_turn later.")
	case args.ArgumentsHash == "":
		return nil, fault.Invalid("arguments_hash", "is required: it is that of the call that the person has seen, from list_approvals")
	}
	a, err := o.approvals.DecideApproval(ctx, &sessionsv1.DecideApprovalRequest{
		ApprovalId: args.ApprovalID, Decision: args.Decision, ArgumentsHash: args.ArgumentsHash, Comment: args.Comment,
	})
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"approval_id": a.GetId(), "status": enum.Name(a.GetStatus()), "turn_id": a.GetTurnId(), "next": "Call wait_for_turn.",
	}, nil
}
