package tool

import (
	"context"
	"fmt"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// codeNotRecorded is the code of a call in a re-run that has no recorded result.
const codeNotRecorded = "not_recorded"

// recorded ends a call of a rerun with the result that the same call had in the original turn, or with an error for the model if there
// is none. It returns the zero value for a call that is to be run anyway.
func (t *tool) recorded(ctx context.Context) (round, error) {
	got, err := t.Sessions.GetRecording(ctx, &executionv1.GetRecordingRequest{
		TurnId: t.Turn.TurnID, MessageId: t.Ref.GetCall().GetMessageId(), CallId: t.call.GetCallId(),
	})
	if err != nil {
		return round{}, fmt.Errorf("read recording: %w", err)
	}
	if result := got.GetResult(); result != nil {
		c := &registryv1.Completed{Result: result}
		if result.GetIsError() {
			c.Code = "tool_error"
		}
		return round{completed: c, recorded: true}, nil
	}
	if live, err := t.mayRun(ctx); err != nil || live {
		return round{}, err
	}
	return round{completed: refused(t.call, codeNotRecorded,
		"The call was not run: this turn runs an earlier one again with the results recorded then, and there is none for this call.")}, nil
}

// mayRun reports whether a call without a recording is run: one that reads what the session itself keeps, or that the re-run allows.
func (t *tool) mayRun(ctx context.Context) (bool, error) {
	switch {
	case t.call.GetTool() == contract.ReadArtifact:
		return true, nil
	case t.Loaded.GetRerun().GetMissing() != contract.MissingLiveRead:
		return false, nil
	}
	effect, err := t.Pinned.ReadEffect(ctx, t.Loaded, t.call.GetTool())
	return effect == turnv1.EffectClass_EFFECT_CLASS_READ, err
}

// fromRecord marks the result of a commit as recorded.
func fromRecord(req *step.Commit) *step.Commit {
	for _, e := range req.GetEvents() {
		if c := e.GetToolCallCompleted(); c != nil {
			c.Recorded = true
		}
	}
	return req
}
