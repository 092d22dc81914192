package turntest

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ClaimStep implements ExecutionService.
func (j *Journal) ClaimStep(_ context.Context, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	t, unlock, err := j.find("ClaimStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return j.claim(t, req)
}

func (j *Journal) claim(t *turnRecord, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	s := j.step(t, req.GetStep().GetKey())
	resp := &executionv1.ClaimStepResponse{CancelRequested: t.load.GetCancelRequested(), NowMicros: time.Now().UnixMicro()}
	switch left := time.Until(s.expires); {
	case s.done != nil:
		resp.Result = &executionv1.ClaimStepResponse_Done{Done: s.done}
		return resp, nil
	case t.ending != nil:
		return nil, fault.FailedPrecondition(faultv1.Reason_REASON_TURN_ENDED, "the turn has ended")
	case (s.owner != "" || s.rests) && left > 0:
		resp.Result = &executionv1.ClaimStepResponse_Busy{Busy: &executionv1.Busy{Owner: s.owner, ExpiresInMs: int32(left.Milliseconds()) + 1}}
		return resp, nil
	}
	s.owner, s.fence, s.attempt, s.rests = req.GetOwner(), s.fence+1, s.attempt+1, false
	s.expires = time.Now().Add(time.Duration(req.GetTtlMs()) * time.Millisecond)
	seq := j.claimed(t, s, req)
	resp.Result = &executionv1.ClaimStepResponse_Lease{Lease: &executionv1.Lease{
		Fence: s.fence, Attempt: s.attempt, BaseSeq: seq, MessageId: "msg_" + req.GetTurnId() + "_" + req.GetStep().GetKey(),
	}}
	return resp, nil
}

// claimed writes the events of a claim and gives the seq of the last.
func (j *Journal) claimed(t *turnRecord, s *stepRecord, req *executionv1.ClaimStepRequest) uint32 {
	key := req.GetStep().GetKey()
	seq := j.append(t, key, s.attempt, &turnv1.Event{Data: &turnv1.Event_StepStarted{StepStarted: &turnv1.StepStarted{
		Title: req.GetStep().GetTitle(),
	}}})
	switch {
	case req.GetStep().GetKind() == turnv1.StepKind_STEP_KIND_INFER && s.attempt > 1:
		return j.append(t, key, s.attempt, &turnv1.Event{Data: &turnv1.Event_MessageReset{MessageReset: &turnv1.MessageReset{}}})
	case req.GetStep().GetKind() == turnv1.StepKind_STEP_KIND_INFER:
		return j.append(t, key, s.attempt, &turnv1.Event{Data: &turnv1.Event_MessageStarted{
			MessageStarted: &turnv1.MessageStarted{Model: req.GetModel()},
		}})
	case req.GetToolCall() != nil:
		return j.append(t, key, s.attempt, &turnv1.Event{Data: &turnv1.Event_ToolCallStarted{ToolCallStarted: req.GetToolCall()}})
	}
	return seq
}

// RenewStep implements ExecutionService.
func (j *Journal) RenewStep(_ context.Context, req *executionv1.RenewStepRequest) (*executionv1.RenewStepResponse, error) {
	t, unlock, err := j.find("RenewStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := j.step(t, req.GetStep())
	if s.fence != req.GetFence() || s.owner == "" {
		return nil, leaseLost()
	}
	s.expires = time.Now().Add(time.Duration(req.GetTtlMs()) * time.Millisecond)
	if j.renewed != nil {
		j.renewed()
	}
	return &executionv1.RenewStepResponse{CancelRequested: t.load.GetCancelRequested()}, nil
}

// RequestCancel implements ExecutionService.
func (j *Journal) RequestCancel(_ context.Context, req *executionv1.RequestCancelRequest) (*executionv1.RequestCancelResponse, error) {
	if err := j.mesh.fault("RequestCancel"); err != nil {
		return nil, err
	}
	j.Cancel(req.GetTurnId())
	return &executionv1.RequestCancelResponse{}, nil
}

// ReleaseStep implements ExecutionService.
func (j *Journal) ReleaseStep(_ context.Context, req *executionv1.ReleaseStepRequest) (*executionv1.ReleaseStepResponse, error) {
	t, unlock, err := j.find("ReleaseStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s := j.step(t, req.GetStep()); s.fence == req.GetFence() {
		s.rest = time.Duration(req.GetRestMs()) * time.Millisecond
		s.owner, s.rests, s.expires = "", s.rest > 0, time.Now().Add(s.rest)
	}
	return &executionv1.ReleaseStepResponse{}, nil
}

// AppendEvents implements ExecutionService.
func (j *Journal) AppendEvents(_ context.Context, req *executionv1.AppendEventsRequest) (*executionv1.AppendEventsResponse, error) {
	t, unlock, err := j.find("AppendEvents", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := j.step(t, req.GetStep())
	if s.fence != req.GetFence() {
		return nil, leaseLost()
	}
	var seq uint32
	for _, e := range req.GetEvents() {
		if a := e.GetExecutorAttached(); a != nil {
			t.load.ExecutorSessionId = a.GetExecutorSessionId()
		}
		seq = j.append(t, req.GetStep(), s.attempt, e)
	}
	return &executionv1.AppendEventsResponse{LastSeq: seq}, nil
}

// CommitStep implements ExecutionService.
func (j *Journal) CommitStep(_ context.Context, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	t, unlock, err := j.find("CommitStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	resp, err := j.commit(t, req)
	if err != nil || resp.GetAdopted() || resp.GetBusy() != nil || resp.GetStale() || t.load.GetCancelRequested() {
		return resp, err
	}
	for _, next := range req.GetNext() {
		got, err := j.claim(t, next)
		if err != nil {
			return nil, err
		}
		resp.Next = append(resp.Next, got)
	}
	resp.Inputs = t.inputs
	if req.GetThen() != nil && !t.stale(req.GetThen()) {
		resp.Then, err = j.commit(t, req.GetThen())
	}
	return resp, err
}

// commit writes one step, and claims it before if asked to.
func (j *Journal) commit(t *turnRecord, req *executionv1.CommitStepRequest) (*executionv1.CommitStepResponse, error) {
	o, fence := req.GetOutcome(), req.GetFence()
	if req.GetClaim() != nil {
		claimed, err := j.claim(t, req.GetClaim())
		switch {
		case err != nil:
			return nil, err
		case claimed.GetLease() == nil:
			return &executionv1.CommitStepResponse{Outcome: claimed.GetDone(), Adopted: claimed.GetDone() != nil, Busy: claimed.GetBusy()}, nil
		}
		fence = claimed.GetLease().GetFence()
	}
	s := j.step(t, o.GetKey())
	switch {
	case s.done != nil && s.fence == fence:
		return &executionv1.CommitStepResponse{Outcome: s.done}, nil
	case s.fence != fence || s.done != nil:
		return nil, leaseLost()
	case t.stale(req):
		return &executionv1.CommitStepResponse{Stale: true, Inputs: t.inputs}, nil
	}
	for _, e := range req.GetEvents() {
		if err := t.compact(e.GetContextCompacted()); err != nil {
			return nil, err
		}
		j.append(t, o.GetKey(), s.attempt, e)
	}
	o = j.begins(t, o, req.GetWait())
	t.history = append(t.history, req.GetMessages()...)
	t.artifacts = append(t.artifacts, req.GetArtifacts()...)
	if o.GetSurface() != nil {
		t.load.Surface, t.load.Tools, t.load.AgentTools = o.GetSurface(), req.GetTools(), req.GetAgentTools()
	}
	j.settle(t, s, proto.Clone(o).(*turnv1.StepOutcome))
	if req.GetEnding() != nil {
		t.ending = req.GetEnding()
		j.append(t, o.GetKey(), s.attempt, &turnv1.Event{Data: &turnv1.Event_TurnEnded{TurnEnded: &turnv1.TurnEnded{
			Status: t.ending.GetStatus(), StopReason: t.ending.GetStopReason(), Error: t.ending.GetError(),
		}}})
	}
	return &executionv1.CommitStepResponse{Outcome: s.done}, nil
}
