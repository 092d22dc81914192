package crash

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// A frozen worker is replaced without Temporal, which is down all the while. What the worker writes when it resumes is rejected.
func TestFrozenWorkerIsReplacedWithoutTemporal(t *testing.T) {
	s := modelStreams(t, 2)
	s.Kill("temporal")
	holder := s.Holder(s.turn)
	frozen := s.Process(holder)
	stopped := time.Now()
	frozen.Signal(syscall.SIGSTOP)
	s.watcher.UntilType("message.reset")
	t.Logf("the other worker went on after %v", since(stopped))
	if now := s.Holder(s.turn); now == holder {
		t.Errorf("%s still holds the turn", holder)
	}
	frozen.Signal(syscall.SIGCONT) // the gate is closed: both workers wait for the model's words
	close(s.gate.open)
	s.check(promise{modelCalls: [2]float64{1, 2}})
	s.Start("temporal")
	s.awaitWorkflow("COMPLETED")
}

// A turn ends without Temporal, and is shown there afterwards.
func TestTurnEndsWhileTemporalIsAway(t *testing.T) {
	s := modelStreams(t, 1)
	close(s.gate.open)
	s.check(promise{modelCalls: [2]float64{1, 1}})
	s.Kill("temporal")
	s.begin("tell another story")
	s.check(promise{modelCalls: [2]float64{1, 1}})
	s.Start("temporal")
	s.awaitWorkflow("COMPLETED")
}

// awaitWorkflow waits until Temporal shows the turn's workflow with a status.
func (s *scene) awaitWorkflow(status string) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for {
		seen := s.WorkflowStatus(s.turn)
		if strings.HasSuffix(seen, status) {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			s.t.Fatalf("the workflow's status is %s, want %s", seen, status)
		}
	}
}
