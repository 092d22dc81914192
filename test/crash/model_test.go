package crash

import (
	"syscall"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

func TestWorkerKilledWhileModelStreams(t *testing.T) {
	harness.Drawn(t, 3)
	s := modelStreams(t, 2)
	victim := s.Holder(s.turn)
	killed := time.Now()
	s.Kill(victim)
	close(s.gate.open)
	s.watcher.UntilType("message.reset")
	t.Logf("%s killed; the other worker went on after %v", victim, since(killed))
	s.check(promise{modelCalls: [2]float64{1, 2}})
}

func TestOnlyWorkerKilledWhileModelStreams(t *testing.T) {
	s := modelStreams(t, 1)
	killed := time.Now()
	s.Kill("worker-1")
	close(s.gate.open)
	s.Start("worker-1")
	s.watcher.UntilType("message.reset")
	t.Logf("killed and started again; it went on after %v", since(killed))
	s.check(promise{modelCalls: [2]float64{1, 2}})
}

func TestSessionsKilledWhileModelStreams(t *testing.T) {
	harness.Drawn(t, 3)
	s := modelStreams(t, 1)
	killed := time.Now()
	s.Kill("sessions")
	close(s.gate.open) // the model's answer is whole before sessions is back
	s.Start("sessions")
	s.check(promise{modelCalls: [2]float64{1, 2}})
	t.Logf("the turn ended %v after sessions was killed", since(killed))
}

func TestTemporalKilledWhileModelStreams(t *testing.T) {
	harness.Drawn(t, 3)
	s := modelStreams(t, 1)
	killed := time.Now()
	s.Kill("temporal")
	close(s.gate.open)
	s.watcher.UntilType("message.completed") // the worker needs no Temporal to end its step
	s.Start("temporal")
	s.check(promise{modelCalls: [2]float64{1, 1}})
	t.Logf("the turn ended %v after Temporal was killed", since(killed))
}

func TestGatewayKilledWithAWatcher(t *testing.T) {
	s := modelStreams(t, 1)
	s.Kill("gateway")
	close(s.gate.open)
	s.Start("gateway")
	s.check(promise{modelCalls: [2]float64{1, 1}})
	if n := s.watcher.Connects(); n < 2 {
		t.Errorf("the watcher connected %d times", n)
	}
}

func TestInferenceKilledWhileModelStreams(t *testing.T) {
	harness.Drawn(t, 3)
	s := modelStreams(t, 1)
	killed := time.Now()
	s.Kill("inference")
	close(s.gate.open)
	s.Start("inference")
	s.watcher.UntilType("message.reset")
	t.Logf("the model was asked again after %v", since(killed))
	s.check(promise{modelCalls: [2]float64{1, 2}})
	if n := s.model.Calls(); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestBusKilledWhileModelStreams(t *testing.T) {
	harness.Drawn(t, 3)
	s := modelStreams(t, 1)
	s.Kill("bus")
	close(s.gate.open)
	s.Start("bus")
	s.check(promise{modelCalls: [2]float64{1, 1}, lossy: true})

	// And it is used again: the next turn streams.
	s.begin("tell a story")
	s.check(promise{modelCalls: [2]float64{1, 1}})
}

// A worker that was frozen must not write what another one has done meanwhile.
func TestFrozenWorkerWakesTooLate(t *testing.T) {
	s := modelStreams(t, 2)
	frozen := s.Process(s.Holder(s.turn))
	stopped := time.Now()
	frozen.Signal(syscall.SIGSTOP)
	s.watcher.UntilType("message.reset")
	t.Logf("the other worker went on after %v", since(stopped))
	frozen.Signal(syscall.SIGCONT) // the gate is closed: both workers wait for the model's words
	close(s.gate.open)
	s.check(promise{modelCalls: [2]float64{1, 2}})
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }
