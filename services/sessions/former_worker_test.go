package sessions_test

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestAWorkerOfAnEarlierVersionIsServed uses the units that workers had before messages used durations and timestamps.
func TestAWorkerOfAnEarlierVersionIsServed(t *testing.T) {
	k := newKit(t, options{})
	w := k.worker(k.newTurn("hello"))
	claim := &executionv1.ClaimStepRequest{TurnId: w.turn.GetId(), Step: ref("begin"), Owner: "old", TtlMs: 30_000}
	first, err := k.exec.ClaimStep(t.Context(), claim)
	must(t, err)
	if first.GetLease() == nil || first.GetNowMicros() == 0 || first.GetNowMicros() != first.GetCurrentTime().AsTime().UnixMicro() {
		t.Errorf("claimed: %v", first)
	}
	busy, err := w.claim("begin")
	must(t, err)
	if in := busy.GetBusy().GetExpiresInMs(); in <= 0 || in > 30_000 {
		t.Errorf("busy: %v", busy)
	}
	fence := first.GetLease().GetFence()
	renewed, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{
		TurnId: w.turn.GetId(), Step: "begin", Fence: fence, TtlMs: 1000,
	})
	must(t, err)
	loaded, err := k.exec.LoadTurn(t.Context(), &executionv1.LoadTurnRequest{TurnId: w.turn.GetId()})
	must(t, err)
	outcomes, err := k.exec.GetOutcomes(t.Context(), &executionv1.GetOutcomesRequest{TurnId: w.turn.GetId()})
	must(t, err)
	if renewed.GetNowMicros() == 0 || loaded.GetNowMicros() == 0 || outcomes.GetNowMicros() == 0 ||
		outcomes.GetHeld()["begin"].GetExpiresInMs() == 0 {
		t.Errorf("renewed: %v, loaded: %v, outcomes: %v", renewed, loaded, outcomes)
	}
	_, err = k.exec.CommitStep(t.Context(), &executionv1.CommitStepRequest{
		TurnId: w.turn.GetId(), Fence: fence, Outcome: &turnv1.StepOutcome{Key: "begin"}, DurationMs: 1234,
		Next: []*executionv1.ClaimStepRequest{{TurnId: w.turn.GetId(), Step: ref("infer-1"), Owner: "old", TtlMs: 30_000}},
	})
	must(t, err)
	for name, call := range map[string]func() error{
		"a claim without a time": func() error {
			_, err := k.exec.ClaimStep(t.Context(), &executionv1.ClaimStepRequest{TurnId: w.turn.GetId(), Step: ref("infer-1"), Owner: "w"})
			return err
		},
		"a renewal without a time": func() error {
			_, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{TurnId: w.turn.GetId(), Step: "infer-1", Fence: 1})
			return err
		},
		"a fire without a time": func() error {
			_, err := k.asWorker().FireSchedule(t.Context(), &executionv1.FireScheduleRequest{Tenant: "default", ScheduleId: "one"})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}
