package step_test

import (
	"testing"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

func TestAWaitMovesTheDeadline(t *testing.T) {
	pinned := time.Unix(1_800_000_000, 0)
	w := &step.Work{Ref: &turnv1.StepRef{}, Loaded: &step.Loaded{Surface: &turnv1.Surface{DeadlineMicros: pinned.UnixMicro()}}}
	if got := w.Deadline(); !got.Equal(pinned) {
		t.Errorf("deadline %v", got)
	}
	w.Ref.DeadlineMicros = pinned.Add(time.Hour).UnixMicro()
	if got := w.Deadline(); !got.Equal(pinned.Add(time.Hour)) {
		t.Errorf("moved deadline %v", got)
	}
}
