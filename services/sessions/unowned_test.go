package sessions_test

import (
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/bus"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// notified reads the calls to workers until a turn was named n times, and counts those for each turn.
func (k *kit) notified(c <-chan bus.Msg, turn *sessionsv1.Turn, n int) map[string]int {
	k.t.Helper()
	counts := map[string]int{}
	for counts[turn.GetId()] < n {
		counts[k.called(c).TurnID]++
	}
	return counts
}

// A service that was killed leaves turns without a lease: one that no worker began, one whose worker committed a step and did not
// come to claim the next. The next service finds them without their workflows, and no other turn.
func TestTurnsWithoutALeaseAreFound(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		killed := newKit(t, options{postgres: postgres, idle: true})
		killed.agent("assistant")
		session := killed.session().GetId()
		waiting, queued := killed.turn(session, "waits"), killed.turn(session, "is behind it")
		w := killed.worker(waiting)
		w.begin()
		w.answer("infer-1", w.lease("infer-1"), &turnv1.Message{ToolCalls: []*turnv1.ToolCall{{
			CallId: "c1", Tool: "bank__pay",
			ArgumentsJson: "{}",
		}}}, 0)
		w.waits("tool-1.0", approvalOf(nil))
		held := killed.turn(killed.session().GetId(), "has a worker")
		killed.worker(held).lease("begin")
		resting := killed.worker(killed.turn(killed.session().GetId(), "rests"))
		_, err := killed.exec.ReleaseStep(t.Context(), &executionv1.ReleaseStepRequest{
			TurnId: resting.turn.GetId(), Step: "begin", Fence: resting.lease("begin").GetFence(), Backoff: durationpb.New(time.Minute),
		})
		must(t, err)
		over := killed.turn(killed.session().GetId(), "is over")
		killed.worker(over).ahead("done")
		between := killed.worker(killed.turn(killed.session().GetId(), "is between two steps"))
		between.begin()
		unbegun := killed.turn(killed.session().GetId(), "was never begun")

		b := openBus(t, bus.Config{URL: bus.Embedded})
		listener := &kit{t: t, bus: b}
		calls := listener.hear(contract.WakeSubject("default"))
		k := newKit(t, options{db: killed.db, bus: b, cfg: sessions.Config{SweepInterval: 20 * time.Millisecond, StartDelay: time.Hour}})
		counts := k.notified(calls, unbegun, 3) // the last in the order of the sweep, so the others were passed over
		for name, turn := range map[string]*sessionsv1.Turn{
			"waiting": waiting, "queued": queued, "held": held, "resting": resting.turn,
			"over": over,
		} {
			if counts[turn.GetId()] > 0 {
				t.Errorf("workers were called to a turn that is %s", name)
			}
		}
		if counts[between.turn.GetId()] == 0 {
			t.Error("no worker was called to the turn between two steps")
		}
		// Two workers heard of it. One gets the next step, and workers are called no more.
		first, second := k.worker(between.turn), k.worker(between.turn)
		second.owner = "w2"
		first.lease("infer-1")
		if got, err := second.claim("infer-1"); err != nil || got.GetBusy().GetOwner() != "w1" {
			t.Errorf("the other worker's claim: %v, %v", got, err)
		}
		later := k.turn(k.session().GetId(), "came later")
		k.notified(calls, later, 1) // a reader of this turn sees the lease too
		if n := k.notified(calls, later, 2)[between.turn.GetId()]; n > 0 {
			t.Errorf("workers were called %d times to a turn that has one", n)
		}
	})
}

// More turns than one call takes do not keep others from being found.
func TestManyUnownedTurnsAreAllFound(t *testing.T) {
	k := newKit(t, options{idle: true})
	k.agent("assistant")
	missing := map[string]bool{}
	for range 250 {
		missing[k.turn(k.session().GetId(), "hello").GetId()] = true
	}
	calls := k.hear(contract.WakeSubject("default"))
	newKit(t, options{db: k.db, bus: k.bus, cfg: sessions.Config{SweepInterval: 20 * time.Millisecond, StartDelay: time.Hour}})
	for len(missing) > 0 {
		var in contract.EagerRun
		select {
		case m := <-calls:
			must(t, json.Unmarshal(m.Data, &in))
			delete(missing, in.TurnID)
		case <-time.After(time.Minute):
			t.Fatalf("%d turns were not found in 20s", len(missing))
		}
	}
}
