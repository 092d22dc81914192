package convert

import (
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// WaitToProto converts a wait as workers see it.
func WaitToProto(w store.Wait) *executionv1.Wait {
	r := w.Request
	return &executionv1.Wait{
		Ref: w.Ref(), Verdict: w.Verdict, Content: w.Answer.GetContent(), Result: w.Answer.GetResult(), Decisions: w.Answer.GetDecisions(),
		Action: w.Answer.GetAction(),
		Request: &executionv1.WaitRequest{
			Kind: r.GetKind(), CallId: r.GetCallId(), Tool: r.GetTool(), Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(),
			DefinitionHash: r.GetDefinitionHash(), Effect: r.GetEffect(), Rule: r.GetRule(), Message: r.GetMessage(),
			ApproverRoles: r.GetApproverRoles(), AllowRequester: r.GetAllowRequester(), Quorum: r.GetQuorum(), ExpiresIn: r.GetExpiresIn(),
			SchemaJson: r.GetSchemaJson(), ExecutionId: r.GetExecutionId(), State: r.GetState(), ChildTurnId: r.GetChildTurnId(),
			Authorization: r.GetAuthorization(),
		},
	}
}

// waitRequest converts what a step waits for, nil for nil.
func waitRequest(r *executionv1.WaitRequest) *store.WaitRequest {
	if r == nil {
		return nil
	}
	return &store.WaitRequest{
		Kind: r.GetKind(), CallId: r.GetCallId(), Tool: r.GetTool(), Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(),
		DefinitionHash: r.GetDefinitionHash(), Effect: r.GetEffect(), Rule: r.GetRule(), Message: r.GetMessage(),
		ApproverRoles: r.GetApproverRoles(), AllowRequester: r.GetAllowRequester(), Quorum: r.GetQuorum(), ExpiresIn: r.GetExpiresIn(),
		SchemaJson: r.GetSchemaJson(), ExecutionId: r.GetExecutionId(), State: r.GetState(), ChildTurnId: r.GetChildTurnId(),
		Authorization: r.GetAuthorization(),
	}
}
