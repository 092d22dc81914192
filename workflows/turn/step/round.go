package step

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// Codes of calls that were waited for in vain. They are told in tool_call.completed.
const (
	codeDenied    = "approval_denied"
	codeExpired   = "wait_expired"
	codeUnheeded  = "wait_cancelled"
	codeTooOften  = "too_many_waits"
	codeArguments = "invalid_tool_arguments"
)

// parkUnknown is the agent's word for waiting until somebody says what became of a call.
const parkUnknown = "park"

// round is what one round of a call comes to before the registry is asked, if it is asked at all. One of its fields is set.
type round struct {
	// ask is what to ask the registry.
	ask *registryv1.CallToolRequest
	// completed is the call's end.
	completed *registryv1.Completed
	// wait is what the call waits for.
	wait *sessionsv1.WaitRequest
	// events tell how it came to completed or wait.
	events []*turnv1.Event
	// recorded says that completed is what the same call came to in the turn that is run again.
	recorded bool
}

// round finds out what this round does. Who runs the call decides on its first round; what was waited for decides on the later ones.
func (t tool) round(ctx context.Context, w *work) (round, error) {
	client, agent := clientTool(w.loaded, w.call.GetTool()), agentTool(w.loaded, w.call.GetTool())
	switch {
	case w.ref.GetRound() > engine.MaxRounds:
		text := fmt.Sprintf("The call was given up: it asked for somebody's answer %d times.", engine.MaxRounds)
		return round{completed: refused(w, codeTooOften, text)}, nil
	case w.ref.GetWait() != nil:
		wait, err := t.deps.Sessions.GetWait(ctx, &sessionsv1.GetWaitRequest{TurnId: w.turn.TurnID, WaitId: w.ref.GetWait().GetId()})
		if err != nil {
			return round{}, fmt.Errorf("read wait: %w", err)
		}
		r, err := t.after(w, wait)
		if r.ask != nil && agent != nil { // it was approved
			return t.agent(ctx, w, agent, r.ask.GetApproved())
		}
		return r, err
	case w.loaded.GetRerun().GetTools() == contract.ToolsRecorded:
		if r, err := t.recorded(ctx, w); err != nil || r.completed != nil {
			return r, err
		}
		return round{ask: t.request(w)}, nil
	case agent != nil:
		return t.agent(ctx, w, agent, nil)
	case client != nil:
		return firstOfClient(ctx, w, client)
	default:
		return round{ask: t.request(w)}, nil
	}
}

// request asks the registry for the call. Its key is that of the call's first round, so that all rounds are one execution.
func (t tool) request(w *work) *registryv1.CallToolRequest {
	return &registryv1.CallToolRequest{
		Principal: w.loaded.GetPrincipal(), Tool: w.call.GetTool(), DefinitionHash: w.pinnedHash(), ArgumentsJson: w.call.GetArgumentsJson(),
		TurnId: w.turn.TurnID, SessionId: w.turn.SessionID, CallId: w.call.GetCallId(), Key: w.turn.TurnID + "/" + stepkey.FirstRound(w.ref.GetKey()),
		ApprovalRules: w.loaded.GetAgent().GetApprovals(), CanWait: true,
	}
}

// after says what follows a wait.
func (t tool) after(w *work, wait *sessionsv1.Wait) (round, error) {
	switch wait.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return round{completed: answered(w, wait, "the client did not run it")}, nil
	case turnv1.WaitKind_WAIT_KIND_CHILD:
		return round{completed: answered(w, wait, "the agent's turn was left alone")}, nil
	}
	ask := t.request(w)
	if err := recall(wait.GetRequest().GetState(), ask); err != nil {
		return round{}, err
	}
	switch wait.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return afterApproval(w, wait, ask), nil
	case turnv1.WaitKind_WAIT_KIND_INPUT:
		ask.Input = inputAnswer(wait, ask.GetInput().GetState())
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		ask.Resolution = resolution(wait)
	default:
		return round{}, Final(fmt.Errorf("wait %s has unknown kind %v", wait.GetRef().GetId(), wait.GetRef().GetKind()))
	}
	return round{ask: ask}, nil
}

// afterApproval runs an approved call with the evidence, asks anew when the leave is void, and refuses else.
func afterApproval(w *work, wait *sessionsv1.Wait, ask *registryv1.CallToolRequest) round {
	switch wait.GetVerdict() {
	case turnv1.Verdict_VERDICT_APPROVED:
		ask.Approved = &registryv1.Approved{
			ApprovalId: wait.GetRef().GetId(), ArgumentsHash: wait.GetRequest().GetArgumentsHash(), DefinitionHash: wait.GetRequest().GetDefinitionHash(),
		}
		return round{ask: ask}
	case turnv1.Verdict_VERDICT_VOID:
		ask.Approved = nil
		return round{ask: ask}
	case turnv1.Verdict_VERDICT_DENIED:
		return round{completed: refused(w, codeDenied, "The call was not run: "+refusal(wait))}
	case turnv1.Verdict_VERDICT_EXPIRED:
		return round{completed: refused(w, codeExpired, "The call was not run: it needs a person's leave, and nobody gave it in time.")}
	default:
		return round{completed: refused(w, codeUnheeded, "The call was not run: the turn stopped before somebody gave leave.")}
	}
}

// refusal tells who refused, and why.
func refusal(wait *sessionsv1.Wait) string {
	for _, d := range wait.GetDecisions() {
		if d.GetApprove() {
			continue
		}
		text := or(d.GetSubject(), "somebody") + " refused it."
		if d.GetComment() != "" {
			text += " Comment: " + d.GetComment()
		}
		return text
	}
	return "it was refused."
}

// inputAnswer is what the tool is told of a question's end.
func inputAnswer(wait *sessionsv1.Wait, state []byte) *registryv1.InputAnswer {
	answer := &registryv1.InputAnswer{Action: "cancel", State: state}
	switch wait.GetVerdict() {
	case turnv1.Verdict_VERDICT_ANSWERED:
		answer.Action, answer.Content = "accept", wait.GetContent()
	case turnv1.Verdict_VERDICT_DECLINED: // or he let it be
		answer.Action = or(wait.GetAction(), "decline")
	}
	return answer
}

// resolution is what the ledger is told of a call whose outcome was unknown. A question that nobody answered leaves it unknown.
func resolution(wait *sessionsv1.Wait) *registryv1.Resolution {
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

// answered is the end of a call that somebody else ran: its result, or why there is none.
func answered(w *work, wait *sessionsv1.Wait, otherwise string) *registryv1.Completed {
	switch {
	case wait.GetVerdict() == turnv1.Verdict_VERDICT_ANSWERED:
		c := &registryv1.Completed{Result: proto.CloneOf(wait.GetResult())}
		if c.GetResult().GetIsError() {
			c.Code = "tool_error"
		}
		return c
	case wait.GetVerdict() == turnv1.Verdict_VERDICT_EXPIRED:
		return refused(w, codeExpired, "The call has no result: it did not come in time.")
	default:
		return refused(w, codeUnheeded, "The call has no result: "+otherwise+".")
	}
}

// refused ends a call without a result.
func refused(w *work, code, text string) *registryv1.Completed {
	return &registryv1.Completed{Code: code, Result: errorResult(w.call, text)}
}

// remember is what later rounds of a call need of this one, as the state of a wait: leave that was given, and answers.
func remember(ask *registryv1.CallToolRequest, input *registryv1.InputAnswer) []byte {
	kept := &registryv1.CallToolRequest{Approved: ask.GetApproved(), Input: input}
	state, err := proto.Marshal(kept)
	if err != nil {
		return nil // strings that came out of a message fit into one
	}
	return state
}

// recall gives a call what an earlier round remembered.
func recall(state []byte, ask *registryv1.CallToolRequest) error {
	kept := &registryv1.CallToolRequest{}
	if err := proto.Unmarshal(state, kept); err != nil {
		return Final(fmt.Errorf("read state of a wait: %w", err))
	}
	ask.Approved, ask.Input = kept.GetApproved(), kept.GetInput()
	return nil
}
