package turntest

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// maxStepKey bounds a step's key in bytes.
const maxStepKey = 64

// ClaimStep implements ExecutionService.
func (j *Journal) ClaimStep(_ context.Context, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	t, unlock, err := j.find("ClaimStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := checkClaim(req); err != nil {
		return nil, err
	}
	return j.claim(t, req)
}

// checkClaim rejects a claim that makes no sense.
func checkClaim(req *executionv1.ClaimStepRequest) error {
	key, kind := req.GetStep().GetKey(), req.GetStep().GetKind()
	switch {
	case key == "" || len(key) > maxStepKey:
		return fault.Invalid("step.key", "must have 1 to %d characters", maxStepKey)
	case stepkey.KindName(kind) == "" || kind == turnv1.StepKind_STEP_KIND_WAIT || kind == turnv1.StepKind_STEP_KIND_STEER:
		return fault.Invalid("step.kind", "no worker claims such steps")
	}
	return nil
}

// claim answers a claim: done, busy, or a lease.
func (j *Journal) claim(t *turnRecord, req *executionv1.ClaimStepRequest) (*executionv1.ClaimStepResponse, error) {
	s := t.step(req.GetStep().GetKey())
	resp := &executionv1.ClaimStepResponse{CancelRequested: t.load.GetCancelRequested(), CurrentTime: timestamppb.New(j.now())}
	switch busy := j.busy(s); {
	case s.done != nil:
		resp.Result = &executionv1.ClaimStepResponse_Done{Done: s.done}
		return resp, nil
	case t.ending != nil:
		return nil, turnEnded()
	case busy != nil:
		resp.Result = &executionv1.ClaimStepResponse_Busy{Busy: busy}
		return resp, nil
	}
	previous := s.owner
	s.kind = req.GetStep().GetKind()
	if s.attempt == 0 && s.kind == turnv1.StepKind_STEP_KIND_TOOL {
		if s.tool = req.GetToolCall().GetTool(); s.tool == "" {
			s.tool = req.GetStep().GetCall().GetTool()
		}
	}
	j.take(t, s, req.GetOwner(), req.GetTtl().AsDuration())
	for _, e := range claimEvents(t, s, previous, req) {
		j.append(t, s, e)
	}
	lease := &executionv1.Lease{Fence: s.fence, Attempt: s.attempt, BaseSeq: uint32(len(t.events)), ModelAttempts: s.made}
	if s.kind == turnv1.StepKind_STEP_KIND_INFER {
		lease.MessageId = messageID(t, s)
	}
	resp.Result = &executionv1.ClaimStepResponse_Lease{Lease: lease}
	return resp, nil
}

// messageID returns the ID that is reserved for the message of a model step.
func messageID(t *turnRecord, s *stepRecord) string { return "msg_" + t.in.TurnID + "_" + s.key }

// take leases a step to an owner.
func (j *Journal) take(t *turnRecord, s *stepRecord, owner string, ttl time.Duration) {
	t.place(s)
	s.owner, s.fence, s.attempt, s.rest, s.expires = owner, s.fence+1, s.attempt+1, 0, j.now().Add(ttl)
	if turn := t.load.GetTurn(); turn.GetStatus() == turnv1.TurnStatus_TURN_STATUS_QUEUED {
		turn.Status = turnv1.TurnStatus_TURN_STATUS_RUNNING
	}
}

// step returns a step, which may never have been claimed.
func (t *turnRecord) step(key string) *stepRecord {
	s, ok := t.steps[key]
	if !ok {
		s = &stepRecord{key: key}
		t.steps[key] = s
	}
	return s
}

// place gives a step its place in the order of first claims.
func (t *turnRecord) place(s *stepRecord) {
	if s.order == 0 {
		t.claims++
		s.order = t.claims
	}
}

// busy returns why a step cannot be claimed, nil if it can.
func (j *Journal) busy(s *stepRecord) *executionv1.Busy {
	left := s.expires.Sub(j.now())
	if s.done != nil || left <= 0 {
		return nil
	}
	return &executionv1.Busy{Owner: s.owner, ExpiresIn: durationpb.New(left)}
}

// held returns a step to the holder of its lease. Its committer still counts as the holder after the commit.
func (t *turnRecord) held(key string, fence uint32) (*stepRecord, error) {
	s := t.steps[key]
	if s == nil || s.fence != fence || s.done == nil && (s.owner == "" || t.ending != nil) {
		return nil, leaseLost()
	}
	return s, nil
}

// claimEvents returns the events of a claim; deltas refer to the last one.
func claimEvents(t *turnRecord, s *stepRecord, previous string, req *executionv1.ClaimStepRequest) []*turnv1.Event {
	var out []*turnv1.Event
	first := s.attempt == 1
	if first {
		out = append(out, &turnv1.Event{Data: &turnv1.Event_StepStarted{StepStarted: &turnv1.StepStarted{
			Kind: stepkey.KindName(s.kind), Title: req.GetStep().GetTitle(),
		}}})
	} else if previous != "" && previous != s.owner {
		out = append(out, &turnv1.Event{Data: &turnv1.Event_TurnRecovered{TurnRecovered: &turnv1.TurnRecovered{
			PreviousOwner: previous, Owner: s.owner,
		}}})
	}
	switch {
	case s.kind == turnv1.StepKind_STEP_KIND_TOOL && first && req.GetToolCall() != nil && req.GetStep().GetRound() <= 1:
		out = append(out, &turnv1.Event{Data: &turnv1.Event_ToolCallStarted{ToolCallStarted: req.GetToolCall()}})
	case s.kind == turnv1.StepKind_STEP_KIND_INFER && first:
		out = append(out, &turnv1.Event{Data: &turnv1.Event_MessageStarted{MessageStarted: &turnv1.MessageStarted{
			MessageId: messageID(t, s), Model: req.GetModel(),
		}}})
	case s.kind == turnv1.StepKind_STEP_KIND_INFER:
		out = append(out, &turnv1.Event{Data: &turnv1.Event_MessageReset{MessageReset: &turnv1.MessageReset{MessageId: messageID(t, s)}}})
	}
	return out
}

// RenewStep implements ExecutionService.
func (j *Journal) RenewStep(_ context.Context, req *executionv1.RenewStepRequest) (*executionv1.RenewStepResponse, error) {
	t, unlock, err := j.find("RenewStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := t.held(req.GetStep(), req.GetFence())
	if err != nil {
		return nil, err
	}
	if s.done != nil {
		return nil, leaseLost()
	}
	s.expires = j.now().Add(req.GetTtl().AsDuration())
	if j.renewed != nil {
		j.renewed()
	}
	return &executionv1.RenewStepResponse{CancelRequested: t.load.GetCancelRequested(), CurrentTime: timestamppb.New(j.now())}, nil
}

// ReleaseStep implements ExecutionService.
func (j *Journal) ReleaseStep(_ context.Context, req *executionv1.ReleaseStepRequest) (*executionv1.ReleaseStepResponse, error) {
	t, unlock, err := j.find("ReleaseStep", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := t.held(req.GetStep(), req.GetFence())
	if err != nil {
		return nil, err
	}
	if s.done == nil {
		j.release(s, req.GetBackoff().AsDuration())
		s.made = req.GetModelAttempts()
	}
	return &executionv1.ReleaseStepResponse{}, nil
}

// release takes a step from its owner. It can be claimed again after the backoff.
func (j *Journal) release(s *stepRecord, rest time.Duration) {
	s.owner, s.rest, s.expires = "", rest, j.now().Add(rest)
}

// Seize gives a step to an owner, even if another one holds it, as if it had claimed the step with a lease of this length.
func (j *Journal) Seize(turn, step, owner string, ttl time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	j.take(t, t.step(step), owner, ttl)
}

// EndRest ends the backoff of a step and returns how long it was, 0 if the step is not backing off.
func (j *Journal) EndRest(turn, step string) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.turns[turn].step(step)
	rest := s.rest
	if rest > 0 {
		j.release(s, 0)
	}
	return rest
}

// Released reports whether a step has no owner.
func (j *Journal) Released(turn, step string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turns[turn].step(step).owner == ""
}
