package turntest

import (
	"context"

	"google.golang.org/protobuf/proto"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Rerun makes a turn one that runs another one again; recorded are the results by call id.
func (j *Journal) Rerun(turn string, event *turnv1.TurnRerun, recorded map[string]*turnv1.ToolResult) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.turns[turn]
	t.load.Rerun, t.recorded = event, recorded
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
