package show

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// waitText is eventText for what turns wait for, and for input of running turns.
func waitText(ev *turnv1.Event) string {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_TurnPaused:
		return "waits for " + enum.Name(d.TurnPaused.GetWaitingFor()) + " " + d.TurnPaused.GetApprovalId()
	case *turnv1.Event_TurnResumed:
		return "after " + duration(d.TurnResumed.GetPausedMs())
	case *turnv1.Event_InputAccepted:
		return Parts(d.InputAccepted.GetContent())
	case *turnv1.Event_ApprovalRequested:
		return approvalText(d.ApprovalRequested)
	case *turnv1.Event_ApprovalResolved:
		return d.ApprovalResolved.GetApprovalId() + " " + decisionText(d.ApprovalResolved)
	case *turnv1.Event_InputRequested:
		return inputText(d.InputRequested)
	case *turnv1.Event_InputProvided:
		return d.InputProvided.GetApprovalId() + " " + enum.Name(d.InputProvided.GetVerdict()) + by(d.InputProvided.GetSubject())
	case *turnv1.Event_AuthRequired:
		return authText(d.AuthRequired)
	case *turnv1.Event_AuthResolved:
		return d.AuthResolved.GetApprovalId() + " " + enum.Name(d.AuthResolved.GetVerdict()) + by(d.AuthResolved.GetSubject())
	case *turnv1.Event_ToolCallResolved:
		return d.ToolCallResolved.GetTool() + " " + enum.Name(d.ToolCallResolved.GetVerdict()) + by(d.ToolCallResolved.GetSubject())
	default:
		return ""
	}
}

// approvalText describes what an approval is requested for.
func approvalText(a *turnv1.ApprovalRequested) string {
	text := a.GetApprovalId() + " for " + a.GetTool() + " " + Object(a.GetArguments())
	if a.GetReason() != "" {
		text += ": " + a.GetReason()
	}
	return text
}

// inputText describes a request for input.
func inputText(r *turnv1.InputRequested) string {
	if r.GetKind() == turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL {
		return r.GetApprovalId() + " runs at the client: " + r.GetTool() + " " + Object(r.GetArguments())
	}
	return r.GetApprovalId() + " asks: " + r.GetMessage()
}

// authText describes what a user has to do for a call.
func authText(r *turnv1.AuthRequired) string {
	todo := "log in again (windlass login)"
	if r.GetKind() == turnv1.AuthorizationKind_AUTHORIZATION_KIND_CONNECTION {
		todo = "connect " + r.GetSource() + " at " + r.GetConnectUrl()
	}
	if scopes := r.GetScopes(); len(scopes) > 0 {
		todo += " (it wants more: " + strings.Join(scopes, " ") + ")"
	}
	return r.GetApprovalId() + " for " + r.GetTool() + ": " + todo
}

// decisionText describes how an approval ended, who decided, and their comments.
func decisionText(r *turnv1.ApprovalResolved) string {
	var text strings.Builder
	text.WriteString(enum.Name(r.GetVerdict()))
	for _, d := range r.GetDecisions() {
		text.WriteString(by(d.GetSubject()))
		if d.GetComment() != "" {
			text.WriteString(" (" + d.GetComment() + ")")
		}
	}
	return text.String()
}

func by(subject string) string {
	if subject == "" {
		return ""
	}
	return " by " + subject
}

// Object formats a JSON object on one line, "" if there is none.
func Object(s *structpb.Struct) string {
	if s == nil {
		return ""
	}
	return string(canon.StructJSON(s))
}

// waitRemark returns the message about a wait for a person who watches a turn, "" for other events. It names the commands for use without a
// prompt.
func waitRemark(ev *turnv1.Event) string {
	switch d := ev.GetData().(type) {
	case *turnv1.Event_ApprovalRequested:
		return "waits for approval: " + approvalText(d.ApprovalRequested) + " – windlass decide " + d.ApprovalRequested.GetApprovalId()
	case *turnv1.Event_InputRequested:
		return "waits for an answer: " + inputText(d.InputRequested) + " – windlass decide " + d.InputRequested.GetApprovalId()
	case *turnv1.Event_ToolCallUnresolved:
		if d.ToolCallUnresolved.GetApprovalId() != "" {
			return "waits for the outcome of the call – windlass decide " + d.ToolCallUnresolved.GetApprovalId()
		}
	case *turnv1.Event_AuthRequired:
		return "waits for you: " + authText(d.AuthRequired)
	case *turnv1.Event_ApprovalResolved, *turnv1.Event_InputProvided, *turnv1.Event_ToolCallResolved, *turnv1.Event_AuthResolved:
		return waitText(ev)
	case *turnv1.Event_InputAccepted:
		return "more input: " + strings.TrimSpace(waitText(ev))
	}
	return ""
}
