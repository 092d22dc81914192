package turntest

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/money"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// CommitStep implements ExecutionService.
func (j *Journal) CommitStep(_ context.Context, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	j.mu.Lock()
	committing := j.committing
	j.mu.Unlock()
	if committing != nil {
		committing(req)
	}
	t, unlock, err := j.find("CommitStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := checkCommit(req); err != nil {
		return nil, err
	}
	resp, written, err := j.claimAndCommit(t, req)
	if err != nil || !written || t.load.GetCancelRequested() || t.ending != nil || resp.GetOutcome().GetExhausted() != nil {
		return resp, err
	}
	for _, next := range req.GetNext() {
		got, err := j.claim(t, next)
		if err != nil {
			return nil, err
		}
		resp.Next = append(resp.Next, got)
	}
	if req.GetThen() != nil && !t.stale(req.GetThen()) {
		resp.Then, _, err = j.claimAndCommit(t, req.GetThen())
	}
	return resp, err
}

// checkCommit rejects a commit whose parts do not fit together.
func checkCommit(req *executionv1.CommitStepRequest) error {
	key, then := req.GetOutcome().GetKey(), req.GetThen()
	switch {
	case key == "":
		return fault.Invalid("outcome.key", "names no step")
	case req.GetWait() != nil && stepkey.Wait(key) == "":
		return fault.Invalid("wait", "belongs to a tool step")
	case req.GetWait() != nil && len(req.GetMessages()) > 0:
		return fault.Invalid("messages", "a step that waits has none")
	case then != nil && (then.GetEnding() == nil || then.GetClaim() == nil || then.GetThen() != nil ||
		len(then.GetNext()) > 0 || len(req.GetNext()) > 0):
		return fault.Invalid("then", "must be a finish step with its claim")
	}
	for _, c := range append([]*executionv1.ClaimStepRequest{req.GetClaim(), then.GetClaim()}, req.GetNext()...) {
		if c == nil {
			continue
		}
		if err := checkClaim(c); err != nil {
			return err
		}
	}
	return nil
}

// claimAndCommit writes one step, which it claims first if the request says so. It reports whether it wrote the step.
func (j *Journal) claimAndCommit(
	t *turnRecord, req *executionv1.CommitStepRequest,
) (_ *executionv1.CommitStepResponse, written bool, _ error) {
	key, fence := req.GetOutcome().GetKey(), req.GetFence()
	if t.stale(req) {
		if s, err := t.held(key, fence); err == nil && s.done == nil && req.GetClaim() == nil {
			j.release(s, 0)
		}
		return &executionv1.CommitStepResponse{Stale: true, Inputs: t.inputs}, false, nil
	}
	if req.GetClaim() != nil {
		claimed, err := j.claim(t, req.GetClaim())
		switch {
		case err != nil:
			return nil, false, err
		case claimed.GetLease() == nil:
			return &executionv1.CommitStepResponse{
				Outcome: claimed.GetDone(), Adopted: claimed.GetDone() != nil, Busy: claimed.GetBusy(),
			}, false, nil
		}
		fence = claimed.GetLease().GetFence()
	}
	s, err := t.held(key, fence)
	if err != nil {
		return nil, false, err
	}
	if s.done == nil {
		if err := j.commit(t, s, req); err != nil {
			return nil, false, err
		}
		written = true
	}
	return &executionv1.CommitStepResponse{Outcome: s.done, Inputs: t.inputs}, written, nil
}

// commit writes a held step.
func (j *Journal) commit(t *turnRecord, s *stepRecord, req *executionv1.CommitStepRequest) error {
	ending := req.GetEnding()
	switch {
	case (ending != nil) != (s.kind == turnv1.StepKind_STEP_KIND_FINISH):
		return fault.Invalid("ending", "belongs to the finish step")
	case ending != nil && !slices.Contains([]turnv1.TurnStatus{
		turnv1.TurnStatus_TURN_STATUS_COMPLETED,
		turnv1.TurnStatus_TURN_STATUS_FAILED, turnv1.TurnStatus_TURN_STATUS_CANCELLED,
	}, ending.GetStatus()):
		return fault.Invalid("ending.status", "ends no turn")
	}
	for _, e := range req.GetEvents() {
		if err := t.checkEvent(s, e); err != nil {
			return err
		}
	}
	o := proto.CloneOf(req.GetOutcome())
	o.Kind, o.Cancelled = s.kind, o.GetCancelled() || t.load.GetCancelRequested()
	if s.kind == turnv1.StepKind_STEP_KIND_TOOL && o.GetUsage() == nil && req.GetWait() == nil {
		o.Usage = &turnv1.Usage{ToolCalls: 1}
	}
	j.writeContent(t, s, o, req)
	if req.GetWait() != nil && !t.load.GetCancelRequested() {
		o.Wait = j.beginWait(t, s, req.GetWait())
	}
	if o.GetSurface() != nil {
		t.load.Surface, t.load.Tools, t.load.AgentTools = proto.CloneOf(o.GetSurface()), req.GetTools(), req.GetAgentTools()
	}
	j.addUsage(t, s, o.GetUsage())
	j.append(t, s, &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{
		Kind: stepkey.KindName(s.kind), DurationMs: int32(req.GetDuration().AsDuration().Milliseconds()), Error: o.GetError(),
	}}})
	j.record(t, s, o)
	if s.kind == turnv1.StepKind_STEP_KIND_INFER {
		t.moveUnread(o.GetInputs())
	}
	if ending != nil {
		if t.load.GetCancelRequested() && ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
			ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
		}
		j.end(t, ending)
	}
	return nil
}

// record stores the outcome of a step that is done.
func (j *Journal) record(t *turnRecord, s *stepRecord, o *turnv1.StepOutcome) {
	t.place(s)
	o.CommittedMicros = j.now().UnixMicro()
	s.kind, s.done, s.owner = o.GetKind(), o, ""
	s.commits++
}

// addUsage adds what a step used to the turn, and reports the sum after a step that called a model.
func (j *Journal) addUsage(t *turnRecord, s *stepRecord, used *turnv1.Usage) {
	switch s.kind {
	case turnv1.StepKind_STEP_KIND_TOOL:
		t.usage.ToolCalls += used.GetToolCalls()
	case turnv1.StepKind_STEP_KIND_INFER, turnv1.StepKind_STEP_KIND_SELECT, turnv1.StepKind_STEP_KIND_PLAN,
		turnv1.StepKind_STEP_KIND_COMPACT:
		t.usage.ModelCalls += max(1, used.GetModelCalls())
	default:
		return
	}
	t.usage.InputTokens += used.GetInputTokens()
	t.usage.OutputTokens += used.GetOutputTokens()
	t.usage.CostMicros += used.GetCostMicros()
	t.usage.Cost = money.Text(t.usage.GetCostMicros())
	if s.kind != turnv1.StepKind_STEP_KIND_TOOL {
		j.append(t, s, &turnv1.Event{Data: &turnv1.Event_UsageUpdated{UsageUpdated: &turnv1.UsageUpdated{Usage: proto.CloneOf(t.usage)}}})
	}
}

// stale reports whether a commit ends the turn with an answer that does not take all input into account.
func (t *turnRecord) stale(req *executionv1.CommitStepRequest) bool {
	e := req.GetEnding()
	return e.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED && e.GetStopReason() == engine.StopEnd &&
		int(req.GetInputs()) < len(t.inputs) && !t.load.GetCancelRequested() && t.ending == nil
}

// Complete commits a step for the worker that seized it. The step has no content.
func (j *Journal) Complete(turn string, o *turnv1.StepOutcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	s := t.step(o.GetKey())
	j.record(t, s, o)
	j.append(t, s, &turnv1.Event{Data: &turnv1.Event_StepFinished{StepFinished: &turnv1.StepFinished{}}})
}
