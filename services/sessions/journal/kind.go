package journal

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Type returns the type of a durable event from its data; "" for a transient event, and for one without data.
func Type(e *turnv1.Event) string {
	if kind := turnType(e); kind != "" {
		return kind
	}
	return stepType(e)
}

// turnType is Type for events of a session or turn as a whole.
func turnType(e *turnv1.Event) string {
	switch d := e.GetData().(type) {
	case *turnv1.Event_TurnQueued:
		return "turn.queued"
	case *turnv1.Event_TurnStarted:
		return "turn.started"
	case *turnv1.Event_TurnEnded:
		return endType(d.TurnEnded.GetStatus())
	case *turnv1.Event_TurnRecovered:
		return "turn.recovered"
	case *turnv1.Event_TurnCancelRequested:
		return cancelRequested
	case *turnv1.Event_SessionForked:
		return "session.forked"
	case *turnv1.Event_TurnRerun:
		return "turn.rerun"
	case *turnv1.Event_StrategySelected:
		return "strategy.selected"
	case *turnv1.Event_PlanUpdated:
		return "plan.updated"
	case *turnv1.Event_TurnPaused:
		return "turn.paused"
	case *turnv1.Event_TurnResumed:
		return "turn.resumed"
	case *turnv1.Event_InputAccepted:
		return "input.accepted"
	case *turnv1.Event_ApprovalRequested:
		return "approval.requested"
	case *turnv1.Event_ApprovalResolved:
		return "approval.resolved"
	case *turnv1.Event_InputRequested:
		return "input.requested"
	case *turnv1.Event_InputProvided:
		return "input.provided"
	case *turnv1.Event_AuthRequired:
		return "auth.required"
	case *turnv1.Event_AuthResolved:
		return "auth.resolved"
	case *turnv1.Event_ChildStarted:
		return "child.started"
	case *turnv1.Event_ChildCompleted:
		return "child.completed"
	}
	return ""
}

// stepType is Type for events of steps.
func stepType(e *turnv1.Event) string {
	switch e.GetData().(type) {
	case *turnv1.Event_StepStarted:
		return "step.started"
	case *turnv1.Event_StepFinished:
		return "step.finished"
	case *turnv1.Event_MessageStarted:
		return "message.started"
	case *turnv1.Event_MessageReset:
		return "message.reset"
	case *turnv1.Event_MessageCompleted:
		return "message.completed"
	case *turnv1.Event_ToolCallStarted:
		return "tool_call.started"
	case *turnv1.Event_ToolCallExecuting:
		return "tool_call.executing"
	case *turnv1.Event_ToolCallCompleted:
		return "tool_call.completed"
	case *turnv1.Event_ToolCallUnresolved:
		return "tool_call.unresolved"
	case *turnv1.Event_ToolCallResolved:
		return "tool_call.resolved"
	case *turnv1.Event_PolicyDecided:
		return "policy.decided"
	case *turnv1.Event_ShieldTriggered:
		return "shield.triggered"
	case *turnv1.Event_ExecutorAttached:
		return "executor.attached"
	case *turnv1.Event_ContextCompacted:
		return "context.compacted"
	case *turnv1.Event_ArtifactCreated:
		return "artifact.created"
	case *turnv1.Event_UsageUpdated:
		return "usage.updated"
	case *turnv1.Event_BudgetWarning:
		return "budget.warning"
	case *turnv1.Event_BudgetExhausted:
		return "budget.exhausted"
	}
	return ""
}

func endType(s turnv1.TurnStatus) string {
	switch s {
	case turnv1.TurnStatus_TURN_STATUS_COMPLETED:
		return "turn.completed"
	case turnv1.TurnStatus_TURN_STATUS_FAILED:
		return "turn.failed"
	case turnv1.TurnStatus_TURN_STATUS_CANCELLED:
		return "turn.cancelled"
	}
	return ""
}

// Open returns the seq that deltas refer to after e, given the one that they referred to before it; 0 means that no message is
// open. A session has one open message at most: message.started and message.reset open one; its completion, the end of its step
// or of its turn closes it. turn is that of the open message, empty if it is unknown: a queued turn of the session may end meanwhile.
func Open(before uint32, turn string, e *turnv1.Event) uint32 {
	switch d := e.GetData().(type) {
	case *turnv1.Event_MessageStarted, *turnv1.Event_MessageReset:
		return e.GetSeq()
	case *turnv1.Event_TurnEnded:
		if turn == "" || e.GetTurnId() == turn {
			return 0
		}
	case *turnv1.Event_MessageCompleted:
		return 0
	case *turnv1.Event_StepFinished:
		if d.StepFinished.GetKind() == "infer" {
			return 0
		}
	}
	return before
}
