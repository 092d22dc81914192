package turntest

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// LoadTurn implements ExecutionService.
func (j *Journal) LoadTurn(_ context.Context, req *executionv1.LoadTurnRequest) (*executionv1.LoadTurnResponse, error) {
	t, unlock, err := j.find("LoadTurn", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	load := proto.CloneOf(t.load)
	load.Outcomes, load.ContextBytes, load.CurrentTime = t.outcomes(), t.bytes(), timestamppb.New(j.now())
	if a := load.GetAgent(); req.GetWithContext() && load.GetTurn().GetStatus() == turnv1.TurnStatus_TURN_STATUS_QUEUED &&
		load.GetRerun() == nil && a.GetExecutor() == nil && a.GetStrategy() <= turnv1.Strategy_STRATEGY_REACT_TEXT {
		load.Context = proto.CloneOf(t.context()) // its messages change here, and are shared with who reads them
	}
	load.MayRunAhead = req.GetWithContext()
	return load, nil
}

// GetOutcomes implements ExecutionService.
func (j *Journal) GetOutcomes(_ context.Context, req *executionv1.GetOutcomesRequest) (*executionv1.GetOutcomesResponse, error) {
	t, unlock, err := j.find("GetOutcomes", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	resp := &executionv1.GetOutcomesResponse{
		Outcomes: t.outcomes(), Held: map[string]*executionv1.Busy{}, Ended: t.ending != nil, CurrentTime: timestamppb.New(j.now()),
	}
	for key, s := range t.steps {
		if busy := j.busy(s); busy != nil {
			resp.Held[key] = busy
		}
	}
	return resp, nil
}

// outcomes returns those of the steps that are done, in the order of their first claims.
func (t *turnRecord) outcomes() []*turnv1.StepOutcome {
	var out []*turnv1.StepOutcome
	for _, s := range t.ordered() {
		if s.done != nil {
			out = append(out, proto.CloneOf(s.done))
		}
	}
	return out
}

// GetContext implements ExecutionService.
func (j *Journal) GetContext(_ context.Context, req *executionv1.GetContextRequest) (*executionv1.GetContextResponse, error) {
	t, unlock, err := j.find("GetContext", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return proto.CloneOf(t.context()), nil
}

// GetToolCall implements ExecutionService.
func (j *Journal) GetToolCall(_ context.Context, req *executionv1.GetToolCallRequest) (*turnv1.ToolCall, error) {
	t, unlock, err := j.find("GetToolCall", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, m := range t.history {
		for _, call := range m.GetToolCalls() {
			if m.GetId() == req.GetMessageId() && call.GetCallId() == req.GetCallId() {
				return call, nil
			}
		}
	}
	return nil, fault.NotFound("message %q has no tool call %q", req.GetMessageId(), req.GetCallId())
}

// GetRecording implements ExecutionService.
func (j *Journal) GetRecording(_ context.Context, req *executionv1.GetRecordingRequest) (*executionv1.GetRecordingResponse, error) {
	t, unlock, err := j.find("GetRecording", req.GetTurnId())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return &executionv1.GetRecordingResponse{Result: proto.CloneOf(t.recorded[req.GetCallId()])}, nil
}
