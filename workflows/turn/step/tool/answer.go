package tool

import (
	"cmp"
	"fmt"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

// after says what follows a wait.
func (t *tool) after(wait *executionv1.Wait) (round, error) {
	switch wait.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return round{completed: answered(t.call, wait, "the client did not run it")}, nil
	case turnv1.WaitKind_WAIT_KIND_CHILD:
		return round{completed: answered(t.call, wait, "the agent's turn was left alone")}, nil
	}
	ask := t.request()
	if err := recall(wait.GetRequest().GetState(), ask); err != nil {
		return round{}, err
	}
	switch wait.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return afterApproval(t.call, wait, ask), nil
	case turnv1.WaitKind_WAIT_KIND_INPUT:
		ask.Input = inputAnswer(wait, ask.GetInput().GetState())
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		ask.Resolution = resolution(wait)
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return afterAuthorization(t.call, wait, ask), nil
	default:
		return round{}, step.Final(fmt.Errorf("wait %s has unknown kind %v", wait.GetRef().GetId(), wait.GetRef().GetKind()))
	}
	return round{ask: ask}, nil
}

// afterApproval runs an approved call with the evidence, asks again when the approval is void, and refuses otherwise.
func afterApproval(call *turnv1.ToolCall, wait *executionv1.Wait, ask *registryv1.CallToolRequest) round {
	switch wait.GetVerdict() {
	case turnv1.Verdict_VERDICT_APPROVED:
		ask.Approved = &registryv1.Approved{
			ApprovalId: wait.GetRef().GetId(), ArgumentsHash: wait.GetRequest().GetArgumentsHash(),
			DefinitionHash: wait.GetRequest().GetDefinitionHash(),
		}
		return round{ask: ask}
	case turnv1.Verdict_VERDICT_VOID:
		ask.Approved = nil
		return round{ask: ask}
	case turnv1.Verdict_VERDICT_DENIED:
		return round{completed: refused(call, codeDenied, "The call was not run: "+refusal(wait))}
	case turnv1.Verdict_VERDICT_EXPIRED:
		return round{completed: refused(call, codeExpired, "The call was not run: it needs approval, and was not approved in time.")}
	default:
		return round{completed: refused(call, codeCancelled, "The call was not run: the turn stopped before it was approved.")}
	}
}

// afterAuthorization makes the call again once the user has logged in or connected the source, and refuses it otherwise.
func afterAuthorization(call *turnv1.ToolCall, wait *executionv1.Wait, ask *registryv1.CallToolRequest) round {
	switch wait.GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED:
		return round{ask: ask}
	case turnv1.Verdict_VERDICT_DECLINED:
		return round{completed: refused(call, codeUnauthorized, "The call was not run: the user declined to authorize it.")}
	case turnv1.Verdict_VERDICT_EXPIRED:
		return round{completed: refused(call, codeExpired, "The call was not run: the user did not authorize it in time.")}
	default:
		return round{completed: refused(call, codeCancelled, "The call was not run: the turn stopped before the user authorized it.")}
	}
}

// refusal returns who refused, and why.
func refusal(wait *executionv1.Wait) string {
	for _, d := range wait.GetDecisions() {
		if d.GetApprove() {
			continue
		}
		text := cmp.Or(d.GetSubject(), "someone") + " refused it."
		if d.GetComment() != "" {
			text += " Comment: " + d.GetComment()
		}
		return text
	}
	return "it was refused."
}

// inputAnswer returns what the tool receives when its question ends.
func inputAnswer(wait *executionv1.Wait, state []byte) *registryv1.InputAnswer {
	answer := &registryv1.InputAnswer{Action: "cancel", State: state}
	switch wait.GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED:
		answer.Action, answer.Content = "accept", wait.GetContent()
	case turnv1.Verdict_VERDICT_DECLINED: // or dismissed
		answer.Action = cmp.Or(wait.GetAction(), "decline")
	}
	return answer
}

// resolution is what the ledger records of a call whose outcome was unknown. Without an answer it stays unknown.
func resolution(wait *executionv1.Wait) *registryv1.Resolution {
	r := &registryv1.Resolution{Id: wait.GetRef().GetId(), Verdict: turnv1.Verdict_VERDICT_GIVEN_UP, Result: wait.GetResult()}
	switch v := wait.GetVerdict(); v {
	case turnv1.Verdict_VERDICT_ANSWERED, turnv1.Verdict_VERDICT_NOT_DONE:
		r.Verdict = v
	}
	for _, d := range wait.GetDecisions() {
		r.Subject, r.Comment = d.GetSubject(), d.GetComment()
	}
	return r
}

// answered returns the end of a call that was run elsewhere: its result, or why there is none.
func answered(call *turnv1.ToolCall, wait *executionv1.Wait, otherwise string) *registryv1.Completed {
	switch {
	case wait.GetVerdict() == turnv1.Verdict_VERDICT_ANSWERED:
		c := &registryv1.Completed{Result: proto.CloneOf(wait.GetResult())}
		if wait.GetRef().GetKind() != turnv1.WaitKind_WAIT_KIND_CHILD && c.GetResult() != nil { // a client does not say what is trusted
			c.Result.Trusted = false
		}
		if c.GetResult().GetIsError() {
			c.Code = "tool_error"
		}
		return c
	case wait.GetVerdict() == turnv1.Verdict_VERDICT_EXPIRED:
		return refused(call, codeExpired, "The call has no result: it did not come in time.")
	default:
		return refused(call, codeCancelled, "The call has no result: "+otherwise+".")
	}
}

// refused ends a call without a result.
func refused(call *turnv1.ToolCall, code, text string) *registryv1.Completed {
	return &registryv1.Completed{Code: code, Result: conversation.ErrorResult(call, text)}
}

// remember returns what later rounds of a call need of this one, as the state of a wait: approvals, and answers.
func remember(ask *registryv1.CallToolRequest, input *registryv1.InputAnswer) []byte {
	kept := &registryv1.CallToolRequest{Approved: ask.GetApproved(), Input: input}
	state, err := proto.Marshal(kept)
	if err != nil {
		return nil // strings that came out of a message fit into one
	}
	return state
}

// recall restores what remember kept of an earlier round.
func recall(state []byte, ask *registryv1.CallToolRequest) error {
	kept := &registryv1.CallToolRequest{}
	if err := proto.Unmarshal(state, kept); err != nil {
		return step.Final(fmt.Errorf("read state of a wait: %w", err))
	}
	ask.Approved, ask.Input = kept.GetApproved(), kept.GetInput()
	return nil
}
