package turntest

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// AppendEvents implements ExecutionService.
func (j *Journal) AppendEvents(_ context.Context, req *executionv1.AppendEventsRequest) (*executionv1.AppendEventsResponse, error) {
	t, unlock, err := j.find("AppendEvents", req.GetTurnId())
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
	for _, e := range req.GetEvents() {
		if err := t.checkEvent(s, e); err != nil {
			return nil, err
		}
	}
	for _, e := range req.GetEvents() {
		j.write(t, s, e)
	}
	return &executionv1.AppendEventsResponse{LastSeq: uint32(len(t.events))}, nil
}

// checkEvent rejects an event that a step may not write: a transient one, and one that the service writes itself.
func (t *turnRecord) checkEvent(s *stepRecord, e *turnv1.Event) error {
	switch e.GetData().(type) {
	case nil, *turnv1.Event_MessageDelta, *turnv1.Event_ReasoningDelta, *turnv1.Event_ToolCallArgumentsDelta,
		*turnv1.Event_ToolCallProgress, *turnv1.Event_TurnEnded, *turnv1.Event_ArtifactCreated:
		return fault.Invalid("events", "%T is not an event that a step may write", e.GetData())
	case *turnv1.Event_ContextCompacted:
		return t.checkSummary(s, e.GetContextCompacted())
	}
	return nil
}

// write appends an event of a step and stores what it reports.
func (j *Journal) write(t *turnRecord, s *stepRecord, e *turnv1.Event) {
	if a := e.GetExecutorAttached(); a != nil {
		t.load.ExecutorSessionId = a.GetExecutorSessionId()
	}
	if c := e.GetContextCompacted(); c != nil {
		t.summary = c
	}
	j.append(t, s, e)
}

// append gives an event of a step its envelope, and publishes it; s is nil for an event of the turn. The caller holds the lock.
func (j *Journal) append(t *turnRecord, s *stepRecord, e *turnv1.Event) {
	e = proto.CloneOf(e)
	e.Seq, e.TurnId, e.SessionId = uint32(len(t.events)+1), t.in.TurnID, t.in.SessionID
	if s != nil {
		e.Step, e.Attempt = s.key, s.attempt
	}
	t.events = append(t.events, e)
	data, err := proto.Marshal(e)
	if err == nil {
		err = j.mesh.Bus.Publish(contract.EventSubject(t.in.Tenant, t.in.SessionID), contract.PackEvents(nil, data))
	}
	if err == nil && e.GetTurnCancelRequested() != nil {
		err = j.mesh.Bus.Publish(contract.CancelSubject(t.in.Tenant, t.in.SessionID), []byte(t.in.TurnID))
	}
	if err != nil {
		panic(fmt.Sprintf("publish: %v", err))
	}
}

// wake notifies all workers of a turn.
func (j *Journal) wake(t *turnRecord) {
	data, err := json.Marshal(contract.EagerRun{TurnInput: t.in})
	if err == nil {
		err = j.mesh.Bus.Publish(contract.WakeSubject(t.in.Tenant), data)
	}
	if err != nil {
		panic(fmt.Sprintf("publish: %v", err))
	}
}
