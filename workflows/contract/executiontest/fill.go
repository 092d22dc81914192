package executiontest

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// deadline is that of all turns, in Unix microseconds.
const deadline = int64(4e15)

// Text returns a text as the content of a message or a result.
func Text(s string) []*turnv1.ContentPart {
	return []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: s}}}
}

// pins is what a begin step commits.
func pins(_ *run, req *executionv1.CommitStepRequest) {
	req.Outcome.Surface = &turnv1.Surface{
		AgentId: "assistant", BlueprintRevision: 1, Model: "test/model", MaxSteps: 25, DeadlineMicros: deadline,
	}
	req.Tools = []*executionv1.PinnedTool{{Name: tool, DefinitionHash: "h"}}
	req.Events = []*turnv1.Event{{Data: &turnv1.Event_TurnStarted{TurnStarted: &turnv1.TurnStarted{AgentId: "assistant"}}}}
}

// says has a model step write a message that requests calls. The service adds the message's ID and event.
func says(text string, calls ...string) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		m := &turnv1.Message{Role: turnv1.Role_ROLE_ASSISTANT, Content: Text(text)}
		for _, id := range calls {
			m.ToolCalls = append(m.ToolCalls, &turnv1.ToolCall{CallId: id, Tool: tool, ArgumentsJson: `{"a":1}`})
		}
		req.Messages = []*turnv1.Message{m}
		req.Outcome.Usage = &turnv1.Usage{InputTokens: 10, OutputTokens: 5}
	}
}

// withEvent adds the event of a commit's only message, as workers do. The message has the ID that the lease reserves.
func withEvent(step string) fill {
	return func(r *run, req *executionv1.CommitStepRequest) {
		m := req.GetMessages()[0]
		m.Id = r.message(step)
		req.Events = append(req.Events, &turnv1.Event{Data: &turnv1.Event_MessageCompleted{
			MessageCompleted: &turnv1.MessageCompleted{Message: m, FinishReason: "stop"},
		}})
	}
}

// reads says how many inputs a model step has read.
func reads(inputs uint32) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) { req.Outcome.Inputs = inputs }
}

// returns has a tool step write the result of a call.
func returns(call, text string) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		req.Messages = []*turnv1.Message{{
			Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: call, Tool: tool, Content: Text(text)},
		}}
	}
}

// stores has a step store an artifact.
func stores(id string) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		req.Artifacts = []*executionv1.NewArtifact{{Id: id, Name: "a.txt", MediaType: "text/plain", Data: []byte("a")}}
	}
}

// waitsFor has a tool step end with an approval that expires after d; 0 = never. The principal who started the turn may decide it.
func waitsFor(d time.Duration) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		req.Wait = &executionv1.WaitRequest{
			Kind: turnv1.WaitKind_WAIT_KIND_APPROVAL, CallId: callID(req.GetOutcome().GetKey()), Tool: tool, AllowRequester: true,
			ExpiresIn: durationpb.New(d),
		}
	}
}

// sumsUp has a compact step replace the messages up to that of a step.
func sumsUp(step, summary string) fill {
	return func(r *run, req *executionv1.CommitStepRequest) {
		req.Events = []*turnv1.Event{{Data: &turnv1.Event_ContextCompacted{ContextCompacted: &turnv1.ContextCompacted{
			MessageId: "msg_summary", ToMessageId: r.message(step), Summary: summary,
		}}}}
		r.names["msg_summary"] = "summary"
	}
}

// ends has a finish step end the turn.
func ends(status turnv1.TurnStatus, reason string) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		req.Ending = &turnv1.Ending{Status: status, StopReason: reason}
	}
}

// completes has a finish step end the turn with an answer that knows of so many inputs.
func completes(inputs uint32) fill {
	return func(_ *run, req *executionv1.CommitStepRequest) {
		req.Ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_COMPLETED, StopReason: "end"}
		req.Inputs = inputs
	}
}

// exhausted says that a limit stopped the step.
func exhausted(_ *run, req *executionv1.CommitStepRequest) {
	req.Outcome.Exhausted = &turnv1.LimitUse{}
}

// claimedBy claims the step in the commit.
func claimedBy(owner string) fill {
	return func(r *run, req *executionv1.CommitStepRequest) {
		req.Claim = claimOf(r.turn, req.GetOutcome().GetKey(), owner)
	}
}

// thenClaims claims other steps after the commit.
func thenClaims(keys ...string) fill {
	return func(r *run, req *executionv1.CommitStepRequest) {
		for _, key := range keys {
			req.Next = append(req.Next, claimOf(r.turn, key, "w1"))
		}
	}
}

// thenCommits commits the finish step after the commit.
func thenCommits(fills ...fill) fill {
	return func(r *run, req *executionv1.CommitStepRequest) {
		req.Then = commitOf(r, "finish", 0, append(fills, claimedBy("w1")))
	}
}
