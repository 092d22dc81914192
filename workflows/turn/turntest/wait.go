package turntest

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// waitRecord is a wait and the step that ended with it.
type waitRecord struct {
	wait *executionv1.Wait
	step string
}

func (w *waitRecord) open() bool {
	return w.wait.GetVerdict() == turnv1.Verdict_VERDICT_UNSPECIFIED
}

func (w *waitRecord) forPeople() bool { return engine.ForPeople(w.wait.GetRef().GetKind()) }

// openWaits returns the waits without an answer.
func (t *turnRecord) openWaits() []*waitRecord {
	var open []*waitRecord
	for _, w := range t.waits {
		if w.open() {
			open = append(open, w)
		}
	}
	return open
}

// waitsForPeople reports whether a wait for a person is open.
func (t *turnRecord) waitsForPeople() bool {
	for _, w := range t.openWaits() {
		if w.forPeople() {
			return true
		}
	}
	return false
}

// beginWait starts the wait that a step ends with, and returns its reference for the outcome. The first wait for a person pauses the
// turn.
func (j *Journal) beginWait(t *turnRecord, s *stepRecord, req *executionv1.WaitRequest) *turnv1.WaitRef {
	ref := &turnv1.WaitRef{Id: "apr_" + t.in.TurnID + "_" + s.key, Kind: req.GetKind()}
	if d := req.GetExpiresIn().AsDuration(); d > 0 {
		ref.ExpireMicros = j.now().Add(d).UnixMicro()
	}
	w := &waitRecord{wait: &executionv1.Wait{Ref: ref, Request: req}, step: s.key}
	if e := requested(w.wait); e != nil {
		j.append(t, s, e)
	}
	if w.forPeople() && !t.waitsForPeople() {
		t.paused, t.load.Turn.Status = j.now(), turnv1.TurnStatus_TURN_STATUS_WAITING
		j.append(t, nil, &turnv1.Event{Data: &turnv1.Event_TurnPaused{TurnPaused: &turnv1.TurnPaused{
			WaitingFor: req.GetKind(), ApprovalId: ref.GetId(),
		}}})
	}
	t.waits = append(t.waits, w)
	return ref
}

// requested returns the event that asks for what a turn waits for, nil for a child.
func requested(w *executionv1.Wait) *turnv1.Event {
	id, r := w.GetRef().GetId(), w.GetRequest()
	switch w.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalRequested{ApprovalRequested: &turnv1.ApprovalRequested{
			ApprovalId: id, CallId: r.GetCallId(), Tool: r.GetTool(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputRequested{InputRequested: &turnv1.InputRequested{
			ApprovalId: id, Kind: r.GetKind(), CallId: r.GetCallId(), Tool: r.GetTool(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
			ApprovalId: id, CallId: r.GetCallId(), Tool: r.GetTool(), ExecutionId: r.GetExecutionId(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return &turnv1.Event{Data: &turnv1.Event_AuthRequired{AuthRequired: &turnv1.AuthRequired{
			ApprovalId: id, CallId: r.GetCallId(), Tool: r.GetTool(), Source: r.GetAuthorization().GetSource(),
			Kind: r.GetAuthorization().GetKind(), ConnectUrl: r.GetAuthorization().GetConnectUrl(),
			Scopes: r.GetAuthorization().GetScopes(),
		}}}
	}
	return nil
}

// resolved returns the event of a wait's end, nil for a child.
func resolved(w *executionv1.Wait) *turnv1.Event {
	id, call := w.GetRef().GetId(), w.GetRequest().GetCallId()
	switch w.GetRef().GetKind() {
	case turnv1.WaitKind_WAIT_KIND_APPROVAL:
		return &turnv1.Event{Data: &turnv1.Event_ApprovalResolved{ApprovalResolved: &turnv1.ApprovalResolved{
			ApprovalId: id, CallId: call, Verdict: w.GetVerdict(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_INPUT, turnv1.WaitKind_WAIT_KIND_CLIENT_TOOL:
		return &turnv1.Event{Data: &turnv1.Event_InputProvided{InputProvided: &turnv1.InputProvided{
			ApprovalId: id, CallId: call, Verdict: w.GetVerdict(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_RESOLUTION:
		return &turnv1.Event{Data: &turnv1.Event_ToolCallResolved{ToolCallResolved: &turnv1.ToolCallResolved{
			ApprovalId: id, CallId: call, Tool: w.GetRequest().GetTool(), Verdict: w.GetVerdict(),
		}}}
	case turnv1.WaitKind_WAIT_KIND_AUTHORIZATION:
		return &turnv1.Event{Data: &turnv1.Event_AuthResolved{AuthResolved: &turnv1.AuthResolved{
			ApprovalId: id, CallId: call, Verdict: w.GetVerdict(),
		}}}
	}
	return nil
}

// closeWait ends a wait without the outcome with which the turn continues.
func (j *Journal) closeWait(t *turnRecord, w *waitRecord, verdict turnv1.Verdict) {
	w.wait.Verdict = verdict
	if e := resolved(w.wait); e != nil {
		j.append(t, &stepRecord{key: stepkey.Wait(w.step), attempt: 1}, e)
	}
}

// endWait ends a wait and records the outcome with which the turn continues. The last wait for a person resumes the turn: its deadline is
// later by the pause.
func (j *Journal) endWait(t *turnRecord, w *waitRecord, verdict turnv1.Verdict) {
	j.closeWait(t, w, verdict)
	o := &turnv1.StepOutcome{
		Key: stepkey.Wait(w.step), Kind: turnv1.StepKind_STEP_KIND_WAIT, Cancelled: t.load.GetCancelRequested(),
		Answer: &turnv1.WaitAnswer{WaitId: w.wait.GetRef().GetId(), Verdict: verdict},
	}
	if !t.paused.IsZero() && !t.waitsForPeople() {
		pause := j.now().Sub(t.paused)
		t.paused, t.load.Turn.Status = time.Time{}, turnv1.TurnStatus_TURN_STATUS_RUNNING
		t.pause += pause
		if at := t.load.GetSurface().GetDeadlineMicros(); at > 0 {
			o.DeadlineMicros = at + t.pause.Microseconds()
		}
		j.append(t, nil, &turnv1.Event{Data: &turnv1.Event_TurnResumed{TurnResumed: &turnv1.TurnResumed{PausedMs: pause.Milliseconds()}}})
	}
	j.record(t, t.step(o.GetKey()), o)
}

// Waits returns the open waits of a turn.
func (j *Journal) Waits(turn string) []*executionv1.Wait {
	j.mu.Lock()
	defer j.mu.Unlock()
	var open []*executionv1.Wait
	for _, w := range j.turns[turn].openWaits() {
		open = append(open, w.wait)
	}
	return open
}

// Answer ends the open wait of a step with a verdict, and wakes the workers of the turn. fill adds to the wait what the answer says.
func (j *Journal) Answer(turn, step string, verdict turnv1.Verdict, fill ...func(*executionv1.Wait)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	for _, w := range t.openWaits() {
		if w.step != step {
			continue
		}
		for _, f := range fill {
			f(w.wait)
		}
		j.endWait(t, w, verdict)
	}
	j.wake(t)
}

// GetWait implements ExecutionService.
func (j *Journal) GetWait(_ context.Context, req *executionv1.GetWaitRequest) (*executionv1.Wait, error) {
	t, unlock, err := j.find("GetWait", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, w := range t.waits {
		if w.wait.GetRef().GetId() == req.GetWaitId() {
			return proto.CloneOf(w.wait), nil
		}
	}
	return nil, fault.NotFound("turn %q has no wait %q", req.GetTurnId(), req.GetWaitId())
}

// ExpireWaits implements ExecutionService.
func (j *Journal) ExpireWaits(_ context.Context, req *executionv1.ExpireWaitsRequest) (*executionv1.ExpireWaitsResponse, error) {
	t, unlock, err := j.find("ExpireWaits", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, w := range t.openWaits() {
		if at := w.wait.GetRef().GetExpireMicros(); at > 0 && at <= j.now().UnixMicro() {
			j.endWait(t, w, turnv1.Verdict_VERDICT_EXPIRED)
		}
	}
	return &executionv1.ExpireWaitsResponse{}, nil
}
