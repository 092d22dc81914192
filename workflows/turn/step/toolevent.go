package step

import (
	"context"
	"sync"
	"time"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// eventLog collects a tool call's events. Those of a quick call are written with its outcome, which saves a round trip; those of a
// slow one as soon as it shows to be slow.
type eventLog struct {
	write func([]*turnv1.Event) error

	mu      sync.Mutex
	pending []*turnv1.Event
	timer   *time.Timer
	taken   bool
}

func (t tool) newEventLog(ctx context.Context, w *work) *eventLog {
	return &eventLog{write: func(events []*turnv1.Event) error {
		_, err := t.deps.Sessions.AppendEvents(ctx, &sessionsv1.AppendEventsRequest{
			TurnId: w.turn.TurnID, Step: w.ref.GetKey(), Fence: w.lease.GetFence(), Events: events,
		})
		if err != nil {
			t.deps.Log.DebugContext(ctx, "events stay for the commit", "step", w.ref.GetKey(), "error", err)
		}
		return err
	}}
}

func (l *eventLog) add(e *turnv1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, e)
}

// writeAfter writes what is there after a while, unless it was taken before. What cannot be written stays for the commit.
func (l *eventLog) writeAfter(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		return
	}
	l.timer = time.AfterFunc(d, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.taken && len(l.pending) > 0 && l.write(l.pending) == nil {
			l.pending = nil
		}
	})
}

// take ends the log and gives what is not written yet. It waits for a write that is under way.
func (l *eventLog) take() []*turnv1.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.taken = true
	return l.pending
}

// pinnedHash is the definition that the turn pinned for the call's tool; empty for a tool that the model made up.
func (w *work) pinnedHash() string {
	for _, p := range w.loaded.GetTools() {
		if p.GetName() == w.call.GetTool() {
			return p.GetDefinitionHash()
		}
	}
	return ""
}

func toolCallStarted(w *work) *turnv1.ToolCallStarted {
	return &turnv1.ToolCallStarted{
		CallId: w.call.GetCallId(), Tool: w.call.GetTool(), Arguments: argumentsOf(w.call), Effect: w.effect(),
	}
}

func policyDecided(w *work, d *registryv1.Decided) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_PolicyDecided{PolicyDecided: &turnv1.PolicyDecided{
		DecisionId: d.GetDecisionId(), CallId: w.call.GetCallId(), Tool: w.call.GetTool(), Allowed: d.GetAllowed(), Reason: d.GetReason(),
	}}}
}

func toolExecuting(w *work, e *registryv1.Executing) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallExecuting{ToolCallExecuting: &turnv1.ToolCallExecuting{
		CallId: w.call.GetCallId(), ExecutionId: e.GetExecutionId(),
	}}}
}

func toolProgress(w *work, p *registryv1.Progress) *turnv1.Event {
	return &turnv1.Event{Type: "tool_call.progress", Data: &turnv1.Event_ToolCallProgress{ToolCallProgress: &turnv1.ToolCallProgress{
		CallId: w.call.GetCallId(), Progress: p.GetProgress(), Total: p.GetTotal(), Message: p.GetMessage(),
	}}}
}

func toolUnresolved(w *work, c *registryv1.Completed) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
		CallId: w.call.GetCallId(), Tool: w.call.GetTool(), ExecutionId: c.GetExecutionId(),
	}}}
}

func toolCompleted(result *turnv1.ToolResult, c *registryv1.Completed) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{
		Result: result, LatencyMs: c.GetLatencyMs(), Cached: c.GetCached(), Code: c.GetCode(), ExecutionId: c.GetExecutionId(),
	}}}
}

// errorResult tells the model why a call has no result.
func errorResult(call *turnv1.ToolCall, text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{
		CallId: call.GetCallId(), Tool: call.GetTool(), IsError: true,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}
}
