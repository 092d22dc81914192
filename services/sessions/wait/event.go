package wait

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/timestamp"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Origin is what the event of a wait's end belongs to.
func Origin(t store.Turn, w store.Wait) journal.Origin {
	return journal.Origin{TurnID: w.TurnID, AgentPath: t.Path(), Step: stepkey.Wait(w.StepKey), Attempt: 1}
}

// requested is the event that asks for what is waited for, nil where there is none.
func requested(w store.Wait) *turnv1.Event {
	r := w.Request
	switch w.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{
			ApprovalId: w.ID, CallId: r.GetCallId(), Tool: r.GetTool(), Arguments: r.GetArguments(), ArgumentsHash: r.GetArgumentsHash(),
			DefinitionHash: r.GetDefinitionHash(), Effect: r.GetEffect(), Rule: r.GetRule(), Reason: r.GetMessage(),
			ApproverRoles: r.GetApproverRoles(), Quorum: w.Quorum(), ExpireTime: timestamp.Of(w.ExpireTime), ArgumentsJson: Arguments(w),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputRequested{InputRequested: &turnv1.InputRequested{
			ApprovalId: w.ID, Kind: w.Kind, CallId: r.GetCallId(), Tool: r.GetTool(), Message: r.GetMessage(), Schema: Schema(w),
			Arguments: r.GetArguments(), ExpireTime: timestamp.Of(w.ExpireTime),
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
			CallId: r.GetCallId(), Tool: r.GetTool(), ExecutionId: r.GetExecutionId(), ApprovalId: w.ID,
		}}}
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return &turnv1.Event{Data: &turnv1.Event_AuthRequired{AuthRequired: &turnv1.AuthRequired{
			ApprovalId: w.ID, CallId: r.GetCallId(), Tool: r.GetTool(), Source: r.GetAuthorization().GetSource(),
			Kind: r.GetAuthorization().GetKind(), ConnectUrl: r.GetAuthorization().GetConnectUrl(), Message: r.GetMessage(),
			ExpireTime: timestamp.Of(w.ExpireTime), Scopes: r.GetAuthorization().GetScopes(),
		}}}
	}
	return nil
}

// resolved is the event of a wait's end, nil where there is none. subject is who ended it, "" if no person did.
func resolved(w store.Wait, subject string) *turnv1.Event {
	switch w.Kind {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalResolved{ApprovalResolved: &turnv1.ApprovalResolved{
			ApprovalId: w.ID, CallId: w.CallID, Verdict: w.Verdict, Decisions: w.Answer.GetDecisions(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputProvided{InputProvided: &turnv1.InputProvided{
			ApprovalId: w.ID, CallId: w.CallID, Verdict: w.Verdict, Subject: subject,
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallResolved{ToolCallResolved: &turnv1.ToolCallResolved{
			ApprovalId: w.ID, CallId: w.CallID, Tool: w.Tool, Verdict: w.Verdict, Subject: subject,
		}}}
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return &turnv1.Event{Data: &turnv1.Event_AuthResolved{AuthResolved: &turnv1.AuthResolved{
			ApprovalId: w.ID, CallId: w.CallID, Verdict: w.Verdict, Subject: subject,
		}}}
	}
	return nil
}

// Arguments are the arguments that a wait is about as they will be sent, "" if there are none.
func Arguments(w store.Wait) string {
	if w.Request.GetArguments() == nil {
		return ""
	}
	return string(canon.StructJSON(w.Request.GetArguments()))
}

// Schema is the schema of the answer to a wait, nil when there is none that is a JSON object.
func Schema(w store.Wait) *structpb.Struct {
	text := w.Request.GetSchemaJson()
	if text == "" {
		return nil
	}
	out, err := canon.ParseStruct([]byte(text))
	if err != nil {
		return nil // a schema may be true or false too; answers are still checked against it
	}
	return out
}
